"""The console of a run: the last lines of it, or all of it as it grows, across attempts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from ajet_inbox.app.client.states import find
from ajet_inbox.app.errors import UserError
from ajet_inbox.core.attempt import CONSOLE, EXIT
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import FLAG, HomePaths, RunPaths
from ajet_inbox.core.training.console import clean
from ajet_inbox.edge.files import Unreadable, list_names, tail_from

_CHUNK = 1 << 20
_TAIL = 256 << 10
_POLL_S = 0.2


def attempts(run: RunPaths) -> list[int]:
    """The numbers of the attempts that there are.

    Raises:
        OSError: they cannot be listed.
    """
    return sorted(int(name) for name in list_names(run.root / "attempts") if name.isdecimal())


def last_lines(run: RunPaths, count: int) -> list[str]:
    """The last lines of the newest attempt, as a terminal would show them; none where there are none."""
    numbers = attempts(run)
    if not numbers:
        return []
    path = run.attempt(numbers[-1]) / CONSOLE
    tail = tail_from(path, max(0, _size(path) - _TAIL), _TAIL)
    lines = [] if isinstance(tail, Unreadable) else tail.data.decode(errors="replace").rstrip("\n").split("\n")
    return [clean(line) for line in lines[-count:]] if lines != [""] else []


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def read_console(home: HomePaths, name: str, attempt: int | None) -> Iterator[bytes]:
    """The console of one attempt, the newest unless a number is given.

    Raises:
        NoSuchRun: no run has this name.
        UserError: there is no such attempt.
    """
    state, numbers = find(home, name), attempts(home.run(name))
    if not numbers and state.state is State.FINISHED:
        raise UserError(f"{name} has no console: it ended before it began.", f"'ajet-inbox show {name}' says why.")
    if not numbers:
        raise UserError(f"{name} has no console yet: it is {state.state}.", "Follow it from its start with -f.")
    number = attempt or numbers[-1]
    if number not in numbers:
        raise UserError(f"{name} has no attempt {number}.", f"It has {', '.join(map(str, numbers))}.")
    yield from _Log(home.run(name), number).rest()


def follow_console(home: HomePaths, name: str, attempt: int | None) -> Iterator[bytes]:
    """The console as it grows: of one attempt until that has ended, else of each from the newest on until the run has.

    Raises:
        NoSuchRun: no run has this name.
    """
    find(home, name)
    run = home.run(name)
    log: _Log | None = None
    while True:
        over = _is_over(run, attempt)  # asked before reading: what came last is read after it
        numbers = [attempt] if attempt else attempts(run)
        if log is None and numbers:
            log = _Log(run, numbers[-1])
        if log is not None:
            yield from log.rest()
            later = [number for number in numbers if number > log.number]
            if later:
                log = _Log(run, later[0])
                continue
        if over:
            return
        time.sleep(_POLL_S)


def _is_over(run: RunPaths, attempt: int | None) -> bool:
    ended = attempt is not None and EXIT in list_names(run.attempt(attempt))
    return ended or FLAG in list_names(run.root)


class _Log:
    """The console of one attempt, read piece by piece."""

    def __init__(self, run: RunPaths, number: int) -> None:
        self.number = number
        self._path = run.attempt(number) / CONSOLE
        self._offset = 0

    def rest(self) -> Iterator[bytes]:
        """What has not been read yet."""
        while True:
            tail = tail_from(self._path, self._offset, _CHUNK)
            if isinstance(tail, Unreadable) or not tail.data:
                return
            self._offset = tail.offset
            yield tail.data
