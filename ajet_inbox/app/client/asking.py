"""What is asked of runs: a request is left for the watchers, and their answer is waited for where one lives."""

from __future__ import annotations

import getpass
import os
import time
from collections.abc import Iterable
from datetime import UTC, datetime

import msgspec
from msgspec import Struct

from ajet_inbox.app.client.states import RunState, find
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.identity import host_name
from ajet_inbox.core.events import Ask
from ajet_inbox.core.lifecycle import TRANSITIONS, Outcome, State, Step
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.control import Request, is_open, send
from ajet_inbox.edge.files import Unreadable, list_names, read_regular, write_atomic

PATIENCE_S = 3.0
_POLL_S = 0.05
_LIMIT = 64 * 1024
_WAITING = frozenset({State.SUBMITTED, State.QUEUED, State.HELD})
# In which states each can be granted; the watcher judges for good, by the journal.
_POSSIBLE: dict[Ask, frozenset[State]] = {
    Ask.CANCEL: frozenset(State) - {State.FINISHED},
    Ask.HOLD: frozenset({State.SUBMITTED, State.QUEUED}),
    Ask.RELEASE: frozenset({State.HELD}),
    Ask.PRIORITIZE: _WAITING,
    Ask.LOST: frozenset(state for state, step in TRANSITIONS if step is Step.LOSE),
}
_RULES: dict[Ask, str] = {
    Ask.CANCEL: "there is nothing left to cancel",
    Ask.HOLD: "only a queued run can be held",
    Ask.RELEASE: "only a held run can be released",
    Ask.PRIORITIZE: "only a run that waits can be moved in the queue",
    Ask.LOST: "only a run that was started can be given up as lost",
}


class Answer(Struct, frozen=True, kw_only=True):
    """What became of a request: `pending` until a watcher deals with it, or `refused` in one sentence, or done."""

    state: RunState
    pending: bool = False
    refused: str | None = None


class Pause(Struct, frozen=True, kw_only=True):
    """Who paused the queue, and when; both are None where the file does not say."""

    by: str | None = None
    at: datetime | None = None


def whoami() -> str:
    """The person or program that asks, as user@host."""
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container may give us a number that has no name
        user = str(os.getuid())
    return f"{user}@{host_name()}"


def ask(
    home: HomePaths, names: Iterable[str], wanted: Ask, *, reason: str = "", priority: int = 0
) -> tuple[Answer, ...]:
    """Ask the same of several runs, and wait at most `PATIENCE_S` for the answers where a watcher lives.

    Raises:
        NoSuchRun: one of them does not exist; then nothing is asked of any.
        OSError: a request could not be written.
    """
    states = [find(home, name) for name in dict.fromkeys(names)]
    sent = [_send(home, state, wanted, reason, priority) for state in states]
    deadline = time.monotonic() + (PATIENCE_S if any(sent) and Watchers(home).living() else 0.0)
    return tuple(_answer(home, s.run, wanted, priority, i, deadline) for s, i in zip(states, sent, strict=True))


def _send(home: HomePaths, state: RunState, wanted: Ask, reason: str, priority: int) -> str | None:
    if state.state not in _POSSIBLE[wanted] or _is_fulfilled(state, wanted, priority):
        return None
    now = datetime.now(UTC)
    return send(home, Request(run=state.run, ask=wanted, by=whoami(), at=now, reason=reason, priority=priority))


def _answer(home: HomePaths, name: str, wanted: Ask, priority: int, request_id: str | None, deadline: float) -> Answer:
    """The request goes when it is dealt with; the snapshot that tells of it may come a moment later."""
    while True:
        pending = request_id is not None and is_open(home, request_id)
        state = find(home, name)
        fulfilled = _is_fulfilled(state, wanted, priority)
        if (fulfilled and not pending) or request_id is None or time.monotonic() >= deadline:
            refused = None if pending or fulfilled else _refusal(state, wanted)
            return Answer(state=state, pending=pending, refused=refused)
        time.sleep(_POLL_S)


def _is_fulfilled(state: RunState, wanted: Ask, priority: int) -> bool:
    match wanted:
        case Ask.CANCEL:
            return state.outcome is Outcome.CANCELLED or state.state in (State.STOPPING, State.EXITED)
        case Ask.HOLD:
            return state.state is State.HELD
        case Ask.RELEASE:
            return state.state not in (State.HELD, State.FINISHED)
        case Ask.PRIORITIZE:
            return state.priority == priority and state.state in _WAITING
        case Ask.LOST:
            return state.outcome is Outcome.LOST


def _refusal(state: RunState, wanted: Ask) -> str:
    ended = f" ({state.outcome})" if state.outcome else ""
    return f"{state.run} is {state.state}{ended}: {_RULES[wanted]}."


def pause(home: HomePaths) -> Pause:
    """Keep queued runs from starting on any host; who paused first stays.

    Raises:
        OSError: it could not be written.
    """
    standing = paused(home)
    if standing is not None:
        return standing
    mine = Pause(by=whoami(), at=datetime.now(UTC))
    home.paused.parent.mkdir(exist_ok=True)
    write_atomic(home.paused, msgspec.json.encode(mine))
    return mine


def resume(home: HomePaths) -> bool:
    """Let queued runs start again; False where nothing was paused.

    Raises:
        OSError: the file could not be removed.
    """
    try:
        home.paused.unlink()
    except FileNotFoundError:
        return False
    return True


def paused(home: HomePaths) -> Pause | None:
    """Who paused the queue; None where it is not paused. That the file is there is enough, whatever it says.

    Raises:
        OSError: the folder cannot be listed.
    """
    if home.paused.name not in list_names(home.paused.parent):
        return None
    data = read_regular(home.paused, _LIMIT)
    try:
        return Pause() if isinstance(data, Unreadable) else msgspec.json.decode(data, type=Pause)
    except msgspec.MsgspecError:
        return Pause()
