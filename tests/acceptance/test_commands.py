"""What experiments get: commands as written, environment, files; and what becomes of what they leave behind."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.acceptance.home import Home, read_tree

MakeHome = Callable[..., Home]

MULTI_LINE = r"""
# a comment with 'an open quote
for word in "two  words" '$HOME' `echo three`; do
    printf '%s\n' "$word"
done
python - <<'END'
print("from python: {{ 7 * 7 }} %s %d $HOME \\n")
END
long_command() { echo "$1" \
    "$2"; }
long_command joined lines && echo 中文
"""


def test_a_command_of_many_lines_runs_as_written(home: Home) -> None:
    home.copy_in("exp.md", home.blueprint(MULTI_LINE))
    home.drain()
    assert home.console().splitlines() == [
        "two  words",
        "$HOME",
        "three",
        "from python: {{ 7 * 7 }} %s %d $HOME \\n",
        "joined lines",
        "中文",
    ]


def test_environment(home: Home) -> None:
    (home.code / "conf.yaml").write_text("ajet: {}\n")
    command = 'pwd >where; env -0 >env.txt; command -v python >which; python -c "import sys; print(sys.executable)"'
    text = home.blueprint(command, yaml_path="conf.yaml", env="COLOUR=deep blue\nPATH_LIKE=$HOME:`id`\n数=1")
    home.copy_in("exp.md", text.replace("数=1", "PYTHONUNBUFFERED=0"))
    home.drain()
    assert home.flag()["outcome"] == "succeeded", home.flag()
    pairs = (line.split("=", 1) for line in (home.code / "env.txt").read_text().split("\0") if line)
    got = dict(pairs)
    expected = {
        "AJET_INBOX_RUN": "exp",
        "AJET_INBOX_ATTEMPT": "1",
        "AJET_INBOX_DROP": str(home.run().drop),
        "EXP_YAML_PATH": str(home.code / "conf.yaml"),
        "EXP_RESULT_DIR": str(home.results / "exp"),
        "COLOUR": "deep blue",
        "PATH_LIKE": "$HOME:`id`",
        "PYTHONUNBUFFERED": "0",
    }
    assert {name: got.get(name) for name in expected} == expected
    assert got["PATH"].split(":")[0] == str(home.python.parent)
    assert home.wrote("where") == str(home.code)
    assert home.wrote("which") == home.console().strip() == str(home.python)
    assert not {"TMUX", "NOTIFY_SOCKET", "AJET_INBOX_HOME", "AJET_NEUTRAL", "PYTHONHOME"} & got.keys()


def test_settings_choose_the_environment(make_home: MakeHome) -> None:
    home = make_home(env={"login_shell": False, "pass": ["PATH", "KEPT_*"], "file": "secrets.env"})
    (home.root / "secrets.env").write_text("# keys\nexport API_KEY='k 1'\n")
    home.copy_in("exp.md", home.blueprint('echo "$API_KEY|$HOME|$PYTHONPATH"'))
    home.drain()
    assert home.console() == "k 1||\n"


def test_prepare_and_cleanup(home: Home) -> None:
    text = home.blueprint("cat made; exit 3", prepare_command="echo ready >made", cleanup_command="rm made; echo gone")
    home.copy_in("exp.md", text)
    home.drain()
    assert home.console() == "ready\ngone\n"
    assert not (home.code / "made").exists()
    assert (home.flag()["outcome"], home.flag()["exit_code"]) == ("failed", 3)
    assert home.exit()["cleanup_exit_code"] == 0


def test_a_prepare_command_that_fails_keeps_the_command_from_running(home: Home) -> None:
    text = home.counted("true", prepare_command="echo no >&2; exit 6", cleanup_command="echo cleaned")
    home.copy_in("exp.md", text)
    home.drain()
    assert (home.flag()["reason"]["code"], home.flag()["exit_code"]) == ("prepare_failed", 6)
    assert home.counts() == (0, 0)
    assert home.console() == "no\ncleaned\n"


def test_a_cleanup_command_does_not_change_the_outcome(home: Home) -> None:
    home.copy_in("exp.md", home.blueprint("true", cleanup_command="exit 9"))
    home.drain()
    assert (home.flag()["outcome"], home.exit()["cleanup_exit_code"]) == ("succeeded", 9)


def test_a_folder_runs_in_a_copy_of_itself(home: Home) -> None:
    dropped: dict[str, str | bytes] = {
        "blueprint.md": home.blueprint(
            "python train.py >out.txt; echo changed >train.py; pwd", codebase_dir="./", yaml_path="conf.yaml"
        ),
        "train.py": "import os; print(open(os.environ['EXP_YAML_PATH']).read())\n",
        "conf.yaml": "ajet: {}\n",
        "data/deep/er.bin": bytes(range(256)),
    }
    home.move_in("exp", dropped)
    home.drain()
    assert home.flag()["outcome"] == "succeeded", home.flag()
    work = home.run().work
    assert home.console().strip() == str(work)
    assert (work / "out.txt").read_text() == "ajet: {}\n\n"
    kept = read_tree(home.run().drop)
    assert kept == {name: text.encode() if isinstance(text, str) else text for name, text in dropped.items()}
    assert not (home.paths.inbox / "exp").exists()


def test_paths_into_the_dropped_folder_mean_the_copy(home: Home) -> None:
    inside = home.paths.inbox / "exp"
    text = home.blueprint(f"cat {inside}/note.txt $EXP_YAML_PATH", yaml_path=f"{inside}/conf.yaml")
    home.move_in("exp", {"blueprint.md": text, "note.txt": "a note\n", "conf.yaml": "ajet: {}\n"})
    home.drain()
    assert home.console() == "a note\najet: {}\n"


LEFTOVERS = {
    "background": "sleep 987 &",
    "nohup": "nohup sleep 987 >/dev/null 2>&1 &",
    "setsid": "setsid sleep 987 &",
    "double_fork": "( setsid bash -c 'sleep 987 & disown' & )",
    "fresh_environment": "env -i /bin/bash -c 'setsid /bin/sleep 987 &'",
    "stubborn": "( trap '' TERM HUP; setsid sleep 987 & )",
}


def test_nothing_that_a_command_leaves_outlives_it(make_home: MakeHome) -> None:
    home = make_home(slots=[{"name": f"s{n}", "gpus": []} for n in range(len(LEFTOVERS))], limits={"grace": "500 ms"})
    for name, command in LEFTOVERS.items():
        # Every process of the experiment keeps the console open, or this folder; both are searched for below.
        home.copy_in(f"{name}.md", home.blueprint(f"{command}\nsleep 0.3\nexit 3", name))
    home.drain()
    assert {name: home.flag(name)["exit_code"] for name in LEFTOVERS} == dict.fromkeys(LEFTOVERS, 3)
    assert all(home.exit(name)["leftovers"] for name in LEFTOVERS)
    assert working_in(home.code) == []


def test_what_still_works_belongs_to_the_run(make_home: MakeHome) -> None:
    home = make_home()
    home.copy_in("exp.md", home.blueprint("( for n in 1 2 3 4 5; do sleep 0.3; echo $n; done; exit 7 ) & echo left"))
    home.drain()
    assert home.console() == "left\n1\n2\n3\n4\n5\n"
    assert home.flag()["exit_code"] == 0


def test_the_console_is_complete(home: Home) -> None:
    program = "import sys\nfor n in range(163840): sys.stdout.write(f'{n:063d}\\n')\nsys.stderr.write('end')"
    (home.code / "flood.py").write_text(program)
    home.copy_in("exp.md", home.blueprint("python flood.py"))
    home.drain()
    console = (home.run().attempt(1) / "console.log").read_bytes()
    assert console == b"".join(b"%063d\n" % n for n in range(163840)) + b"end"
    assert len(console) > 10 << 20


def test_a_console_of_any_bytes_harms_nothing(home: Home) -> None:
    odd = b"bytes(range(256)) * 40 + b'a' * 300000 + b'\\n\\x1b]0;x\\x07{{ 7*7 }}<script>'"
    (home.code / "odd.py").write_bytes(b"import sys\nsys.stdout.buffer.write(" + odd + b")\n")
    home.copy_in("exp.md", home.blueprint("python odd.py; exit 1"))
    home.drain()
    assert home.flag()["outcome"] == "failed"
    page = (home.run().root / "index.html").read_text()
    assert "<script>" not in page
    assert "{{ 7*7 }}" in page


def working_in(folder: Path) -> list[int]:
    """The processes whose working folder this is."""
    found = []
    for process in Path("/proc").iterdir():
        try:
            if process.name.isdecimal() and (process / "cwd").readlink() == folder:
                found.append(int(process.name))
        except OSError:
            continue
    return found
