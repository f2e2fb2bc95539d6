"""The watcher dies at any moment, and nothing is lost, doubled or interrupted (contract, "The promise")."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.home import Home, environment, poll
from tests.acceptance.promise import CHAOS, assert_kept, assert_told_once

MakeHome = Callable[..., Home]

REPOSITORY = Path(__file__).parents[2]
TWO_SLOTS = [{"name": "one", "gpus": []}, {"name": "two", "gpus": []}]


@pytest.mark.parametrize("seed", range(1 + CHAOS))
def test_killed_at_random_moments(make_home: MakeHome, seed: int) -> None:
    random_ = random.Random(seed)
    home = make_home(slots=TWO_SLOTS)
    ends = {f"run{n}": random_.choice([0, 0, 3, 137]) for n in range(6)}
    for name, code in ends.items():
        home.mark_and_move_in(f"{name}.md", home.counted(f"sleep {random_.random():.2f}; exit {code}", name))
    for _ in range(8):
        watcher = home.watch()
        time.sleep(random_.uniform(0.2, 1.0))
        watcher.kill()
    home.drain()
    assert_kept(home, ends)


# ---- at every step of a run's life --------------------------------------------------------------------------------

OK = "sleep 0.3; exit 3"
# event: (command, sections of the blueprint, exit code, attempts)
EVENTS: dict[str, tuple[str, dict[str, str], int, int]] = {
    "submitted": (OK, {}, 3, 1),
    "allocated": (OK, {}, 3, 1),
    "starting": (OK, {}, 3, 1),
    "launched": (OK, {}, 3, 1),
    "first_step": ("echo 'step:1 - actor/pg_loss:0.1'; sleep 1; exit 3", {"mode": "classic", "gpus": "0"}, 3, 1),
    "exited": (OK, {}, 3, 1),
    "retrying": (OK, {"retry": "1"}, 3, 2),
    "due": (OK, {"retry": "1"}, 3, 2),
    "finished": (OK, {}, 3, 1),
    "published": (OK, {}, 3, 1),
}


@pytest.mark.parametrize("event", EVENTS)
def test_killed_at_an_event(home: Home, event: str) -> None:
    command, sections, code, attempts = EVENTS[event]
    home.mark_and_move_in("exp.md", home.counted(command, **sections))
    kill_when(home, lambda: event in _journals(home, "exp"))
    home.drain()
    assert_kept(home, {"exp": code}, attempts=attempts)


def test_killed_while_ending_what_was_cancelled(home: Home) -> None:
    home.mark_and_move_in("exp.md", home.counted("sleep 100"))
    watcher = home.watch()
    poll(lambda: home.counts("exp")[0])
    assert home.ajet("cancel", "exp", "--reason", "enough").returncode in (0, 4)
    poll(lambda: "stopping" in _journals(home, "exp"))
    watcher.kill()
    home.drain()
    flag = home.flag()
    assert (flag["outcome"], "enough" in flag["reason"]["text"]) == ("cancelled", True)
    assert home.counts("exp") == (1, 1)
    assert_told_once(home, "exp")


@pytest.mark.parametrize("moment", ["submitted", "finished"])
def test_killed_while_rejecting(home: Home, moment: str) -> None:
    home.mark_and_move_in("exp.md", home.counted(OK, codebase_dir=None))
    kill_when(home, lambda: moment in _journals(home, "exp"))
    home.drain()
    assert (home.runs(), home.flag()["outcome"], home.counts("exp")) == (["exp"], "rejected", (0, 0))
    assert_told_once(home, "exp")


# ---- on the way in, and on the way out ----------------------------------------------------------------------------


def test_killed_when_the_drop_has_left_the_inbox(home: Home) -> None:
    """It is in no list of runs yet, and in the inbox no more."""
    home.mark_and_move_in("exp.md", home.counted(OK))
    kill_when(home, lambda: not (home.paths.inbox / "exp.md").exists())
    home.drain()
    assert_kept(home, {"exp": 3})


def test_killed_between_the_flag_and_its_record(home: Home) -> None:
    home.mark_and_move_in("exp.md", home.counted(OK))
    kill_when(home, lambda: home.has_flag("exp"))
    before = home.flag()
    home.drain()
    assert_kept(home, {"exp": 3})
    assert home.flag() == before


def test_results_that_were_cut_short_are_written_again(home: Home) -> None:
    home.mark_and_move_in("exp.md", home.counted(OK))
    kill_when(home, lambda: (home.run("exp").root / "result.md").exists())
    (home.run("exp").root / "result.md").write_text("hal")
    (home.run("exp").root / "trial_log.md").unlink(missing_ok=True)
    home.drain()
    assert_kept(home, {"exp": 3})
    assert "exit 3" in (home.run("exp").root / "result.md").read_text()


def kill_when(home: Home, condition: Callable[[], object]) -> None:
    """Start a watcher and kill it in the moment in which the condition holds."""
    watcher = home.watch()
    deadline = time.monotonic() + 30
    while not condition():
        assert time.monotonic() < deadline, watcher.log
        time.sleep(0.0005)
    watcher.kill()


def _journals(home: Home, run: str) -> str:
    return "".join(f"{event} " for event in _events(home, run))


def _events(home: Home, run: str) -> list[str]:
    folder = home.run(run).journal
    if not folder.exists():
        return []
    lines = [line for segment in folder.glob("*.jsonl") for line in segment.read_bytes().split(b"\n")]
    return [line.split(b'"', 4)[3].decode() for line in lines if line.startswith(b'{"event":"')]


# ---- before every change that it makes to the filesystem ----------------------------------------------------------

MOST_CHANGES = 130  # of a life that takes one drop to its end; more are no harm


@pytest.mark.parametrize("folder", [False, True])
def test_killed_before_a_change(make_home: MakeHome, folder: bool) -> None:
    """Lives that end at their Nth change, one after the other, and at last one that may live on."""
    random_ = random.Random(folder)
    points = range(1, MOST_CHANGES) if CHAOS else sorted(random_.sample(range(1, MOST_CHANGES), 5))
    home = make_home(slots=TWO_SLOTS)
    ends = {}
    for last in points:
        name = f"run{last}"
        ends[name] = last % 3
        text = home.counted(f"sleep 0.1; exit {last % 3}", name)
        if folder:
            home.move_in(name, {"blueprint.md": text, "more/data.txt": "data"})
        else:
            home.mark_and_move_in(f"{name}.md", text)
        assert mortal(home, last).returncode in (-9, 0)
    home.drain()
    assert_kept(home, ends)


def mortal(home: Home, last: int) -> subprocess.CompletedProcess[str]:
    """The life of a watcher that may make one change less than `last`."""
    command = [sys.executable, "-m", "tests.acceptance.mortal", str(home.root), str(last)]
    return subprocess.run(command, cwd=REPOSITORY, env=environment(), capture_output=True, text=True, timeout=60)
