"""The attempts of a run, each with what was seen of it, how it ended, what was decided and why."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

from ajet_inbox.core.attempt import CONSOLE, Cause, Exit, Stage
from ajet_inbox.core.journal import AnyEntry, Finished, Noted, Reason, Retrying, Seen, Stopping
from ajet_inbox.core.paths import RunPaths
from ajet_inbox.core.run import Attempt, Run
from ajet_inbox.core.telling.snapshot import exit_code
from ajet_inbox.core.telling.story import chapters, seconds


class End(StrEnum):
    """How an attempt came to its end."""

    GOING = "going"  # it has not, as far as the journal tells
    EXIT = "exit"  # by itself, with an exit code
    SIGNAL = "signal"  # by a signal that nobody here sent
    MAX_TIME = "max_time"  # ended at its time limit
    STOPPED = "stopped"  # ended because somebody or a policy asked
    PREPARE = "prepare"  # its prepare command failed, so the command was not run
    NOT_STARTED = "not_started"  # the command never began
    UNKNOWN = "unknown"  # nobody can know any more


class Trial(Struct, frozen=True, kw_only=True):
    """One attempt: what was seen of it, how it ended, what was decided and why. Durations in seconds.

    `exit_code` is -N where signal N ended the command. `again_at`: when the next attempt was due, if one was decided.
    """

    number: int
    session: str
    announced_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    running_s: float | None
    first_step_s: float | None
    seen: Seen
    end: End
    exit_code: int | None
    end_detail: str | None
    stop: Stopping | None
    leftovers: tuple[str, ...]
    notes: tuple[str, ...]
    decision: Reason | None
    again_at: datetime | None
    console: str

    @property
    def lacking(self) -> str:
        """The word for what there is not of it."""
        return _LACKING.get(self.end, "unknown")


_LACKING = {End.GOING: "not_yet", End.NOT_STARTED: "never"}


def trials(run: Run, entries: Iterable[AnyEntry], paths: RunPaths) -> tuple[Trial, ...]:
    """The attempts of a run, told by its whole journal."""
    told = zip(run.attempts, chapters(entries), strict=True)
    return tuple(_trial(run, attempt, chapter, paths) for attempt, chapter in told)


def _trial(run: Run, attempt: Attempt, chapter: Sequence[AnyEntry], paths: RunPaths) -> Trial:
    stop = next((entry for entry in chapter if isinstance(entry, Stopping)), None)
    decided = next((entry for entry in chapter if isinstance(entry, Retrying | Finished)), None)
    return Trial(
        number=attempt.number,
        session=attempt.session,
        announced_at=attempt.announced_at,
        started_at=attempt.started_at,
        ended_at=attempt.ended_at,
        running_s=seconds(attempt.started_at, attempt.ended_at),
        first_step_s=seconds(attempt.started_at, attempt.first_step_at),
        seen=attempt.seen,
        end=_end(attempt.exit) if run.outcome or attempt.ended_at else End.GOING,
        exit_code=exit_code(attempt),
        end_detail=_end_detail(attempt),
        stop=stop,
        leftovers=_leftovers(attempt.exit),
        notes=tuple(entry.text for entry in chapter if isinstance(entry, Noted)),
        decision=decided.reason if decided else None,
        again_at=decided.due_at if isinstance(decided, Retrying) else None,
        console=str(paths.attempt(attempt.number) / CONSOLE),
    )


_BY_CAUSE = {Cause.MAX_TIME: End.MAX_TIME, Cause.STOPPED: End.STOPPED, Cause.NOT_STARTED: End.NOT_STARTED}


def _end(exit_: Exit | None) -> End:
    if exit_ is None:
        return End.UNKNOWN
    if exit_.cause is not None:
        return _BY_CAUSE[exit_.cause]
    if exit_.signal is not None:
        return End.SIGNAL
    if exit_.exit_code is None:
        return End.UNKNOWN
    return End.PREPARE if exit_.stage is Stage.PREPARE else End.EXIT


def _end_detail(attempt: Attempt) -> str | None:
    told = (attempt.exit.error, attempt.exit.stop_reason) if attempt.exit else ()
    return next((text for text in (*told, attempt.why_gone) if text), None)


def _leftovers(exit_: Exit | None) -> tuple[str, ...]:
    """The processes that outlived the command; those that could not be ended hold their GPUs still."""
    found = (*exit_.leftovers, *exit_.unkillable) if exit_ else ()
    return tuple(f"{process.name} ({process.pid}): {process.fate}" for process in found)
