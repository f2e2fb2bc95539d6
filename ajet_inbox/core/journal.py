"""The journal of a run: one entry a line, the only record; everything else is derived from it.

An entry is written *before* the act it announces and after the fact it records. `journal/N.jsonl` is the Nth claim of
the run: its first line says who holds it and how many bytes of each earlier segment count, so that a holder that was
thought dead and writes again changes nothing. The newest segment *is* the claim; there is no second place to disagree.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from enum import StrEnum
from typing import ClassVar

import msgspec
from msgspec import Struct

from ajet_inbox.core.attempt import Exit
from ajet_inbox.core.blueprint import Blueprint, Problem
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.lifecycle import Outcome, Step

SCHEMA = 1
UNDELIVERED = "undelivered"  # the note that results have not reached exp_result_dir


class Owner(Struct, frozen=True, kw_only=True):
    """A watcher process, told apart from every other on any host, in any container, before and after a reboot."""

    host: str
    boot_id: str
    pid_ns: int
    pid: int
    started: int  # ticks after boot, as in /proc/PID/stat: a pid alone comes round again
    nonce: str


class Reason(Struct, frozen=True, kw_only=True):
    """Why: a stable snake_case code for programs, one sentence for people."""

    code: str
    text: str


class StopCause(StrEnum):
    """The only reasons for which a running experiment is ended (contract, "The promise")."""

    CANCELLED = "cancelled"  # somebody asked
    MAX_TIME = "max_time"  # exp_max_time is over
    FIRST_STEP = "first_step"  # no first step within its limit
    PLATEAU = "plateau"  # its metrics no longer move
    STALL = "stall"  # nothing moves and the GPUs are idle
    NAN = "nan"  # loss or gradient stay nan
    SERVICE = "service"  # its own service died


class Drop(Struct, frozen=True, kw_only=True):
    """What was dropped, as claimed: the bytes with this hash are what is checked, run and kept."""

    id: str
    name: str
    kind: DropKind
    sha256: str | None = None
    key: str | None = None
    priority: int = 0
    after: tuple[str, ...] = ()
    retry_of: str | None = None
    replaces: str | None = None


class Seen(Struct, frozen=True, kw_only=True):
    """What an attempt was seen to do, as far as anything could be seen. Steps count from 1.

    `first_step` is the first training step seen: more than 1 where the trainer resumed a checkpoint.
    """

    observable: bool = False
    first_step: int | None = None
    step: int | None = None
    total_steps: int | None = None
    evals: int = 0
    last_eval_step: int | None = None
    nan_steps: int = 0
    checkpoint: bool = False


class Entry(Struct, frozen=True, kw_only=True, tag_field="event"):
    """One line. `step` is the move in the life cycle that the entry records, if any."""

    step: ClassVar[Step | None] = None
    at: datetime


class Claimed(Entry, frozen=True, kw_only=True, tag="claimed"):
    """First line of a segment. `counts`: valid bytes of each earlier segment, by its number."""

    schema: int = SCHEMA
    owner: Owner
    act: str
    counts: dict[str, int] = {}


class Relinquished(Entry, frozen=True, kw_only=True, tag="relinquished"):
    """Last line of a segment whose holder is done; the run belongs to nobody."""


class Submitted(Entry, frozen=True, kw_only=True, tag="submitted"):
    """The drop, what was read in it and what is doubtful about it.

    `result_dir` is where results are delivered: None where that is unknown, or a folder that the drop brought with it.
    """

    drop: Drop
    blueprint: Blueprint
    problems: tuple[Problem, ...] = ()
    gpus: int = 0
    result_dir: str | None = None


class Accepted(Entry, frozen=True, kw_only=True, tag="accepted"):
    """It may run."""

    step: ClassVar[Step | None] = Step.ACCEPT


class Prioritized(Entry, frozen=True, kw_only=True, tag="prioritized"):
    """Somebody moved it in the queue."""

    priority: int
    by: str


class Held(Entry, frozen=True, kw_only=True, tag="held"):
    """Taken out of the queue."""

    step: ClassVar[Step | None] = Step.HOLD
    by: str


class Released(Entry, frozen=True, kw_only=True, tag="released"):
    """Put back into the queue."""

    step: ClassVar[Step | None] = Step.RELEASE
    by: str


class Allocated(Entry, frozen=True, kw_only=True, tag="allocated"):
    """It has a slot of the claim's owner, with these GPUs."""

    step: ClassVar[Step | None] = Step.ALLOCATE
    slot: str
    gpus: tuple[str, ...] = ()


class Yielded(Entry, frozen=True, kw_only=True, tag="yielded"):
    """The slot turned out not to be free; the run is queued again."""

    step: ClassVar[Step | None] = Step.YIELD
    why: str


