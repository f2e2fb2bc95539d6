"""`ajet-inbox demo`, the real one: a whole one on a terminal, and one that is broken off."""

from __future__ import annotations

import os
import pty
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from ajet_inbox.cli.demo_checks import Stage, complaints
from ajet_inbox.edge.neutral import runtime_dir

COMMAND = [sys.executable, "-m", "ajet_inbox", "demo"]
COLOUR = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")
Until = Callable[..., object]


def environment(folder: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in ("AJET_INBOX_HOME", "NO_COLOR")}
    return {**kept, "TMPDIR": str(folder), "TERM": "xterm-256color", "COLUMNS": "100"}


def read_all(fd: int) -> str:
    pieces = []
    while True:
        try:
            piece = os.read(fd, 65536)
        except OSError:  # what Linux says when nobody holds the other end any more
            piece = b""
        if not piece:
            return b"".join(pieces).decode()
        pieces.append(piece)


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> tuple[Stage, int, str]:
    """The demo on a terminal: its folders, its exit code, and what it showed."""
    folder = tmp_path_factory.mktemp("demo")
    here, there = pty.openpty()
    with subprocess.Popen(COMMAND, stdin=there, stdout=there, stderr=there, env=environment(folder)) as process:
        os.close(there)
        text = COLOUR.sub("", read_all(here))
    os.close(here)
    (root,) = folder.iterdir()
    return Stage(root=root), process.returncode, text


def of_folder(folder: Path) -> list[str]:
    """The processes that have anything to do with a folder, by where they are and what their environment names."""
    found = []
    for process in psutil.process_iter():
        try:
            words = [process.cwd(), *process.cmdline(), *process.environ().values()]
        except (psutil.Error, OSError):
            continue
        if process.pid != os.getpid() and any(str(folder) in word for word in words):
            found.append(f"{process.pid} {process.name()}")
    return found


def test_it_shows_what_is_so(shown: tuple[Stage, int, str]) -> None:
    stage, code, text = shown
    assert code == 0, text
    assert "NOT AS IT SHOULD BE" not in text
    assert re.search(r"good +running +━+[╺╸]?━* +\d+/60 ", text), "no bar was seen to grow"
    assert re.search(r"good +succeeded +\S+ +60/60 ", text)
    assert re.search(r"failing +failed +\S+ +- .*The command ended with exit 1\.", text)
    assert re.search(r"invalid +rejected ", text)
    assert re.search(r"task_pass_rate@1 +0\.\d+ +0\.\d+ ", text), "no result was shown"
    for place in (stage.home.root, stage.home.outbox, stage.results, stage.log):
        assert str(place) in text
        assert place.exists()


def test_nothing_of_it_lives_on(shown: tuple[Stage, int, str]) -> None:
    stage, _, _ = shown
    assert of_folder(stage.root) == []
    assert not runtime_dir(stage.home.root).exists()


def test_it_would_see_what_is_wrong(shown: tuple[Stage, int, str], tmp_path: Path) -> None:
    stage = Stage(root=Path(shutil.copytree(shown[0].root, tmp_path / "copy")))
    assert list(complaints(stage, 0)) == []
    assert any("ended with exit 7" in sentence for sentence in complaints(stage, 7))

    flag = stage.home.run("failing").flag
    flag.write_text(flag.read_text().replace("outcome: failed", "outcome: succeeded"))
    (stage.results / "not_ready" / "finish.flag").unlink()
    (stage.results / "addition" / "result.md").write_text("Something else.\n")
    table = stage.results / "addition" / "metrics.csv"
    heading, *rows = table.read_text().splitlines()
    table.write_text("\n".join([heading, *reversed(rows)]))
    shutil.rmtree(stage.home.run("invalid").root)
    told = "\n".join(complaints(stage, 0))
    for sentence in (
        "says succeeded",
        f"no finish.flag in {stage.results / 'not_ready'}",
        "does not belong to the result",
        "The training did not help",
        "There is no run invalid",
    ):
        assert sentence in told


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_broken_off_it_leaves_nothing(number: signal.Signals, tmp_path: Path, until: Until) -> None:
    log = tmp_path / "out"
    folder = tmp_path / "temporary"
    folder.mkdir()
    with log.open("wb") as out:
        process = subprocess.Popen(
            COMMAND, stdout=out, stderr=out, env={**environment(folder), "PYTHONUNBUFFERED": "1"}
        )
    with process:
        until(lambda: "good: running, step" in log.read_text())
        (root,) = folder.iterdir()
        assert of_folder(root), "the demo was not running, so the test shows nothing"
        process.send_signal(number)
        process.send_signal(number)
        assert process.wait(30) == 130
    assert list(folder.iterdir()) == []
    assert of_folder(root) == []
    assert not runtime_dir(Stage(root=root).home.root).exists()


def test_what_is_missing_is_told_in_a_sentence(tmp_path: Path) -> None:
    without_numpy = (
        "import importlib.util as util, sys; find = util.find_spec;"
        "util.find_spec = lambda name, *more: None if name == 'numpy' else find(name, *more);"
        "sys.argv = ['ajet-inbox', 'demo']; from ajet_inbox.cli import main; sys.exit(main())"
    )
    for command, extra, told in (
        ([sys.executable, "-c", without_numpy], {}, "numpy"),
        (COMMAND, {"PATH": str(tmp_path)}, "tmux is not installed"),
    ):
        env = {**environment(tmp_path), **extra}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=30)
        assert (done.returncode, done.stdout) == (1, "")
        assert told in done.stderr
        assert len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []
