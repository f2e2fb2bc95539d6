"""What people and programs ask of runs. A request is offered again until it is answered, so acts are repeatable."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from msgspec.structs import replace

from ajet_inbox.core import effects as do
from ajet_inbox.core import journal
from ajet_inbox.core.events import Ask, Asked
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.follow import Decision, record, stop
from ajet_inbox.core.journal import AnyEntry, Finished, Reason, StopCause
from ajet_inbox.core.lifecycle import TRANSITIONS, Outcome, State, Step
from ajet_inbox.core.run import Run

_WAITING = (State.QUEUED, State.HELD)


def answer(fleet: Fleet, asked: Asked, now: datetime) -> Decision:
    """Do what is asked as far as it can be done now; a request that is fulfilled, or never can be, is answered."""
    run = fleet.runs.get(asked.run)
    if run is None or not _POSSIBLE[asked.ask](run, asked):
        return fleet, (do.Answered(run=asked.run, request_id=asked.request_id),)
    if run.name in fleet.taking or run.name in fleet.looking:
        return fleet, ()
    if run.state in _WAITING:
        return _take(fleet, run, asked, now)
    if not fleet.mine(run):
        return fleet, ()
    return _act(fleet, run, asked, now)


def _cancellable(run: Run, asked: Asked) -> bool:
    return run.state not in (State.FINISHED, State.STOPPING, State.EXITED)


_POSSIBLE: dict[Ask, Callable[[Run, Asked], bool]] = {
    Ask.CANCEL: _cancellable,
    Ask.HOLD: lambda run, asked: run.state is State.QUEUED,
    Ask.RELEASE: lambda run, asked: run.state is State.HELD,
    Ask.PRIORITIZE: lambda run, asked: run.state in _WAITING and run.priority != asked.priority,
    Ask.LOST: lambda run, asked: (run.state, Step.LOSE) in TRANSITIONS,
}


def take(fleet: Fleet, run: Run, act: str, *entries: AnyEntry, slot: str | None = None) -> Decision:
    """Claim a run that is nobody's, and write `entries` in the same breath."""
    fleet = replace(fleet, taking={**fleet.taking, run.name: slot})
    return fleet, (do.Take(run=run.name, epoch=run.epoch, act=act, entries=entries),)


def _take(fleet: Fleet, run: Run, asked: Asked, now: datetime) -> Decision:
    back = journal.Relinquished(at=now)
    match asked.ask:
        case Ask.HOLD:
            return take(fleet, run, "hold", journal.Held(at=now, by=asked.by), back)
        case Ask.RELEASE:
            return take(fleet, run, "release", journal.Released(at=now, by=asked.by), back)
        case Ask.PRIORITIZE:
            moved = journal.Prioritized(at=now, priority=asked.priority, by=asked.by)
            return take(fleet, run, "prioritize", moved, back)
        case _:
            return take(fleet, run, "cancel", cancelled(asked, now))


def _act(fleet: Fleet, run: Run, asked: Asked, now: datetime) -> Decision:
    if asked.ask is Ask.LOST:
        reason = Reason(code="lost", text=f"Given up by {asked.by}: {asked.reason or 'no reason given'}.")
        lost = Finished(at=now, via=Step.LOSE, outcome=Outcome.LOST, reason=reason, by=asked.by)
        return record(fleet, run, now, lost)
    if run.state in (State.SUBMITTED, State.BACKOFF):
        return record(fleet, run, now, cancelled(asked, now))
    if (run.state, Step.STOP) not in TRANSITIONS:
        return fleet, ()
    reason = Reason(code="cancelled", text=_cancel_text(asked))
    stopping = journal.Stopping(at=now, cause=StopCause.CANCELLED, reason=reason, by=asked.by)
    return stop(fleet, run, stopping, now)


def cancelled(asked: Asked, now: datetime) -> Finished:
    """The end of a run that was cancelled before it, or between attempts."""
    reason = Reason(code="cancelled", text=_cancel_text(asked))
    return Finished(at=now, via=Step.CANCEL, outcome=Outcome.CANCELLED, reason=reason, by=asked.by)


def _cancel_text(asked: Asked) -> str:
    return f"Cancelled by {asked.by}: {asked.reason}." if asked.reason else f"Cancelled by {asked.by}."
