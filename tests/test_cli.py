"""The real command: help, usage, one JSON document, plain sentences, exit codes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from ajet_inbox.cli.answers import OUTCOME_CODES
from ajet_inbox.cli.base import COMMANDS, GROUPS
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.files import list_names
from tests.cli_home import (
    add_run,
    ajet,
    ajet_json,
    console,
    end,
    finished,
    let_watch,
    make_busy,
    make_home,
    queued,
    start,
)

HEAVY = ("rich", "libtmux", "watchdog", "yaml", "markdown_it", "loguru", "jinja2", "asyncio", "msgspec")
# What prints facts, with arguments that fit the home below.
FACTS = [
    ["status"],
    ["show", "done"],
    ["peek", "done"],
    ["slots"],
    ["doctor"],
    ["pause"],
    ["resume"],
    ["cancel", "waits"],
    ["hold", "waits"],
    ["release", "waits"],
    ["prioritize", "waits", "-3"],
    ["lost", "done"],
    ["wait", "done"],
    ["retry", "done"],
]


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return make_home(tmp_path / "home")


@pytest.fixture
def busy(home: HomePaths) -> HomePaths:
    return make_busy(home)


# ---- help, usage, homes -------------------------------------------------------------------------------------------


def test_help_imports_nothing_heavy(tmp_path: Path) -> None:
    program = "import sys; from ajet_inbox.cli import main; code = main(); print(*sys.modules); sys.exit(code)"
    done = subprocess.run(
        [sys.executable, "-c", program, "--help"], capture_output=True, text=True, cwd=tmp_path, timeout=30, check=True
    )
    modules = {name.partition(".")[0] for name in done.stdout.splitlines()[-1].split()}
    assert "click" in modules
    assert modules.isdisjoint(HEAVY)


def test_help_lists_every_command_with_its_own_first_sentence() -> None:
    done = ajet(None, "--help")
    assert done.returncode == 0
    for module, (_, summaries) in GROUPS.items():
        for name, summary in summaries.items():
            command = getattr(import_module(f"ajet_inbox.cli.{module}"), name)
            assert command.help.split("\n\n")[0] == summary
            assert f"  {name} " in done.stdout


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_explains_itself(name: str, tmp_path: Path) -> None:
    done = ajet(None, name, "--help", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "--home" in done.stdout


def test_the_version_is_told() -> None:
    assert ajet(None, "--version").stdout.startswith("ajet-inbox 0")


def test_the_installed_command_is_the_same() -> None:
    command = Path(sys.executable).with_name("ajet-inbox")
    done = subprocess.run([command, "--version"], capture_output=True, text=True, timeout=30, check=True)
    assert done.stdout == ajet(None, "--version").stdout


WRONG = [
    (["stauts"], "Did you mean status?"),
    (["show"], "RUN"),
    (["wait"], "nothing to wait for"),
    (["status", "--watch"], "needs a terminal"),
    (["prioritize", "a", "high"], "high"),
    (["check", "nothing.md"], "nothing.md"),
    (["submit", "pyproject.toml", "README.md", "--key", "k"], "one blueprint"),
    (["render"], "--all"),
    (["logs", "a", "--attempt", "0"], "attempt"),
]


@pytest.mark.parametrize(("arguments", "told"), WRONG)
def test_wrong_use_is_one_line_and_exit_2(home: HomePaths, arguments: list[str], told: str) -> None:
    done = ajet(home, *arguments, cwd=Path(__file__).parents[1])
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert told in done.stderr


@pytest.mark.parametrize("arguments", [a for a in FACTS if a[0] != "doctor"] + [["submit", __file__], ["watch"]])
def test_without_a_home_nothing_happens(tmp_path: Path, arguments: list[str]) -> None:
    done = ajet(None, *arguments, cwd=tmp_path)
    assert done.returncode == 2
    assert "ajet-inbox init" in done.stderr
    assert list_names(tmp_path) == ()


def test_the_home_may_be_named_in_every_way(busy: HomePaths, tmp_path: Path) -> None:
    here = {"cwd": tmp_path}
    assert ajet(busy, "show", "done", **here).returncode == 0
    assert ajet(None, "show", "done", "--home", str(busy.root), **here).returncode == 0
    assert ajet(None, "show", "done", AJET_INBOX_HOME=str(busy.root), **here).returncode == 0
    assert ajet(None, "show", "done", cwd=busy.inbox).returncode == 0
    assert ajet(None, "show", "done", **here).returncode == 2


# ---- JSON and errors ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("arguments", FACTS, ids=lambda a: a[0])
def test_json_is_one_document_and_nothing_else(busy: HomePaths, arguments: list[str]) -> None:
    let_watch(busy, host="elsewhere")  # who lives, and answers nothing
    done = ajet(busy, *arguments, "--json")
    json.loads(done.stdout)
    assert "Traceback" not in done.stderr


def test_an_error_is_a_document_too(home: HomePaths) -> None:
    code, document = ajet_json(home, "show", "nothing")
    assert code == 6 == document["exit_code"]
    assert "nothing" in document["error"]


def test_json_is_valid_without_utf8(home: HomePaths) -> None:
    add_run(home, "实验", *queued(), blocked="等待 😀")
    done = ajet(home, "show", "实验", "--json", PYTHONIOENCODING="ascii")
    assert json.loads(done.stdout)["blocked"] == "等待 😀"


def test_no_such_run_is_told_with_the_nearest_names(busy: HomePaths) -> None:
    for command in ("show", "peek", "logs", "attach", "wait", "cancel", "lost", "hold", "release", "retry"):
        done = ajet(busy, command, "wait5")
        assert (done.returncode, done.stdout) == (6, "")
        assert "Did you mean waits?" in done.stderr


def test_tracebacks_only_on_request(home: HomePaths) -> None:
    home.outbox.rmdir()
    home.outbox.touch()
    plain, told = ajet(home, "show", "a"), ajet(home, "show", "a", "--debug")
    assert plain.returncode == told.returncode == 1
    assert plain.stderr.count("\n") == 1
    assert "Traceback" in told.stderr


def test_a_bad_settings_file_is_named_by_its_line(home: HomePaths) -> None:
    home.config.write_text("watch:\n  settel: 3 s\n")
    done = ajet(home, "watch")
    assert done.returncode == 2
    assert "ajet-inbox.yaml:2:" in done.stderr
    code, document = ajet_json(home, "doctor")
    assert code == 1
    assert document["settings"] is None


# ---- waiting ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outcome", Outcome)
def test_wait_exits_as_the_run_ended(home: HomePaths, outcome: Outcome) -> None:
    add_run(home, "a", *finished(outcome))
    end(home, "a", outcome)
    code, document = ajet_json(home, "wait", "a")
    expected = {"succeeded": 0, "plateaued": 0, "timed_out": 0, "failed": 1, "rejected": 3, "cancelled": 4, "lost": 5}
    assert code == expected[outcome] == OUTCOME_CODES[outcome]
    assert (document["run"], document["outcome"]) == ("a", outcome)


def test_of_several_the_highest_code_counts(home: HomePaths) -> None:
    for name, outcome in (("a", Outcome.CANCELLED), ("b", Outcome.SUCCEEDED), ("c", Outcome.REJECTED)):
        add_run(home, name, *finished(outcome))
        end(home, name, outcome)
    code, documents = ajet_json(home, "wait", "a", "b", "c")
    assert code == 4
    assert [d["run"] for d in documents] == ["a", "b", "c"]


def test_the_time_of_waiting_is_limited(busy: HomePaths) -> None:
    done = ajet(busy, "wait", "done", "runs", "--key", "none", "--timeout", "0.5", "--json")
    assert done.returncode == 124
    assert [d and d["state"] for d in json.loads(done.stdout)] == ["finished", "running", None]
    assert done.stderr.count("No watcher lives here") == 1


def test_ctrl_c_is_130(busy: HomePaths) -> None:
    with start(busy, "wait", "runs") as waiting:
        assert waiting.stderr
        assert "No watcher" in waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        _, stderr = waiting.communicate(timeout=20)
    assert (waiting.returncode, stderr.strip()) == (130, "")


def test_a_closed_pipe_is_no_accident(busy: HomePaths) -> None:
    for number in range(3000):
        console(busy, "runs", 1, b"x" * 100 + b"%d\n" % number)
    for arguments in (["logs", "runs"], ["show", "done"], ["status"]):
        with start(busy, *arguments) as child:
            assert child.stdout
            child.stdout.close()
            assert child.stderr
            assert child.stderr.read() == ""
        assert child.returncode == 141


@pytest.mark.parametrize("command", [["status", "--json"], ["status"], ["--help"]])
@pytest.mark.parametrize("stdout", [">&-", ">/dev/full"])
def test_an_output_that_cannot_be_written_is_no_defect(home: HomePaths, command: list[str], stdout: str) -> None:
    shell = f'exec "$@" {stdout}'
    line = ["bash", "-c", shell, "bash", sys.executable, "-m", "ajet_inbox", *command]
    done = subprocess.run(line, cwd=home.root, capture_output=True, text=True, check=False)
    assert "Traceback" not in done.stderr
    assert "should not have happened" not in done.stderr
    assert done.returncode == (0 if stdout == ">&-" else 1)
