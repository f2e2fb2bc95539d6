"""What follows from the state a run is in. Recovery after a crash is nothing but this, for every run that is ours."""

from __future__ import annotations

from datetime import datetime

from ajet_inbox.core import effects as do
from ajet_inbox.core import journal
from ajet_inbox.core.attempt import session_name
from ajet_inbox.core.fleet import Fleet, with_run
from ajet_inbox.core.journal import AnyEntry, Finished, Reason, StopCause
from ajet_inbox.core.lifecycle import Outcome, State, Step
from ajet_inbox.core.retry import time_left
from ajet_inbox.core.run import Run, extend
from ajet_inbox.core.verdict import conclude

Decision = tuple[Fleet, tuple[do.Effect, ...]]


def record(fleet: Fleet, run: Run, now: datetime, *entries: AnyEntry) -> Decision:
    """`entries` become part of the run, and what follows from them is done after they are durable."""
    fleet = with_run(fleet, extend(run, entries))
    fleet, more = go_on(fleet, run.name, now)
    return fleet, (do.Record(run=run.name, epoch=run.epoch, entries=entries), *more)


def go_on(fleet: Fleet, name: str, now: datetime) -> Decision:
    """The next act for a run that this watcher holds, from its state alone."""
    run = fleet.runs.get(name)
    if run is None or not fleet.mine(run):
        return fleet, ()
    match run.state:
        case State.SUBMITTED:
            return fleet, (do.Draft(run=name),)
        case State.PREPARING:
            return fleet, (do.Prepare(run=name),)
        case State.STARTING:
            return fleet, (do.Launch(run=name),)
        case State.RUNNING:
            return fleet, (do.Watch(run=name),)
        case State.STOPPING:
            return _stop_on(fleet, run, now)
        case State.EXITED:
            return record(fleet, run, now, conclude(run, fleet.policy, now))
        case State.BACKOFF:
            return _wait_on(fleet, run, now)
        case State.FINISHED:
            return fleet, (do.Publish(run=name),)
        case _:
            return fleet, ()


def announce(fleet: Fleet, run: Run, now: datetime) -> Decision:
    """The next attempt of a prepared run, announced under an id that no other attempt ever has, then launched."""
    number = len(run.attempts) + 1
    attempt_id = f"{run.drop.id}-{number}"
    entry = journal.Starting(
        at=now,
        attempt=number,
        id=attempt_id,
        session=session_name(run.blueprint.purpose or run.name, attempt_id, number),
        limit_s=time_left(run, now),
    )
    return record(fleet, run, now, entry)


def stop(fleet: Fleet, run: Run, stopping: journal.Stopping, now: datetime) -> Decision:
    """End what the run is doing. The signal goes first: ending something never waits for a disk."""
    fleet, effects = record(fleet, run, now, stopping)
    halts = tuple(effect for effect in effects if isinstance(effect, do.Halt))
    return fleet, (*halts, *(effect for effect in effects if effect not in halts))


def _stop_on(fleet: Fleet, run: Run, now: datetime) -> Decision:
    if run.current is None:
        return record(fleet, run, now, journal.Exited(at=now, why="It was ended before its command began."))
    cause = run.stop.cause if run.stop else StopCause.CANCELLED
    text = run.stop.reason.text if run.stop else ""
    return fleet, (do.Halt(run=run.name, cause=cause, text=text), do.Watch(run=run.name))


def _wait_on(fleet: Fleet, run: Run, now: datetime) -> Decision:
    if run.due_at is not None and now < run.due_at:
        return fleet, ()
    left = time_left(run, now)
    if left is None or left > 0:
        return record(fleet, run, now, journal.Due(at=now))
    reason = Reason(code="max_time", text="Its time was over before the next attempt could begin.")
    return record(fleet, run, now, Finished(at=now, via=Step.EXPIRE, outcome=Outcome.FAILED, reason=reason))
