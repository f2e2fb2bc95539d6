"""What an experiment measured: its validation file in each form it has had, and its training file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from enum import StrEnum

from msgspec import Struct

from ajet_inbox.core.training.boxes import BoxReader
from ajet_inbox.core.training.console import clean
from ajet_inbox.core.training.evals import Eval, as_step, at_step, evaluation, summary_line, timeline
from ajet_inbox.core.training.literals import Value, read_dict

_HEADING = re.compile(r"^#{1,6}[ \t]*Step[ \t]+(\d{1,18})[ \t]*(?:\(([^)\n]*)\))?.*$", re.MULTILINE)
_BULLET = re.compile(r"^[ \t]*+[-*][ \t]([^:\n]++):([^\n]++)\n", re.MULTILINE)
_STEP = re.compile(r"\bstep:(\d{1,18})\b")
_TRAIN_STEP = "training/global_step"


class Format(StrEnum):
    """How the evaluations of a file are written."""

    CLASSIC = "classic"  # one `str(dict)` a line
    SWARM = "swarm"  # a `## Step N` block, or an `[EVAL @ step N]` line, for each
    BOX = "box"  # tables on a console, of versions that wrote no file
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
    for form, read in ((Format.CLASSIC, _classic), (Format.SWARM, _swarm), (Format.BOX, _boxes)):
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
    if not headings:
        yield from filter(None, map(summary_line, text.split("\n")))


def _boxes(text: str) -> Iterator[Eval]:
    """A box is drawn while its step still runs: the step is named by the next `step:N` line."""
    boxes, waiting = BoxReader(), list[Eval]()
    for raw in text.split("\n"):
        line = clean(raw)
        if box := boxes.feed(line):
            waiting += filter(None, [evaluation(box[1], dataset=box[0])])
        elif named := _STEP.search(line):
            yield from (at_step(e, int(named[1])) for e in waiting)
            waiting = []
    yield from waiting
