"""What an experiment measured: its validation file in each form it has had, and its training file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from ajet_inbox.core.training import boxes
from ajet_inbox.core.training.console_events import EvalSeen
from ajet_inbox.core.training.evals import SUMMARY_MARK, Eval, as_step, evaluation, timeline
from ajet_inbox.core.training.literals import Value, read_dict
from ajet_inbox.core.training.progress import Console

_HEADING = re.compile(r"^#{1,6}[ \t]*Step[ \t]+(\d{1,18})[ \t]*(?:\(([^)\n]*)\))?.*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*+[-*][ \t]([^:\n]++):([^\n]++)\n", re.MULTILINE)
_TRAIN_STEP = "training/global_step"
_PIECE = 1 << 20  # characters of a console that are looked at together


class Format(StrEnum):
    """How the evaluations of a file are written."""

    CLASSIC = "classic"  # one `str(dict)` a line
    SWARM = "swarm"  # a `## Step N` block, or an `[EVAL @ step N]` line, for each
    BOX = "box"  # tables on a console, of versions that wrote no file
    CONSOLE = "console"  # among the values of a console's `step:N` lines
    NONE = "none"  # none found


class Metrics(Struct, frozen=True, kw_only=True):
    """The evaluations of the last run in a file, in file order."""

    format: Format
    evals: tuple[Eval, ...] = ()

    def as_dict(self) -> dict[str, object]:
        """The public form (contract section 5)."""
        return {"format": self.format.value, "evals": [e.as_dict() for e in self.evals]}


def read_metrics(text: str) -> Metrics:
    """The evaluations in `text`, a validation file or a console log; a torn last block is left out.

    Time is linear in the length of `text`. A file too large for memory is the caller's matter: its tail will do.
    """
    for form, read in ((Format.CLASSIC, _classic), (Format.SWARM, _swarm), (_console_form(text), _console)):
        if found := timeline(read(text)):
            return Metrics(format=form, evals=found)
    return Metrics(format=Format.NONE)


def read_train_steps(text: str) -> tuple[tuple[int, dict[str, float]], ...]:
    """(global step, its numbers) for each line of a training file, of the last run in it."""
    rows: dict[int, dict[str, float]] = {}
    for record in _dicts(text, _TRAIN_STEP):
        step = as_step(record.get(_TRAIN_STEP))
        if step is None:
            continue
        while rows and next(reversed(rows)) >= step:
            rows.popitem()
        rows[step] = {key: value for key, value in record.items() if isinstance(value, int | float)}
    return tuple(rows.items())


def _dicts(text: str, needed: str) -> Iterator[dict[str, Value]]:
    """Every whole `str(dict)` line that names `needed`."""
    for line in text.split("\n"):
        if needed not in line or "{" not in line:
            continue
        # A writer that was killed leaves half a line, and the next run's first dict follows on the same one.
        record = read_dict(line[line.index("{") :]) or read_dict(line[line.rindex("{'") :] if "{'" in line else "")
        if record is not None:
            yield record


def _classic(text: str) -> Iterator[Eval]:
    for record in _dicts(text, "global_steps"):
        if (found := evaluation(record)) and found.global_steps is not None:
            yield found


def _swarm(text: str) -> Iterator[Eval]:
    """Blocks with nothing measured are left out, and the last one if it lacks what the one before it has."""
    headings = list(_HEADING.finditer(text))
    ends = [*(heading.start() for heading in headings[1:]), len(text)]
    before: Eval | None = None
    for heading, end in zip(headings, ends, strict=False):
        fields = {key.strip(): value.strip() for key, value in _BULLET.findall(text, heading.end(), end)}
        found = evaluation(fields, step=int(heading[1]), dataset=heading[2])
        if found and (end < len(text) or before is None or found.measured >= before.measured):
            yield found
            before = found


def _console_form(text: str) -> Format:
    if SUMMARY_MARK in text:
        return Format.SWARM
    return Format.BOX if boxes.CLOSING in text else Format.CONSOLE


def _console(text: str) -> Iterator[Eval]:
    """What was seen on a console while it ran is found in it afterwards: it is the same reader."""
    console = Console()
    for start in range(0, len(text), _PIECE):
        events = console.feed(text[start : start + _PIECE].encode(errors="replace"))
        yield from (event.eval for event in events if isinstance(event, EvalSeen))
    yield from console.unplaced
