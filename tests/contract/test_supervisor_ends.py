"""What the supervisor says about an end, and what the command gets from it."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ajet_inbox.core.attempt import TAG, Stage
from tests.contract.attempts import ENV, UNTIL_GO, Make, poll, run

GLIBC = 0b11 << 31  # signals 32 and 33 are its own, for threads: whoever started us may have left them as they were

# ---- how it ended ---------------------------------------------------------------------------------------------------

ENDS = [
    ("true", 0, None),
    ("exit 3", 3, None),
    ("false\ntrue", 0, None),
    ("exec sh -c 'exit 4'", 4, None),
    ("kill -9 $$", 137, None),
    ("sh -c 'kill -SEGV $$'", 139, None),
    ("trap 'exit 7' EXIT; exit 1", 7, None),
    ("no-such-program", 127, None),
    ("if [ ; then", 2, None),
    ("cat <<'END'\n$HOME 'quoted\" `x`\nEND\nexit 5", 5, None),
    ("kill -9 $PPID; sleep 0.1", 137, 9),
    ("cat", 0, None),  # it has an empty stdin, so it does not wait for a person
]


@pytest.mark.parametrize(("command", "code", "number"), ENDS)
def test_the_exit_code_is_the_commands(make: Make, command: str, code: int, number: int | None) -> None:
    attempt = make(command)
    ending = run(attempt)
    assert (ending.exit_code, ending.signal, ending.cause) == (code, number, None)
    assert ending.attempt_id == attempt.id
    assert ending.stage is (None if number else Stage.COMMAND)
    assert not ending.adopted
    assert ending.started_at
    assert ending.command_ended_at
    assert ending.started_at.utcoffset() is not None
    assert ending.started_at <= ending.command_ended_at <= ending.ended_at


def test_the_end_is_known_at_once(make: Make) -> None:
    """Not by looking every so often: of ten ends the quickest, for the machine is shared."""
    waits = []
    for _ in range(10):
        attempt = make("date +%s.%N >ended")
        attempt.supervise().wait(20)
        ended = float(attempt.wrote("ended"))
        waits.append((attempt.folder / "exit.json").stat().st_mtime - ended)
    assert min(waits) < 0.05


def test_the_command_gets_its_environment_and_nothing_of_ours(make: Make) -> None:
    attempt = make("env -0 >environment; ls -l /proc/$$/fd >files", env={**ENV, "NAME": "a 'b' \"c\"\n$d"})
    assert run(attempt).exit_code == 0
    rows = (attempt.codebase / "environment").read_text().rstrip("\0").split("\0")
    got = dict(row.split("=", 1) for row in rows)
    assert got.pop("NAME") == "a 'b' \"c\"\n$d"
    assert got.pop(TAG) == attempt.id
    assert got.pop("PATH").startswith(f"{Path(sys.executable).parent}:")
    assert got.pop("AJET_INBOX_ATTEMPT") == "1"
    shells = {"PWD", "OLDPWD", "SHLVL", "_"}
    exported = {"HOME", "LANG", "AJET_INBOX_RUN", "AJET_INBOX_DROP", "EXP_RESULT_DIR", "PYTHONUNBUFFERED"}
    assert got.keys() - shells == exported
    assert "lock" not in attempt.wrote("files")


@pytest.mark.parametrize("newline", ["\\n", "x"])
def test_a_hundred_megabytes_of_output(make: Make, newline: str) -> None:
    attempt = make(f"head -c 100000000 /dev/zero | tr '\\0' '{newline}'")
    assert run(attempt).exit_code == 0
    assert (attempt.folder / "console.log").stat().st_size == 100_000_000


def test_signals_are_as_usual_in_the_command(make: Make) -> None:
    attempt = make("grep -E '^Sig(Blk|Ign)' /proc/self/status >masks")
    run(attempt)
    masks = {int(line.split()[1], 16) for line in attempt.wrote("masks").splitlines()}
    assert {mask & ~GLIBC for mask in masks} == {0}


# ---- prepare and clean up -------------------------------------------------------------------------------------------


def test_prepare_comes_first_and_cleanup_last(make: Make) -> None:
    scripts = {"prepare": "echo prepare >>order", "cleanup": "echo $AJET_INBOX_RUN cleanup >>order; exit 4"}
    attempt = make("echo command >>order", scripts=scripts)
    ending = run(attempt)
    assert (ending.exit_code, ending.cleanup_exit_code) == (0, 4)
    assert attempt.wrote("order").splitlines() == ["prepare", "command", "run cleanup"]


def test_where_prepare_fails_the_command_is_not_run(make: Make) -> None:
    attempt = make("echo command >>order", scripts={"prepare": "exit 8", "cleanup": "echo cleanup >>order"})
    ending = run(attempt)
    assert (ending.exit_code, ending.stage, ending.cleanup_exit_code) == (8, Stage.PREPARE, 0)
    assert attempt.wrote("order") == "cleanup"


@pytest.mark.parametrize("orphan", [False, True])
def test_cleanup_is_run_whatever_happened_but_not_for_ever(make: Make, orphan: bool) -> None:
    cleanup = "echo cleanup >>order; sleep 300"
    attempt = make(UNTIL_GO, scripts={"cleanup": cleanup}, cleanup_s=0.5)
    attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    if orphan:
        attempt.kill_supervisor()
        attempt.supervise()
        (attempt.codebase / "go").touch()
    else:
        attempt.stop("enough")
    ending = attempt.exit()
    assert ending.cleanup_exit_code == 143
    assert attempt.wrote("order") == "cleanup"


# ---- a bad world ----------------------------------------------------------------------------------------------------


def test_where_nothing_can_be_written_nothing_is_run(make: Make) -> None:
    """A file size limit of nothing stands for a full disk, also for the superuser."""
    attempt = make("mkdir begun")
    shell = 'exec 2> >(exec cat >>../../complaints); ulimit -f 0; name=$0; exec -a "$name" "$KEEPER" "$@"'
    keeper = attempt.supervise(("bash", "-c", shell))
    assert keeper.wait(20) == 1
    poll(lambda: f"The attempt in {attempt.folder} cannot be supervised" in attempt.complaints())
    assert not (attempt.codebase / "begun").exists()


@pytest.mark.parametrize("text", [None, "", "[]", "{}", "attempt_id", "attempt_id=a\0lock=/\0", "\0=\0\0"])
def test_a_spec_that_says_nothing_is_complained_about(make: Make, text: str | None) -> None:
    attempt = make("true")
    (attempt.folder / "spec").unlink() if text is None else (attempt.folder / "spec").write_text(text)
    keeper = attempt.supervise()
    assert keeper.wait(10) == 1
    assert attempt.complaints().count("\n") == 1
    assert "Traceback" not in attempt.complaints()


def test_a_folder_that_is_deleted_keeps_nobody(make: Make) -> None:
    attempt = make("echo >ready; sleep 0.5")
    keeper = attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    shutil.rmtree(attempt.folder)
    assert keeper.wait(20) == 0


def test_a_disk_that_is_full_at_the_end_is_waited_for(make: Make, tmp_path: Path) -> None:
    """A folder in the place of exit.json stands for it: no file can be renamed onto that."""
    attempt = make(f"mkdir {tmp_path}/0/attempts/1/exit.json; exit 3")
    keeper = attempt.supervise()
    poll(lambda: list(attempt.folder.glob("exit.json.*")))
    (attempt.folder / "exit.json").rmdir()
    assert keeper.wait(20) == 0
    assert attempt.exit().exit_code == 3


def test_where_the_codebase_is_gone_the_command_is_not_run(make: Make) -> None:
    attempt = make("echo begun")
    attempt.codebase.rmdir()
    ending = run(attempt)
    assert ending.exit_code == 1
    assert "begun" not in attempt.console()
    assert str(attempt.codebase) in attempt.console()


def test_the_command_line_tells_nothing(make: Make) -> None:
    attempt = make(UNTIL_GO)
    keeper = attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in (keeper.pid, attempt.started().pid)]
    assert lines == [
        b"ajet-keeper\0-SP\0-c\0from ajet_inbox.supervisor.keeper import main; main()\0",
        b"bash\0launch.sh\0",
    ]
    assert Path(f"/proc/{keeper.pid}/comm").read_text() == "keeper\n"


def test_start_up_is_short() -> None:
    """Heavy modules would be paid for between a free slot and the first instruction of every attempt."""
    code = "import sys, ajet_inbox.supervisor.keeper; print(*sys.modules)"
    root = Path(__file__).parents[2]
    shown = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=root, capture_output=True, text=True, check=True, timeout=20
    ).stdout.split()
    assert not {"enum", "re", "signal", "json", "contextlib", "typing", "pathlib", "subprocess"} & set(shown)
