"""The promise of the contract, looked at from outside: by the files of a home and what its experiments counted."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from tests.acceptance.home import Home, names, poll

# A command that ends, with exit 3, when the test lets it: however slow the machine is, not before.
UNTIL_LET = "until test -e let; do sleep 0.05; done; exit 3"
CHAOS = int(os.environ.get("AJET_CHAOS", "0"))  # how much longer than in CI; 0 is the short form


def let_end(home: Home) -> None:
    """Let the commands `UNTIL_LET` end."""
    (home.code / "let").touch()


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
    poll(lambda: home.events(name)[-1] == "published")
    assert home.events(name).count("finished") == 1
    flag, state = home.flag(name), home.state(name)
    assert (state["state"], state["outcome"], state["exit_code"]) == ("finished", flag["outcome"], flag["exit_code"])
    delivered = names(home.results / name)
    assert not [each for each in delivered if ".stale" in each or ".experiment" in each or each[0] == "."], delivered
    assert {"finish.flag", "result.md", "trial_log.md"} <= delivered


def assert_clear(home: Home) -> None:
    """Nothing waits, nothing is half done, and no terminal stays."""
    assert names(home.paths.inbox) == set()
    assert names(home.paths.intake) == set()
    assert home.sessions() == []


def keepers(home: Home) -> list[int]:
    """The supervisors at work in the home."""
    return [pid for pid in _pids() if _name(pid) == b"ajet-keeper" and _folder(pid).is_relative_to(home.root)]


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal()]


def _name(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().partition(b"\0")[0]
    except OSError:
        return b""


def _folder(pid: int) -> Path:
    try:
        return Path(f"/proc/{pid}/cwd").readlink()
    except OSError:
        return Path("/")


def started(home: Home, run: str, attempt: int = 1) -> dict[str, Any]:
    """started.json, once it is there."""
    path = home.run(run).attempt(attempt) / "started.json"
    poll(path.exists, what=f"{run} is not started:")
    told: dict[str, Any] = json.loads(path.read_text())
    return told
