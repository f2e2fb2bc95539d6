"""What the world tells the core. Made by `app.observe` and by the acts of `app.perform`."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ajet_inbox.core.attempt import Exit
from ajet_inbox.core.blueprint import Problem
from ajet_inbox.core.journal import AnyEntry, Reason, Seen, StopCause, Submitted
from ajet_inbox.core.run import Run
from ajet_inbox.core.slots import Slot


class Tick(Struct, frozen=True, kw_only=True):
    """Time has passed."""


class SlotsSeen(Struct, frozen=True, kw_only=True):
    """The slots of this watcher, as they are now."""

    slots: tuple[Slot, ...]


class PauseSeen(Struct, frozen=True, kw_only=True):
    """Whether the queue of the home is paused."""

    paused: bool


class PeersSeen(Struct, frozen=True, kw_only=True):
    """The other hosts with a living watcher on this home."""

    hosts: tuple[str, ...]


class Arriving(Struct, frozen=True, kw_only=True):
    """Drops have been claimed together: none of them starts before all are judged, so that priority counts."""

    drop_ids: tuple[str, ...]


class DropRead(Struct, frozen=True, kw_only=True):
    """A claimed drop and everything that was found out about it. `world` are errors, `certain` those beyond doubt."""

    submitted: Submitted
    name: str
    world: tuple[Problem, ...] = ()
    certain: tuple[Problem, ...] = ()


class Delayed(Struct, frozen=True, kw_only=True):
    """A drop cannot be read now. It will be again; the others do not wait for it."""

    drop_id: str


class Admitted(Struct, frozen=True, kw_only=True):
    """The run folder of a drop stands."""

    drop_id: str
    run: Run


class AdmitFailed(Struct, frozen=True, kw_only=True):
    """The run folder could not be made; the drop stays in the intake."""

    drop_id: str


class Drafted(Struct, frozen=True, kw_only=True):
    """The draft of a dropped task stands in `place`, or never will: `trouble` says why.

    `dropped_as`: it was also submitted, by this name.
    """

    run: str
    place: str = ""
    trouble: Reason | None = None
    dropped_as: str | None = None


class Holder(StrEnum):
    """Who holds a run, as seen from this watcher."""

    NOBODY = "nobody"  # it waits for whoever can run it
    ME = "me"  # this very process
    DEAD = "dead"  # a watcher of this host that is gone: its runs are ours to adopt
    OTHER = "other"  # a watcher that lives, or whose life cannot be judged from here


class JournalRead(Struct, frozen=True, kw_only=True):
    """A run as its journal tells it now."""

    run: Run
    holder: Holder


class Vanished(Struct, frozen=True, kw_only=True):
    """The folder of a run is gone."""

    run: str


class Looked(Struct, frozen=True, kw_only=True):
    """What is wrong here with the paths of a queued run."""

    run: str
    world: tuple[Problem, ...] = ()
    certain: bool = False


class Taken(Struct, frozen=True, kw_only=True):
    """The claim is ours; `entries` hold the claim itself and what was written with it."""

    run: str
    entries: tuple[AnyEntry, ...]


class NotTaken(Struct, frozen=True, kw_only=True):
    """Somebody else was faster, or the claim could not be written."""

    run: str


class ActFailed(Struct, frozen=True, kw_only=True):
    """The world did not let an act on this run be done (a full disk, a mount gone); nothing after it was done."""

    run: str


class Prepared(Struct, frozen=True, kw_only=True):
    """The run's folder is ready."""

    run: str


class PrepareFailed(Struct, frozen=True, kw_only=True):
    """The run's folder could not be made ready."""

    run: str
    reason: Reason


class Launched(Struct, frozen=True, kw_only=True):
    """The attempt was seen to have begun."""

    run: str
    attempt: int
    pid: int
    boot_id: str
    started_at: datetime


class FirstStepSeen(Struct, frozen=True, kw_only=True):
    """The first training step of an attempt."""

    run: str
    attempt: int
    number: int
    source: str


class AttemptEnded(Struct, frozen=True, kw_only=True):
    """Nothing of the attempt lives any more. `exit` is None where nobody can know how it ended, `why` says so."""

    run: str
    attempt: int
    exit: Exit | None
    seen: Seen = Seen()
    why: str = ""


class StopDue(Struct, frozen=True, kw_only=True):
    """A policy found that an attempt is to be ended."""

    run: str
    attempt: int
    cause: StopCause
    reason: Reason


class PublishDone(Struct, frozen=True, kw_only=True):
    """finish.flag stands."""

    run: str


class PublishFailed(Struct, frozen=True, kw_only=True):
    """Results could not be written or, `undelivered` says why, not delivered; they will be tried again."""

    run: str
    undelivered: str | None = None


class Ask(StrEnum):
    """What a person or program may ask of a run."""

    CANCEL = "cancel"
    HOLD = "hold"
    RELEASE = "release"
    PRIORITIZE = "prioritize"
    LOST = "lost"


class Asked(Struct, frozen=True, kw_only=True):
    """A request of a person or program."""

    request_id: str
    run: str
    ask: Ask
    by: str
    reason: str = ""
    priority: int = 0


Event = (
    Tick
    | SlotsSeen
    | PauseSeen
    | PeersSeen
    | Arriving
    | DropRead
    | Delayed
    | Admitted
    | AdmitFailed
    | Drafted
    | JournalRead
    | Vanished
    | Looked
    | Taken
    | NotTaken
    | ActFailed
    | Prepared
    | PrepareFailed
    | Launched
    | FirstStepSeen
    | AttemptEnded
    | StopDue
    | PublishDone
    | PublishFailed
    | Asked
)
