"""The runs of a home as they tell of themselves: `outbox/RUN/state.json`, or the journal where that is not there."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from difflib import get_close_matches
from typing import Any

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.app.errors import NoSuchRun
from ajet_inbox.core import journal
from ajet_inbox.core.drops import natural_key
from ajet_inbox.core.journal import Reason
from ajet_inbox.core.lifecycle import OCCUPYING, InvalidTransition, Outcome, State
from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.core.run import fold
from ajet_inbox.core.telling.snapshot import SCHEMA, snapshot
from ajet_inbox.edge.files import Unreadable, list_names, read_regular
from ajet_inbox.edge.journal import segments

_LIMIT = 1 << 20


class RunState(Struct, frozen=True, kw_only=True):
    """`state.json` (contract section 3). What a file does not say is None: it may come from another version."""

    schema: int = SCHEMA
    run: str
    name: str | None = None
    key: str | None = None
    drop_sha256: str | None = None
    state: State
    blocked: str | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    attempt: int | None = None
    slot: str | None = None
    host: str | None = None
    priority: int = 0
    submitted_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    step: int | None = None
    total_steps: int | None = None
    eta: datetime | None = None
    metrics: dict[str, Any] | None = None
    exit_code: int | None = None
    attach_command: str | None = None
    capture_command: str | None = None


class Runs(Struct, frozen=True, kw_only=True):
    """All runs of a home in the order in which `status` shows them, and the names of those that cannot be read."""

    states: tuple[RunState, ...] = ()
    unreadable: tuple[str, ...] = ()


def find(home: HomePaths, name: str) -> RunState:
    """The run with exactly this name.

    Raises:
        NoSuchRun: there is none; it names those that are called nearly so.
    """
    names = run_names(home)
    state = read(home, name) if name in names else None
    if state is None:
        raise NoSuchRun(name, get_close_matches(name.strip("/").rpartition("/")[2], names, n=3))
    return state


def read_all(home: HomePaths) -> Runs:
    """Every run of the home.

    Raises:
        OSError: the outbox cannot be listed.
    """
    names = run_names(home)
    states = {name: read(home, name) for name in names}
    return Runs(
        states=tuple(sorted((s for s in states.values() if s), key=_rank)),
        unreadable=tuple(name for name, state in states.items() if state is None and _has_journal(home.run(name))),
    )


def run_names(home: HomePaths) -> tuple[str, ...]:
    """What may be runs, by name: our own files in the outbox start with a dot.

    Raises:
        OSError: the outbox cannot be listed.
    """
    return tuple(name for name in list_names(home.outbox) if not name.startswith("."))


def read(home: HomePaths, name: str) -> RunState | None:
    """One run; None where there is none, or nothing about it can be read now."""
    data = read_regular(home.run(name).state, _LIMIT)
    if not isinstance(data, Unreadable):
        try:
            return msgspec.json.decode(data, type=RunState)
        except msgspec.MsgspecError:
            pass  # a snapshot is only a convenience: the journal knows
    return _from_journal(home, name)


def _from_journal(home: HomePaths, name: str) -> RunState | None:
    try:
        run = fold(name, journal.join(segments(home.run(name))))
    except (OSError, journal.Unreadable, InvalidTransition):
        return None
    return msgspec.convert(snapshot(run), RunState) if run else None


def _has_journal(run: RunPaths) -> bool:
    try:
        return bool(list_names(run.journal))
    except OSError:
        return False  # a file in the outbox is no run


def _rank(state: RunState) -> tuple[object, ...]:
    """Running first, then the queue in its order, then held ones; the finished last, the newest of them first."""
    match state.state:
        case State.FINISHED:
            return (3, -_seconds(state.finished_at))
        case State.QUEUED | State.HELD:
            group = 1 if state.state is State.QUEUED else 2
            return (group, -state.priority, _seconds(state.submitted_at), natural_key(state.run))
        case _:
            return (0, _seconds(state.started_at or state.submitted_at), natural_key(state.run))


def _seconds(time: datetime | None) -> float:
    return time.timestamp() if time else 0.0


def is_running(state: RunState) -> bool:
    """Whether it has a slot to itself."""
    return state.state in OCCUPYING


def earliest(states: Iterable[RunState]) -> RunState | None:
    """The one that was submitted first."""
    return min(states, key=lambda state: _seconds(state.submitted_at), default=None)


def ended_as(state: RunState, outcome: Outcome) -> RunState:
    """`state` as its finish.flag tells it."""
    return replace(state, state=State.FINISHED, outcome=outcome)
