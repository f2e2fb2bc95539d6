"""Slots: sets of GPUs of one host, each running one run at a time."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec import Struct


class Slot(Struct, frozen=True, kw_only=True):
    """A place for one run. What occupies it is told by the runs, never written here, so the two cannot disagree."""

    name: str
    host: str
    gpus: tuple[str, ...] = ()
    down: str | None = None

    def holds(self, gpus: int) -> bool:
        """Whether a run that needs this many GPUs fits."""
        return len(self.gpus) >= gpus


def smallest(slots: Iterable[Slot], gpus: int) -> Slot | None:
    """The fitting slot that wastes the fewest GPUs; ties by the order given."""
    return min((slot for slot in slots if slot.holds(gpus)), key=lambda slot: len(slot.gpus), default=None)