class PrepareFailed(Entry, frozen=True, kw_only=True, tag="prepare_failed"):
    """Its folder could not be made ready."""

    step: ClassVar[Step | None] = Step.FAIL
    reason: Reason


class Starting(Entry, frozen=True, kw_only=True, tag="starting"):
    """An attempt is about to be launched under this id: it is launched at most once, whatever crashes after this."""

    step: ClassVar[Step | None] = Step.READY
    attempt: int
    id: str
    session: str
    limit_s: float | None = None


class Launched(Entry, frozen=True, kw_only=True, tag="launched"):
    """The supervisor of the attempt was seen alive."""

    step: ClassVar[Step | None] = Step.LAUNCH
    pid: int
    boot_id: str
    started_at: datetime


class FirstStep(Entry, frozen=True, kw_only=True, tag="first_step"):
    """The first training step was seen; `source` says where."""

    number: int
    source: str


class Noted(Entry, frozen=True, kw_only=True, tag="noted"):
    """Something a reader of the trial log should know."""

    code: str
    text: str


class Stopping(Entry, frozen=True, kw_only=True, tag="stopping"):
    """It is being ended, for this reason."""

    step: ClassVar[Step | None] = Step.STOP
    cause: StopCause
    reason: Reason
    by: str | None = None


class Exited(Entry, frozen=True, kw_only=True, tag="exited"):
    """Nothing of the attempt lives any more. `exit` is None where nobody can know how it ended."""

    step: ClassVar[Step | None] = Step.EXIT
    exit: Exit | None = None
    seen: Seen = Seen()
    why: str = ""


class Retrying(Entry, frozen=True, kw_only=True, tag="retrying"):
    """A new attempt follows, not before `due_at`."""

    step: ClassVar[Step | None] = Step.RETRY
    due_at: datetime
    reason: Reason


class Due(Entry, frozen=True, kw_only=True, tag="due"):
    """The wait before the next attempt is over."""

    step: ClassVar[Step | None] = Step.DUE


class Silenced(Entry, frozen=True, kw_only=True, tag="silenced"):
    """The host of a started run fell silent. Nothing is known, nothing is done."""

    step: ClassVar[Step | None] = Step.SILENCE


class Returned(Entry, frozen=True, kw_only=True, tag="returned"):
    """The host is back and the attempt lives."""

    step: ClassVar[Step | None] = Step.RETURN


class Finished(Entry, frozen=True, kw_only=True, tag="finished"):
    """How it ended and why; `via` is the step that the life cycle takes."""

    via: Step
    outcome: Outcome
    reason: Reason
    by: str | None = None


class Published(Entry, frozen=True, kw_only=True, tag="published"):
    """Results are delivered and finish.flag stands."""


AnyEntry = (
    Claimed
    | Relinquished
    | Submitted
    | Accepted
    | Prioritized
    | Held
    | Released
    | Allocated
    | Yielded
    | PrepareFailed
    | Starting
    | Launched
    | FirstStep
    | Noted
    | Stopping
    | Exited
    | Retrying
    | Due
    | Silenced
    | Returned
    | Finished
    | Published
)

_encoder = msgspec.json.Encoder()
_decoder: msgspec.json.Decoder[AnyEntry] = msgspec.json.Decoder(AnyEntry)


class Unreadable(Exception):
    """A complete journal line is not an entry this version knows; a newer version may have written it."""


def encode(entries: Iterable[AnyEntry]) -> bytes:
    """The lines of `entries`, each ended by a newline."""
    return b"".join(_encoder.encode(entry) + b"\n" for entry in entries)


def decode(segment: bytes) -> tuple[AnyEntry, ...]:
    """The entries of one segment. A torn last line, left by a crash, was never durable and does not count.

    Raises:
        Unreadable: a complete line is no known entry.
    """
    return tuple(entry for line in segment.split(b"\n")[:-1] if (entry := _decode_line(line)) is not None)


def _decode_line(line: bytes) -> AnyEntry | None:
    if not line.strip():
        return None
    try:
        return _decoder.decode(line)
    except msgspec.ValidationError as error:
        raise Unreadable(f"{error}: {line[:200].decode(errors='replace')}") from error
    except msgspec.DecodeError:
        # A line that is not JSON is the rest of a write that a crash tore; the next holder began a new line after it.
        return None


def join(segments: dict[int, bytes]) -> tuple[AnyEntry, ...]:
    """The journal of a run from its segments by number: of each, only the bytes that the last holder counted.

    Raises:
        Unreadable: as `decode`.
    """
    numbers = sorted(segments)
    if not numbers:
        return ()
    last = decode(segments[numbers[-1]])
    counts = last[0].counts if last and isinstance(last[0], Claimed) else {}
    earlier = [entry for n in numbers[:-1] for entry in decode(segments[n][: counts.get(str(n), len(segments[n]))])]
    return (*earlier, *last)
