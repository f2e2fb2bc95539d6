"""Scripts split into commands, and what is said about those that harm others, hang or cannot run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Level, Mode, Service
from ajet_inbox.core.checking.commands import programs, script_of
from ajet_inbox.core.checking.facts import Syntax
from ajet_inbox.core.checking.rule import Case
from tests.core.check_case import BLUEPRINT, case, codes, one

# A script, and its commands as "program argument ..."; one in the background ends with &.
SPLIT = [
    ("a b", ["a b"]),
    ("a; b && c || d | e", ["a", "b", "c", "d", "e"]),
    ("a 'b c' \"d e\" f\\ g", ["a b c d e f g"]),
    ("a # b; c\nd", ["a", "d"]),
    ("a b#c", ["a b#c"]),
    ("a \\\n  b", ["a b"]),
    ("a > log 2>&1 &", ["a &"]),
    ("a &> log & b", ["a &", "b"]),
    ("a 2>/dev/null <in", ["a"]),
    ("X=1 Y='2 3' nohup nice -n 5 /usr/bin/a b", ["a b"]),
    ("timeout 5m sudo -E a", ["a"]),
    ("for i in 1 2; do a; done", ["for i in 1 2", "a", ""]),
    ("if a; then b; else c; fi", ["a", "b", "c", ""]),
    ("cat <<EOF | a\nrm -rf /\nEOF\nb", ["cat", "a", "b"]),
    ("cat <<-'E'\n\tx\n\tE\na", ["cat", "a"]),
    ("a <<<word b", ["a b"]),
    ("bash -lc 'a; b'", ["bash -lc a; b", "a", "b"]),
    ("sh -c \"bash -c 'a'\"", ["sh -c bash -c 'a'", "bash -c a", "a"]),
    ("eval 'a b'", ["eval a b", "a b"]),
    ("kill $(a b)", ["kill $", "a b"]),
    ("(a; b) & wait", ["a", "b", "wait"]),
    ("X=1", [""]),
    ("", []),
]


@pytest.mark.parametrize(("script", "commands"), SPLIT)
def test_a_script_is_split(script: str, commands: list[str]) -> None:
    found = programs(script)
    told = [" ".join([c.program, *c.arguments]).strip() + (" &" if c.background else "") for c in found]
    assert told == commands


SCRIPTS = {
    "python x.py --a y.py": "x.py",
    "python3.11 -u -W ignore x.py": "x.py",
    "cd a && proxychains python -m a.b --c": "a/b.py",
    "python -m ajet.launcher --conf a.yaml": None,
    "python -c 'print(1)' x.py": None,
    "python - <<E\nE": None,
    "torchrun x.py": None,
}


@pytest.mark.parametrize("script", SCRIPTS)
def test_the_python_file_that_a_command_runs(script: str) -> None:
    assert next(filter(None, map(script_of, programs(script))), None) == SCRIPTS[script]


@given(st.text(alphabet="a '\"\\\n;&|()<>#$`E-{}=", max_size=60))
def test_any_script_is_split_without_a_crash(script: str) -> None:
    for command in programs(script):
        assert command.words
        assert command.spelled in script


@pytest.mark.parametrize("piece", ["'", '"', "<<A\n", "\\\n", "( ", "bash -c '", "$(", "a" * 50, "<<<", "& "])
def test_a_huge_script_takes_no_time(piece: str) -> None:
    assert len(programs(piece * (100_000 // len(piece)))) < 100_001
    assert programs(piece * 200_000) == ()


GENERIC = replace(BLUEPRINT, mode=Mode.GENERIC)

SAID: list[tuple[str, list[str]]] = [
    ("python x.py", []),
    ("ray stop --force; python x.py", ["command_ray_stop"]),
    ("ray start --head && python x.py", []),
    ("pkill -f vllm; python x.py", ["command_kills_by_name"]),
    ("killall python; python x.py", ["command_kills_by_name"]),
    ("kill -9 $(pgrep -f vllm); python x.py", ["command_kills_by_name"]),
    ("kill -9 `pidof ray`; python x.py", ["command_kills_by_name"]),
    ("ps aux | grep ray | awk '{print $2}' | xargs kill -9; python x.py", ["command_kills_by_name"]),
    ("fuser -kv /dev/nvidia*; python x.py", ["command_kills_by_name"]),
    ("a & echo $! > pid; python x.py; kill $(cat pid)", []),
    ("echo pkill; python x.py", []),
    ("tmux attach -t ajet", ["command_needs_terminal"]),
    ("tmux -L s a", ["command_needs_terminal"]),
    ("tmux new -d -s a 'python x.py'", []),
    ("screen -r a", ["command_needs_terminal"]),
    ("vim a.yaml && python x.py", ["command_needs_terminal"]),
    ("top", ["command_needs_terminal"]),
    ("top -b -n 1; python x.py", []),
    ("watch nvidia-smi", ["command_needs_terminal"]),
    ("bash -i", ["command_needs_terminal"]),
    ("python x.py | bash", []),
    ("read -p 'go? ' answer; python x.py", ["command_needs_terminal"]),
    ("while read line; do echo $line; done < a", []),
    ("nohup python x.py > log 2>&1 &", ["command_in_background"]),
    ("python a.py & python x.py", []),
    ("python x.py & wait", []),
    ("sudo python x.py", ["command_sudo"]),
    ("echo sudo", []),
    ("rm -rf /srv/out/old && python x.py", []),
    ('rm -rf /tmp/a "$EXP_RESULT_DIR/b" ${TMPDIR}/c && python x.py', []),
    ("rm -rf saved_checkpoints", ["command_removes"]),
    ("rm -rf /srv/out/../data", ["command_removes"]),
    ("rm -rf $WORK/x", ["command_removes"]),
    ("rm -r --force /data/x", ["command_removes"]),
    ("rm a.log", []),
    ("rm -rf /", ["command_removes_all"]),
    ("rm -rf /*", ["command_removes_all"]),
    ("rm -rf ~/", ["command_removes_all"]),
    ("rm -rf $HOME", ["command_removes_all"]),
    ("rm -rf /srv/aj/", ["command_removes_all"]),
    ("bash -c 'sudo rm -rf /data'", ["command_sudo", "command_removes"]),
]


@pytest.mark.parametrize(("command", "found"), SAID)
def test_what_is_said_about_a_command(command: str, found: list[str]) -> None:
    assert [code for code in codes(case(replace(GENERIC, launch_command=command))) if code != "script_absent"] == found


def test_only_what_would_remove_everything_keeps_a_run_from_starting() -> None:
    for command, found in SAID:
        if found and "_all" not in found[0]:
            assert one(case(replace(GENERIC, launch_command=command)), found[0]).level is Level.WARNING
    assert one(case(replace(GENERIC, launch_command="rm -rf /")), "command_removes_all").level is Level.ERROR


def test_the_other_commands_are_looked_at_too() -> None:
    other = replace(
        GENERIC,
        prepare_command="pkill ray",
        cleanup_command="sudo x",
        services=(Service(name="s", command="ray stop"),),
    )
    found = {code: one(case(other), code).section for code in codes(case(other)) if code.startswith("command_")}
    assert found == {
        "command_kills_by_name": "exp_prepare_command",
        "command_sudo": "exp_cleanup_command",
        "command_ray_stop": "exp_services",
    }


def test_the_very_line_of_a_script_is_named() -> None:
    script = "set -e\npython x.py\nsudo reboot"
    text = f"## [exp_launch_command]\n```bash\n{script}\n```\n"
    written = replace(GENERIC, launch_command=script, lines={"exp_launch_command": 3})
    assert one(case(written, text=text), "command_sudo").line == 5


# ---- what bash and the host say -----------------------------------------------------------------------------------


def test_what_bash_says_is_told_with_its_line() -> None:
    script = "for i in 1 2; do\npython x.py\nfi"
    wrong = Syntax(line=3, message="syntax error near unexpected token `fi'")
    text = f"x\n```\n{script}\n```"
    written = replace(GENERIC, launch_command=script, lines={"exp_launch_command": 3})
    found = one(case(written, text=text, syntax={script: wrong}), "command_syntax")
    assert (found.level, found.section, found.line) == (Level.ERROR, "exp_launch_command", 5)
    assert "in its line 3: syntax error near unexpected token `fi'" in found.message


def test_an_open_quote_is_told_once() -> None:
    wrong = Syntax(line=1, message="unexpected EOF while looking for matching `''")
    judged = case(replace(GENERIC, launch_command="echo 'a"), syntax={"echo 'a": wrong})
    assert codes(judged) == ["quote_open"]


HARMFUL = replace(BLUEPRINT, launch_command=f"{BLUEPRINT.launch_command} --autokill")


def test_whom_autokill_would_have_ended_here() -> None:
    running = ("/usr/bin/python3 a.py --token=secret", "python3 b.py", "bash array.sh", "sleep 1", "jupyter python")
    said = one(case(HARMFUL, processes=running), "autokill_stripped").message
    assert "here and now 3 processes: python3 (2), bash (1)" in said
    assert "secret" not in said
    assert "here and now" not in one(case(HARMFUL), "autokill_stripped").message


def judged(command: str) -> Case:
    return case(replace(GENERIC, launch_command=command))


@given(st.text(alphabet="rm -f/~$*'\"\\\n;&|()<>abc.", max_size=40))
def test_any_command_is_judged_without_a_crash(command: str) -> None:
    codes(judged(f"rm -r {command}"))
    codes(judged(command))
