"""What the core asks the world to do. Each is performed by one function of `app.perform`."""

from __future__ import annotations

from msgspec import Struct

from ajet_inbox.core.journal import AnyEntry, StopCause


class Admit(Struct, frozen=True, kw_only=True):
    """Turn a claimed drop into the run folder `name` (or the next free name), with these first entries."""

    drop_id: str
    name: str
    entries: tuple[AnyEntry, ...]
    rejected_for: str | None = None


class Look(Struct, frozen=True, kw_only=True):
    """See whether the paths of a queued run exist here, now."""

    run: str


class Take(Struct, frozen=True, kw_only=True):
    """Claim a run that belongs to nobody, or to a dead watcher, and write the first entries of the claim with it."""

    run: str
    epoch: int
    act: str
    entries: tuple[AnyEntry, ...]


class Record(Struct, frozen=True, kw_only=True):
    """Make these entries durable, in the segment of the claim with this number, before anything that follows."""

    run: str
    epoch: int
    entries: tuple[AnyEntry, ...]


class Draft(Struct, frozen=True, kw_only=True):
    """Draft a blueprint from the task that was dropped; what an earlier try left is made anew."""

    run: str


class Prepare(Struct, frozen=True, kw_only=True):
    """Make the run's folder ready for an attempt."""

    run: str


class Launch(Struct, frozen=True, kw_only=True):
    """Start the newest attempt, unless it was started already."""

    run: str


class Watch(Struct, frozen=True, kw_only=True):
    """Follow the newest attempt to its end, whoever started it."""

    run: str


class Halt(Struct, frozen=True, kw_only=True):
    """End the newest attempt. Never waits for a journal."""

    run: str
    cause: StopCause
    text: str


class Publish(Struct, frozen=True, kw_only=True):
    """Render and deliver the results, then finish.flag, and close the terminal sessions."""

    run: str


class CleanUp(Struct, frozen=True, kw_only=True):
    """Let go of what is held open for a run that is finished and published."""

    run: str


class Reload(Struct, frozen=True, kw_only=True):
    """Read the journal of a run again: it is not what we thought."""

    run: str


class Answered(Struct, frozen=True, kw_only=True):
    """A request has been dealt with and goes away, after what was decided about its run is durable."""

    run: str
    request_id: str


Effect = Admit | Look | Take | Record | Draft | Prepare | Launch | Watch | Halt | Publish | CleanUp | Reload | Answered
