"""A journal as a story: its moments, its chapters (one an attempt), and where the time went."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime

from msgspec import Struct

from ajet_inbox.core import journal
from ajet_inbox.core.journal import AnyEntry, Finished, Starting, Submitted
from ajet_inbox.core.lifecycle import State, advance


class Moment(Struct, frozen=True, kw_only=True):
    """Something that happened. `what` names a sentence of `words`, `about` holds what that sentence tells."""

    at: datetime
    what: str
    about: dict[str, object] = {}


def moments(entries: Iterable[AnyEntry]) -> Iterator[Moment]:
    """What a reader may want to know of a journal, in order, until the run is finished.

    Whoever takes over after that only publishes: the results read the same, whoever renders them and when.
    """
    for entry in entries:
        about = _about(entry)
        if about is not None:
            yield Moment(at=entry.at, what=str(entry.__struct_config__.tag), about=about)
        if isinstance(entry, Finished):
            return


def _about(entry: AnyEntry) -> dict[str, object] | None:
    match entry:
        case journal.Submitted():
            return {"name": entry.drop.name}
        case journal.Claimed(act="adopt"):
            return {"host": entry.owner.host}
        # Other claims are told by what is done with them.
        case journal.Claimed() | journal.Relinquished() | journal.Published():
            return None
        case journal.Prioritized():
            return {"priority": entry.priority, "by": entry.by}
        case journal.Held() | journal.Released():
            return {"by": entry.by}
        case journal.Allocated():
            return {"slot": entry.slot, "gpus": len(entry.gpus)}
        case journal.Yielded():
            return {"why": entry.why}
        case journal.PrepareFailed() | journal.Stopping():
            return {"why": entry.reason.text}
        case journal.Starting():
            return {"attempt": entry.attempt}
        case journal.FirstStep():
            return {"number": entry.number, "source": entry.source}
        case journal.Noted():
            return {"text": entry.text}
        case journal.Retrying():
            return {"due_at": entry.due_at, "why": entry.reason.text}
        case journal.Finished():
            return {"why": entry.reason.text}
        case _:
            return {}


def chapters(entries: Iterable[AnyEntry]) -> tuple[tuple[AnyEntry, ...], ...]:
    """The entries of each attempt, from its announcement to the next one's; what came before the first is left out."""
    told: list[list[AnyEntry]] = []
    for entry in entries:
        if isinstance(entry, Starting):
            told.append([])
        if told:
            told[-1].append(entry)
    return tuple(tuple(chapter) for chapter in told)


def time_in_states(entries: Iterable[AnyEntry]) -> dict[State, float | None]:
    """Seconds spent in each state that the run has left. None where a clock went back, so that nobody can tell."""
    spent: dict[State, float | None] = {}
    state, since = State.SUBMITTED, None
    for entry in entries:
        step = entry.via if isinstance(entry, Finished) else entry.step
        if isinstance(entry, Submitted):
            since = entry.at
        elif step is not None:
            spent[state] = total([spent.get(state, 0.0), seconds(since, entry.at)])
            state, since = advance(state, step), entry.at
    return spent


def seconds(begin: datetime | None, end: datetime | None) -> float | None:
    """The seconds between two times; None where one is not known or the clock went back."""
    if begin is None or end is None or end < begin:
        return None
    return (end - begin).total_seconds()


def total(parts: Iterable[float | None]) -> float | None:
    """The sum of `parts`; None where one is not known."""
    known = list(parts)
    return None if None in known else sum(part for part in known if part is not None)
