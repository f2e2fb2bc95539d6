"""decide(fleet, event, now) -> (fleet, effects): every decision of the watcher, without touching anything."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any

from msgspec.structs import replace

from ajet_inbox.core import effects as do
from ajet_inbox.core import events as saw
from ajet_inbox.core import journal
from ajet_inbox.core.admission import admit, rejection, replaced
from ajet_inbox.core.fleet import Blocked, Fleet, less, unblocked, with_run, without
from ajet_inbox.core.follow import Decision, announce, go_on, record, stop
from ajet_inbox.core.journal import Finished, Reason
from ajet_inbox.core.lifecycle import Outcome, State, Step
from ajet_inbox.core.requests import answer, take
from ajet_inbox.core.run import Run, extend
from ajet_inbox.core.schedule import assign, fits_nowhere, is_elsewhere, queue, spoiled_after, unknown_after

_LIVE = (State.STARTING, State.RUNNING, State.STOPPING, State.UNREACHABLE)


def decide(fleet: Fleet, event: saw.Event, now: datetime) -> Decision:
    """What is known after `event`, and what is to be done: in this order for each run, side by side between runs."""
    fleet, effects = _HANDLERS[type(event)](fleet, event, now)
    fleet, more = _schedule(fleet, now)
    return fleet, tuple(_merged((*effects, *more)))


def _merged(effects: Iterable[do.Effect]) -> Iterable[do.Effect]:
    """Entries that follow each other in one journal are made durable by one write."""
    waiting: do.Record | None = None
    for effect in effects:
        if waiting and isinstance(effect, do.Record) and effect.run == waiting.run:
            waiting = replace(waiting, entries=(*waiting.entries, *effect.entries))
            continue
        if waiting:
            yield waiting
        waiting = effect if isinstance(effect, do.Record) else None
        if waiting is None:
            yield effect
    if waiting:
        yield waiting


# --- drops -----------------------------------------------------------------------------------------------------------


def _arriving(fleet: Fleet, event: saw.Arriving, now: datetime) -> Decision:
    return replace(fleet, arriving=fleet.arriving | set(event.drop_ids)), ()


def _drop_read(fleet: Fleet, event: saw.DropRead, now: datetime) -> Decision:
    entries = admit(fleet, event, now)
    submitted, last = event.submitted, entries[-1]
    rejected_for = last.reason.code if isinstance(last, Finished) else None
    if rejected_for is None:
        fleet = replace(fleet, admitting={**fleet.admitting, submitted.drop.id: submitted})
    return fleet, (do.Admit(drop_id=submitted.drop.id, name=event.name, entries=entries, rejected_for=rejected_for),)


def _admitted(fleet: Fleet, event: saw.Admitted, now: datetime) -> Decision:
    effects: tuple[do.Effect, ...] = ()
    fleet = _arrived(fleet, event.drop_id)
    if event.run.name not in fleet.runs.keys() | fleet.settled.keys():  # a look at the outbox can have been faster
        fleet, effects = go_on(with_run(fleet, event.run), event.run.name, now)
    fleet, more = _replace(fleet, event.run, now)
    return fleet, (*effects, *more)


def _drafted(fleet: Fleet, event: saw.Drafted, now: datetime) -> Decision:
    run = fleet.runs.get(event.run)
    if run is None or run.state is not State.SUBMITTED or not fleet.mine(run):
        return fleet, ()
    outcome = Outcome.SUCCEEDED if event.trouble is None else Outcome.FAILED
    then = f"it was dropped as {event.dropped_as}" if event.dropped_as else "check it, then submit it"
    reason = event.trouble or Reason(code="drafted", text=f"A blueprint was drafted into {event.place}; {then}.")
    return record(fleet, run, now, Finished(at=now, via=Step.CONCLUDE, outcome=outcome, reason=reason))


def _not_admitted(fleet: Fleet, event: saw.AdmitFailed | saw.Delayed, now: datetime) -> Decision:
    return _arrived(fleet, event.drop_id), ()


def _arrived(fleet: Fleet, drop_id: str) -> Fleet:
    return replace(fleet, arriving=fleet.arriving - {drop_id}, admitting=less(fleet.admitting, drop_id))


def _replace(fleet: Fleet, run: Run, now: datetime) -> Decision:
    """The waiting run that this one was dropped to replace gives way."""
    old = replaced(fleet, run.drop) if run.state is State.QUEUED else None
    if old is None:
        return fleet, ()
    reason = Reason(code="replaced", text=f"Replaced by {run.name}.")
    ended = Finished(at=now, via=Step.CANCEL, outcome=Outcome.CANCELLED, reason=reason, by=run.name)
    return take(fleet, old, "replace", ended)


# --- runs as their journals tell them --------------------------------------------------------------------------------


def _journal_read(fleet: Fleet, event: saw.JournalRead, now: datetime) -> Decision:
    run = event.run
    if _is_old(fleet, run):
        return fleet, ()
    fleet = with_run(fleet, run)
    if event.holder is saw.Holder.ME:
        return go_on(fleet, run.name, now)
    if event.holder is saw.Holder.DEAD and not run.settled and run.name not in fleet.taking:
        return take(fleet, run, "adopt")
    return fleet, ()


def _is_old(fleet: Fleet, run: Run) -> bool:
    """Whether we have made another claim, or seen the end, since this was read from its journal."""
    known = fleet.runs.get(run.name)
    return run.name in fleet.settled or (known is not None and known.epoch > run.epoch)


def _vanished(fleet: Fleet, event: saw.Vanished, now: datetime) -> Decision:
    return without(fleet, event.run), ()


def _act_failed(fleet: Fleet, event: saw.ActFailed, now: datetime) -> Decision:
    return fleet, (do.Reload(run=event.run),)


# --- slots and claims ------------------------------------------------------------------------------------------------


def _tick(fleet: Fleet, event: saw.Tick, now: datetime) -> Decision:
    effects: list[do.Effect] = []
    due = [name for name, run in fleet.runs.items() if run.state is State.BACKOFF]
    due += [name for name, at in fleet.publish_at.items() if at <= now]
    for name in due:
        fleet = replace(fleet, publish_at=less(fleet.publish_at, name))
        fleet, more = go_on(fleet, name, now)
        effects += more
    return fleet, tuple(effects)


def _slots_seen(fleet: Fleet, event: saw.SlotsSeen, now: datetime) -> Decision:
    return replace(fleet, slots=event.slots), ()


def _pause_seen(fleet: Fleet, event: saw.PauseSeen, now: datetime) -> Decision:
    return replace(fleet, paused=event.paused), ()


def _peers_seen(fleet: Fleet, event: saw.PeersSeen, now: datetime) -> Decision:
    return replace(fleet, peers=event.hosts), ()


def _schedule(fleet: Fleet, now: datetime) -> Decision:
    """Reject what waited in vain, and look at the paths of those that could go on a free slot."""
    effects: list[do.Effect] = []
    for run in queue(fleet):
        fleet, more = _screen(fleet, run, now)
        effects += more
    for run, slot in assign(fleet, now):
        fleet = replace(fleet, looking={**fleet.looking, run.name: slot.name})
        effects.append(do.Look(run=run.name))
    return fleet, tuple(effects)


def _screen(fleet: Fleet, run: Run, now: datetime) -> Decision:
    if run.name in fleet.taking or run.name in fleet.looking:
        return fleet, ()
    if spoiled := spoiled_after(fleet, run):
        reason = Reason(code="dependency_failed", text=f"It was to run after {spoiled[0]}, which did not end well.")
        return take(fleet, run, "reject", _rejected(reason, now))
    if unknown := unknown_after(fleet, run):
        return _block(
            fleet, run, Reason(code="after_unknown", text=f"It runs after {unknown[0]}; there is no such run."), now
        )
    if fleet.slots and fits_nowhere(fleet, run) and not is_elsewhere(fleet, run):
        most = max(len(slot.gpus) for slot in fleet.slots)
        return _block(
            fleet, run, Reason(code="no_slot", text=f"It needs {run.gpus} GPUs; the largest slot has {most}."), now
        )
    return fleet, ()


def _looked(fleet: Fleet, event: saw.Looked, now: datetime) -> Decision:
    slot_name = fleet.looking.get(event.run)
    fleet = replace(fleet, looking=less(fleet.looking, event.run))
    run = fleet.runs.get(event.run)
    slot = next((slot for slot in fleet.free_slots() if slot.name == slot_name), None)
    if run is None or run.state is not State.QUEUED or slot is None:
        return fleet, ()
    if event.world:
        if event.certain and not fleet.peers:
            return take(fleet, run, "reject", _rejected(rejection(event.world), now))
        return _block(fleet, run, rejection(event.world), now)
    allocated = journal.Allocated(at=now, slot=slot.name, gpus=slot.gpus)
    return take(fleet, run, "run", allocated, slot=slot.name)


def _block(fleet: Fleet, run: Run, reason: Reason, now: datetime) -> Decision:
    """The run waits, others go first; after `world_wait` it is rejected, unless another host may still take it."""
    before = fleet.blocked.get(run.name)
    since = before.since if before else now
    end = since + timedelta(seconds=fleet.policy.world_wait_s)
    if now >= end and not fleet.peers:
        return take(fleet, run, "reject", _rejected(reason, now))
    if before and now < before.again_at:
        return fleet, ()
    later = now + timedelta(seconds=fleet.policy.look_again_s)
    again_at = min(later, end) if now < end else later
    blocked = Blocked(code=reason.code, why=reason.text, since=since, again_at=again_at)
    return replace(fleet, blocked={**fleet.blocked, run.name: blocked}), ()


def _rejected(reason: Reason, now: datetime) -> Finished:
    return Finished(at=now, via=Step.REJECT, outcome=Outcome.REJECTED, reason=reason)


def _taken(fleet: Fleet, event: saw.Taken, now: datetime) -> Decision:
    fleet = unblocked(replace(fleet, taking=less(fleet.taking, event.run)), event.run)
    run = fleet.runs.get(event.run)
    if run is None:
        return fleet, (do.Reload(run=event.run),)
    fleet = with_run(fleet, extend(run, event.entries))
    return go_on(fleet, event.run, now)


def _not_taken(fleet: Fleet, event: saw.NotTaken, now: datetime) -> Decision:
    return replace(fleet, taking=less(fleet.taking, event.run)), (do.Reload(run=event.run),)


# --- attempts --------------------------------------------------------------------------------------------------------


def _prepared(fleet: Fleet, event: saw.Prepared, now: datetime) -> Decision:
    run = fleet.runs.get(event.run)
    if run is None or run.state is not State.PREPARING or not fleet.mine(run):
        return fleet, ()
    return announce(fleet, run, now)


def _prepare_failed(fleet: Fleet, event: saw.PrepareFailed, now: datetime) -> Decision:
    run = fleet.runs.get(event.run)
    if run is None or run.state is not State.PREPARING or not fleet.mine(run):
        return fleet, ()
    return record(fleet, run, now, journal.PrepareFailed(at=now, reason=event.reason))


def _of_current(fleet: Fleet, name: str, attempt: int) -> Run | None:
    """The run, if what was seen is about the attempt that it is at now."""
    run = fleet.runs.get(name)
    if run is None or run.current is None or run.current.number != attempt or run.state not in _LIVE:
        return None
    return run


def _launched(fleet: Fleet, event: saw.Launched, now: datetime) -> Decision:
    run = _of_current(fleet, event.run, event.attempt)
    if run is None or run.state is not State.STARTING:
        return fleet, ()
    entry = journal.Launched(at=now, pid=event.pid, boot_id=event.boot_id, started_at=event.started_at)
    return record(fleet, run, now, entry)


def _first_step(fleet: Fleet, event: saw.FirstStepSeen, now: datetime) -> Decision:
    run = _of_current(fleet, event.run, event.attempt)
    if run is None or run.current is None or run.current.first_step_at is not None:
        return fleet, ()
    entry = journal.FirstStep(at=now, number=event.number, source=event.source)
    return with_run(fleet, extend(run, (entry,))), (do.Record(run=run.name, epoch=run.epoch, entries=(entry,)),)


def _attempt_ended(fleet: Fleet, event: saw.AttemptEnded, now: datetime) -> Decision:
    run = _of_current(fleet, event.run, event.attempt)
    if run is None or not fleet.mine(run):
        return fleet, ()
    return record(fleet, run, now, journal.Exited(at=now, exit=event.exit, seen=event.seen, why=event.why))


def _stop_due(fleet: Fleet, event: saw.StopDue, now: datetime) -> Decision:
    run = _of_current(fleet, event.run, event.attempt)
    if run is None or run.state is not State.RUNNING:
        return fleet, ()
    return stop(fleet, run, journal.Stopping(at=now, cause=event.cause, reason=event.reason), now)


# --- the end ---------------------------------------------------------------------------------------------------------


def _publish_done(fleet: Fleet, event: saw.PublishDone, now: datetime) -> Decision:
    run = fleet.runs.get(event.run)
    if run is None or run.state is not State.FINISHED:
        return fleet, ()
    entry = journal.Published(at=now)
    fleet = with_run(fleet, extend(run, (entry,)))
    return fleet, (do.Record(run=run.name, epoch=run.epoch, entries=(entry,)), do.CleanUp(run=run.name))


def _publish_failed(fleet: Fleet, event: saw.PublishFailed, now: datetime) -> Decision:
    again_at = now + timedelta(seconds=fleet.policy.publish_again_s)
    fleet = replace(fleet, publish_at={**fleet.publish_at, event.run: again_at})
    run = fleet.runs.get(event.run)
    if run is None or event.undelivered is None or run.undelivered:
        return fleet, ()
    entry = journal.Noted(at=now, code=journal.UNDELIVERED, text=event.undelivered)
    return with_run(fleet, extend(run, (entry,))), (do.Record(run=run.name, epoch=run.epoch, entries=(entry,)),)


_HANDLERS: dict[type, Callable[[Fleet, Any, datetime], Decision]] = {
    saw.Tick: _tick,
    saw.SlotsSeen: _slots_seen,
    saw.PauseSeen: _pause_seen,
    saw.PeersSeen: _peers_seen,
    saw.Arriving: _arriving,
    saw.DropRead: _drop_read,
    saw.Admitted: _admitted,
    saw.AdmitFailed: _not_admitted,
    saw.Delayed: _not_admitted,
    saw.Drafted: _drafted,
    saw.JournalRead: _journal_read,
    saw.Vanished: _vanished,
    saw.Looked: _looked,
    saw.Taken: _taken,
    saw.NotTaken: _not_taken,
    saw.ActFailed: _act_failed,
    saw.Prepared: _prepared,
    saw.PrepareFailed: _prepare_failed,
    saw.Launched: _launched,
    saw.FirstStepSeen: _first_step,
    saw.AttemptEnded: _attempt_ended,
    saw.StopDue: _stop_due,
    saw.PublishDone: _publish_done,
    saw.PublishFailed: _publish_failed,
    saw.Asked: answer,
}
