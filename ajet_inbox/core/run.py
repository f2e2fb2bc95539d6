"""A run, as the fold of its journal."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core import journal
from ajet_inbox.core.attempt import Exit
from ajet_inbox.core.blueprint import Blueprint, Problem
from ajet_inbox.core.journal import AnyEntry, Drop, Owner, Reason, Seen, Stopping
from ajet_inbox.core.lifecycle import Outcome, State, advance


class Attempt(Struct, frozen=True, kw_only=True):
    """One launch of a run's command. `limit_s` is what was left of exp_max_time when it was announced."""

    number: int
    id: str
    session: str
    announced_at: datetime
    limit_s: float | None = None
    boot_id: str | None = None
    started_at: datetime | None = None
    first_step_at: datetime | None = None
    ended_at: datetime | None = None
    exit: Exit | None = None
    seen: Seen = Seen()
    why_gone: str = ""


class Run(Struct, frozen=True, kw_only=True):
    """Where a run stands. `holder` is None where it belongs to nobody; `epoch` counts its claims.

    `begun`: the newest attempt belongs to the present allocation or retry, not to an earlier one. `stop`: why it is
    being ended.
    """

    name: str
    state: State = State.SUBMITTED
    submitted_at: datetime
    drop: Drop
    blueprint: Blueprint
    problems: tuple[Problem, ...] = ()
    gpus: int = 0
    result_dir: str | None = None
    priority: int = 0
    holder: Owner | None = None
    epoch: int = 0
    slot: str | None = None
    slot_gpus: tuple[str, ...] = ()
    attempts: tuple[Attempt, ...] = ()
    begun: bool = False
    stop: Stopping | None = None
    due_at: datetime | None = None
    prepare_failed: Reason | None = None
    outcome: Outcome | None = None
    reason: Reason | None = None
    ended_by: str | None = None
    finished_at: datetime | None = None
    undelivered: bool = False
    published: bool = False

    @property
    def attempt(self) -> Attempt | None:
        """The newest attempt."""
        return self.attempts[-1] if self.attempts else None

    @property
    def current(self) -> Attempt | None:
        """The attempt that the present state is about; None before it is announced."""
        return self.attempt if self.begun else None

    @property
    def started_at(self) -> datetime | None:
        """When the first attempt's command began; exp_max_time counts from here."""
        return self.attempts[0].started_at if self.attempts else None

    @property
    def settled(self) -> bool:
        """Nothing is left to be done for it."""
        return self.state is State.FINISHED and self.published


def fold(name: str, entries: Iterable[AnyEntry]) -> Run | None:
    """The run that a journal tells of; None where it holds no submission yet.

    Raises:
        InvalidTransition: the journal takes a step that the life cycle does not have.
    """
    run: Run | None = None
    owner, epoch = None, 0
    for entry in entries:
        if isinstance(entry, journal.Claimed):
            owner, epoch = entry.owner, epoch + 1
        if run is not None:
            run = apply(run, entry)
        elif isinstance(entry, journal.Submitted):
            run = begin(name, entry, owner, epoch)
    return run


def begin(name: str, entry: journal.Submitted, holder: Owner | None, epoch: int) -> Run:
    """The run that a submission opens."""
    return Run(
        name=name,
        submitted_at=entry.at,
        drop=entry.drop,
        blueprint=entry.blueprint,
        problems=entry.problems,
        gpus=entry.gpus,
        result_dir=entry.result_dir,
        priority=entry.drop.priority,
        holder=holder,
        epoch=epoch,
    )


def extend(run: Run, entries: Iterable[AnyEntry]) -> Run:
    """`run` after `entries`."""
    return reduce(apply, entries, run)


def apply(run: Run, entry: AnyEntry) -> Run:
    """`run` after one entry.

    Raises:
        InvalidTransition: the life cycle has no such step here.
    """
    step = entry.via if isinstance(entry, journal.Finished) else entry.step
    if step is not None:
        run = replace(run, state=advance(run.state, step, f"run {run.name}"))
    return _told(run, entry)


def _told(run: Run, entry: AnyEntry) -> Run:
    """`run` with what the entry tells beside the step it takes."""
    match entry:
        case journal.Claimed():
            return replace(run, holder=entry.owner, epoch=run.epoch + 1)
        case journal.Relinquished():
            return replace(run, holder=None)
        case journal.Prioritized():
            return replace(run, priority=entry.priority)
        case journal.Allocated():
            return replace(run, slot=entry.slot, slot_gpus=entry.gpus)
        case journal.Yielded():
            return replace(run, slot=None, slot_gpus=())
        case journal.PrepareFailed():
            return replace(run, prepare_failed=entry.reason)
        case journal.Starting():
            return replace(run, attempts=(*run.attempts, _announced(entry)), begun=True)
        case journal.Retrying():
            return replace(run, due_at=entry.due_at)
        case journal.Due():
            return replace(run, due_at=None, begun=False)
        case journal.Stopping():
            return replace(run, stop=entry)
        case journal.Finished():
            return replace(run, outcome=entry.outcome, reason=entry.reason, ended_by=entry.by, finished_at=entry.at)
        case journal.Noted(code=journal.UNDELIVERED):
            return replace(run, undelivered=True)
        case journal.Published():
            return replace(run, published=True)
        case _:
            return _attempt_told(run, entry)


def _announced(entry: journal.Starting) -> Attempt:
    return Attempt(
        number=entry.attempt, id=entry.id, session=entry.session, announced_at=entry.at, limit_s=entry.limit_s
    )


def _ended(attempt: Attempt, entry: journal.Exited) -> Attempt:
    began, ended = (entry.exit.started_at, entry.exit.ended_at) if entry.exit else (None, None)
    return replace(
        attempt,
        started_at=attempt.started_at or began,
        ended_at=ended or entry.at,
        exit=entry.exit,
        seen=entry.seen,
        why_gone=entry.why,
    )


def _attempt_told(run: Run, entry: AnyEntry) -> Run:
    if run.current is None:
        return run
    match entry:
        case journal.Launched():
            told = replace(run.current, boot_id=entry.boot_id, started_at=entry.started_at)
        case journal.FirstStep():
            told = replace(run.current, first_step_at=entry.at)
        case journal.Exited():
            told = _ended(run.current, entry)
        case _:
            return run
    return replace(run, attempts=(*run.attempts[:-1], told))
