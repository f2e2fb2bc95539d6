"""Looks up in the world what a blueprint names, and waits only so long: a mount that hangs must not hang the caller."""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable
from concurrent.futures import Future, wait
from pathlib import Path

from ajet_inbox.core.reading.facts import Facts, PathFacts

Examine = Callable[[str], PathFacts]

# By path: a look that has not come back. A mount that hangs for hours is asked once, not once a minute for ever.
_pending: dict[str, Future[PathFacts]] = {}
_lock = threading.Lock()


def look(*paths: str, timeout_s: float, examine: Examine | None = None) -> Facts:
    """What is known of `paths` after at most `timeout_s` seconds; `~` is this user's home.

    One thread a path, so that one mount that hangs leaves the others their answers. Nothing here can be interrupted:
    a look that hangs is left behind, and whoever asks for its path before it returns waits for the same answer.
    """
    asked = {path: _ask(path, examine or examine_path) for path in dict.fromkeys(paths)}
    wait(asked.values(), timeout_s)
    silent = PathFacts(answered=False, why=f"no answer in {timeout_s:g} s")
    return Facts(paths={path: answer.result() if answer.done() else silent for path, answer in asked.items()})


def _ask(path: str, examine: Examine) -> Future[PathFacts]:
    with _lock:
        if path in _pending:
            return _pending[path]
        answer = _pending[path] = Future[PathFacts]()

    def run() -> None:
        found = examine(path)
        with _lock:
            del _pending[path]  # first, so that whoever has this answer gets a fresh one next time
        answer.set_result(found)

    threading.Thread(target=run, name="look", daemon=True).start()
    return answer


def examine_path(path: str) -> PathFacts:
    """What the filesystem says of `path`; takes as long as that takes."""
    try:
        place = Path(path).expanduser()
        mode = _mode(place)
        return _present(place, mode) if mode is not None else _absent(place)
    except OSError as error:
        return PathFacts(answered=False, why=error.strerror or type(error).__name__)
    except (RuntimeError, ValueError) as error:  # an unknown user behind `~`, a zero byte
        return PathFacts(answered=False, why=str(error))


def _mode(place: Path) -> int | None:
    """The mode of what is there, None where nothing is; other failures are raised."""
    try:
        return place.stat().st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def _is_empty(folder: Path) -> bool:
    with os.scandir(folder) as names:
        return next(names, None) is None


def _present(place: Path, mode: int) -> PathFacts:
    return PathFacts(
        exists=True,
        is_dir=stat.S_ISDIR(mode),
        is_file=stat.S_ISREG(mode),
        readable=os.access(place, os.R_OK),
        writable=os.access(place, os.W_OK),
        executable=os.access(place, os.X_OK),
    )


def _absent(place: Path) -> PathFacts:
    above = next((folder for folder in place.absolute().parents if _mode(folder) is not None), None)
    if above is None:
        return PathFacts()
    is_dir = above.is_dir()
    return PathFacts(
        ancestor=str(above),
        ancestor_empty=is_dir and _is_empty(above),
        ancestor_writable=is_dir and os.access(above, os.W_OK | os.X_OK),
    )
