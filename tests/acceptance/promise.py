"""The promise of the contract, looked at from outside: by the files of a home and what its experiments counted."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from tests.acceptance.home import Home, names, poll

CHAOS = int(os.environ.get("AJET_CHAOS", "0"))  # how much longer than in CI; 0 is the short form


def assert_kept(home: Home, ends: dict[str, int], *, attempts: int = 1) -> None:
    """Each of these counted runs ended with its exit code, told once, and ran `attempts` times from start to end."""
    assert home.runs() == sorted(ends)
    for name, code in ends.items():
        flag = home.flag(name)
        assert (name, flag["outcome"], flag["exit_code"]) == (name, "failed" if code else "succeeded", code)
        assert (flag["attempts"], home.counts(name)) == (attempts, (attempts, attempts))
        assert_told_once(home, name)
    assert_clear(home)


def assert_told_once(home: Home, name: str) -> None:
    """One end in the journal, and everything else says the same."""
    events = home.events(name)
    assert (events.count("finished"), events[-1]) == (1, "published"), events
    flag, state = home.flag(name), home.state(name)
    assert (state["state"], state["outcome"], state["exit_code"]) == ("finished", flag["outcome"], flag["exit_code"])
    delivered = names(home.results / name)
    assert not [each for each in delivered if ".stale" in each or ".experiment" in each], delivered
    assert {"finish.flag", "result.md", "trial_log.md"} <= delivered


def assert_clear(home: Home) -> None:
    """Nothing waits, nothing is half done, and no terminal stays."""
    assert names(home.paths.inbox) == set()
    assert names(home.paths.intake) == set()
    assert home.sessions() == []


def pids_named(word: str, environment: str) -> list[int]:
    """The processes with `word` in their command line and `environment` in their environment."""
    return [
        pid
        for pid in _pids()
        if word.encode() in _read(pid, "cmdline") and environment.encode() in _read(pid, "environ")
    ]


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _read(pid: int, what: str) -> bytes:
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes()
    except OSError:
        return b""


def until_counted(home: Home, run: str, starts: int = 1) -> None:
    """Wait until a counted experiment has begun."""
    poll(lambda: home.counts(run)[0] >= starts, what=f"{run} has not begun:")


def started(home: Home, run: str, attempt: int = 1) -> dict[str, Any]:
    """started.json, once it is there."""
    import json

    path = home.run(run).attempt(attempt) / "started.json"
    poll(lambda: path.exists(), what=f"{run} is not started:")
    told: dict[str, Any] = json.loads(path.read_text())
    return told
