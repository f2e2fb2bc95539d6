"""What one watcher knows of its home: its slots, the runs that are not settled, and how the others ended."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.journal import Owner, Submitted
from ajet_inbox.core.lifecycle import OCCUPYING, Outcome
from ajet_inbox.core.run import Run
from ajet_inbox.core.slots import Slot

V = TypeVar("V")


class Policy(Struct, frozen=True, kw_only=True):
    """The settings that decisions depend on; durations in seconds."""

    world_wait_s: float = 1800.0
    look_again_s: float = 10.0
    max_attempts: int = 3
    backoff_s: float = 10.0
    publish_again_s: float = 10.0


class Blocked(Struct, frozen=True, kw_only=True):
    """Why a queued run cannot start here, since when it has been due, and when to look again."""

    code: str
    why: str
    since: datetime
    again_at: datetime


class Ended(Struct, frozen=True, kw_only=True):
    """What has to be remembered of a settled run."""

    outcome: Outcome
    key: str | None


class Fleet(Struct, frozen=True, kw_only=True):
    """The whole knowledge of a watcher, and what it is doing at this moment, so that nothing is done twice.

    `peers`: other hosts with a living watcher. `arriving`: drops claimed together and not all judged yet.
    `admitting`: accepted drops on their way to a run folder, by drop id. `looking`: runs whose paths are being looked
    at, with the slot kept for them. `taking`: runs being claimed, with the slot where they are claimed for one.
    `blocked`: why a queued run cannot start here. `publish_at`: when to try again to write results.
    """

    me: Owner
    policy: Policy = Policy()
    slots: tuple[Slot, ...] = ()
    runs: dict[str, Run] = {}
    settled: dict[str, Ended] = {}
    paused: bool = False
    peers: tuple[str, ...] = ()
    arriving: frozenset[str] = frozenset()
    admitting: dict[str, Submitted] = {}
    looking: dict[str, str] = {}
    taking: dict[str, str | None] = {}
    blocked: dict[str, Blocked] = {}
    publish_at: dict[str, datetime] = {}

    def mine(self, run: Run) -> bool:
        """Whether this watcher holds the run's claim."""
        return run.holder == self.me

    def occupied(self) -> dict[str, str]:
        """The run on each slot of this host that has one, or is about to have one.

        A run of a watcher that died here keeps its slot: its experiment may live.
        """
        here = (run for run in self.runs.values() if run.holder and run.holder.host == self.me.host)
        held = {run.slot: run.name for run in here if run.slot and run.state in OCCUPYING}
        kept = {slot: name for name, slot in (*self.looking.items(), *self.taking.items()) if slot}
        return kept | held

    def free_slots(self) -> tuple[Slot, ...]:
        """The slots that could take a run now."""
        occupied = self.occupied()
        return tuple(slot for slot in self.slots if slot.down is None and slot.name not in occupied)


def with_run(fleet: Fleet, run: Run) -> Fleet:
    """`fleet` knowing `run` as it is now; a settled one is remembered by its end only."""
    if run.settled and run.outcome is not None:
        fleet = replace(fleet, settled={**fleet.settled, run.name: Ended(outcome=run.outcome, key=run.drop.key)})
        return without(fleet, run.name)
    return replace(fleet, runs={**fleet.runs, run.name: run})


def without(fleet: Fleet, name: str) -> Fleet:
    """`fleet` without a run and all that was going on with it."""
    return replace(
        fleet,
        runs=less(fleet.runs, name),
        looking=less(fleet.looking, name),
        taking=less(fleet.taking, name),
        blocked=less(fleet.blocked, name),
        publish_at=less(fleet.publish_at, name),
    )


def unblocked(fleet: Fleet, name: str) -> Fleet:
    """`fleet` with nothing known that keeps the run waiting."""
    return replace(fleet, blocked=less(fleet.blocked, name)) if name in fleet.blocked else fleet


def next_due(fleet: Fleet) -> datetime | None:
    """When something becomes due by the clock alone."""
    return min(_dues(fleet), default=None)


def _dues(fleet: Fleet) -> Iterable[datetime]:
    yield from (run.due_at for run in fleet.runs.values() if run.due_at and fleet.mine(run))
    yield from (blocked.again_at for blocked in fleet.blocked.values())
    yield from fleet.publish_at.values()


def less(table: dict[str, V], name: str) -> dict[str, V]:
    """`table` without `name`."""
    return {key: value for key, value in table.items() if key != name}
