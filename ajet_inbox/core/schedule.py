"""Who goes next: higher priority first, then order of arrival, ties by natural sort (contract, "Dropping")."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from ajet_inbox.core.drops import natural_key
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.lifecycle import Outcome, State
from ajet_inbox.core.run import Run
from ajet_inbox.core.slots import Slot, smallest

# What a run that waits for another may build on.
USABLE = frozenset({Outcome.SUCCEEDED, Outcome.PLATEAUED, Outcome.TIMED_OUT})


def queue(fleet: Fleet) -> list[Run]:
    """The queued runs in the order in which they go."""
    return sorted((r for r in fleet.runs.values() if r.state is State.QUEUED), key=_rank)


def _rank(run: Run) -> tuple[object, ...]:
    return (-run.priority, run.submitted_at, natural_key(run.name))


def assign(fleet: Fleet, now: datetime) -> Iterable[tuple[Run, Slot]]:
    """Which runs could go on which free slots now, one run a slot. None while drops are being judged, or paused."""
    if fleet.paused or fleet.arriving:
        return
    free = list(fleet.free_slots())
    for run in queue(fleet):
        if not free:
            return
        if _waits(fleet, run, now):
            continue
        slot = smallest(free, run.gpus)
        if slot is not None:
            free.remove(slot)
            yield run, slot


def _waits(fleet: Fleet, run: Run, now: datetime) -> bool:
    if run.name in fleet.looking or run.name in fleet.taking or pending_after(fleet, run) or is_elsewhere(fleet, run):
        return True
    blocked = fleet.blocked.get(run.name)
    return blocked is not None and now < blocked.again_at


def is_elsewhere(fleet: Fleet, run: Run) -> bool:
    """Whether the blueprint names another host (`[exp_host]`)."""
    return run.blueprint.host not in (None, fleet.me.host, fleet.me.host.partition(".")[0])


def pending_after(fleet: Fleet, run: Run) -> list[str]:
    """The runs that `run` still waits for."""
    return [name for name in run.drop.after if name not in fleet.settled]


def unknown_after(fleet: Fleet, run: Run) -> list[str]:
    """The runs that `run` waits for and that nobody has dropped, at least not yet."""
    return [name for name in run.drop.after if name not in fleet.settled and name not in fleet.runs]


def spoiled_after(fleet: Fleet, run: Run) -> list[str]:
    """The runs that `run` waited for in vain."""
    return [name for name in run.drop.after if name in fleet.settled and fleet.settled[name].outcome not in USABLE]


def fits_nowhere(fleet: Fleet, run: Run) -> bool:
    """Whether no slot of this watcher, free or not, holds the run's GPUs."""
    return not any(slot.holds(run.gpus) for slot in fleet.slots)
