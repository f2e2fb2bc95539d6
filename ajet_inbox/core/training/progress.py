"""A console followed as a stream of bytes: steps, evaluations, phases, complaints, and how far the bars have come.

Memory stays flat whatever comes, and the same bytes give the same events however they are cut into pieces.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator

from ajet_inbox.core.training import bars, boxes
from ajet_inbox.core.training.bars import Bar, read_bar
from ajet_inbox.core.training.boxes import BoxReader
from ajet_inbox.core.training.console import clean, split_origin
from ajet_inbox.core.training.console_events import (
    AGENTJET,
    Complaint,
    ConsoleEvent,
    EvalSeen,
    Patterns,
    Phase,
    PhaseSeen,
    Severity,
)
from ajet_inbox.core.training.evals import SUMMARY_MARK, Eval, at_step, evaluation, summary_line
from ajet_inbox.core.training.step_lines import eval_of_step, split_step, step_seen

LINE_LIMIT = 64 * 1024  # bytes of a line that are looked at; real step lines have a few thousand
TEXT_LIMIT = 500  # characters of a complaint that are kept
MAX_BARS = 16
MAX_WAITING = 16  # boxes whose step has not been named yet


class Console:
    """One console, from its beginning or from any point of it.

    `feed` reports what finished lines tell. Bars are state rather than events: they are redrawn many times a second,
    on a line that may stay unfinished for hours, and only where they stand is of interest.
    """

    def __init__(self, patterns: Patterns = AGENTJET) -> None:
        self._patterns = patterns
        self._tail = b""
        self._bars: dict[str, Bar] = {}
        self._boxes = BoxReader()
        self._waiting: deque[Eval] = deque(maxlen=MAX_WAITING)
        self._phase: Phase | None = None
        self._complaints: Counter[Severity] = Counter()
        phases = (mark for mark, _ in patterns.phases)
        self._marks = _encode(patterns.step.mark, *bars.MARKS, *boxes.MARKS, SUMMARY_MARK, *phases)

    def feed(self, data: bytes) -> list[ConsoleEvent]:
        """Takes the next bytes and returns what the lines that they complete tell, in order."""
        whole, newline, rest = (self._tail + data).rpartition(b"\n")
        self._tail = _shown(rest)
        return [event for line in self._telling(whole + newline) for event in self._read(line)]

    @property
    def bars(self) -> tuple[Bar, ...]:
        """Where each bar stands, the one drawn last at the end."""
        pending = read_bar(split_origin(clean(_decode(self._tail)))[1])
        others = {label: bar for label, bar in self._bars.items() if not pending or label != pending.label}
        return (*others.values(), pending) if pending else tuple(others.values())

    @property
    def training_bar(self) -> Bar | None:
        """The bar of the training itself: its total is the planned number of steps."""
        return next((bar for bar in self.bars if bar.label == self._patterns.training_bar), None)

    @property
    def unplaced(self) -> tuple[Eval, ...]:
        """The evaluations whose step no line has named so far."""
        return tuple(self._waiting)

    def _telling(self, text: bytes) -> Iterator[str]:
        """The lines that hold a mark. Searching a whole chunk for each is far faster than reading every line."""
        spans: dict[int, int] = {}
        for mark in self._marks + self._complaint_marks():
            at = text.find(mark)
            while at >= 0:
                end = text.index(b"\n", at)
                spans[text.rfind(b"\n", 0, at) + 1] = end
                at = text.find(mark, end)
        for start, end in sorted(spans.items()):
            yield _decode(_shown(text[start:end]))

    def _complaint_marks(self) -> tuple[bytes, ...]:
        words = {Severity.ERROR: self._patterns.errors, Severity.WARNING: self._patterns.warnings}
        return _encode(*(word for severity in words if not self._sated(severity) for word in words[severity]))

    def _sated(self, severity: Severity) -> bool:
        return self._complaints[severity] >= self._patterns.max_complaints

    def _read(self, line: str) -> Iterator[ConsoleEvent]:
        # Marks are asked of the very line that was searched for them. One that cleaning brings to light would count or
        # not by the chance of another mark beside it.
        text = clean(line)
        if any(mark in line for mark in bars.MARKS) and (bar := read_bar(split_origin(text)[1])):
            self._keep_bar(bar)
        if self._patterns.step.mark in line and (step := split_step(text, self._patterns.step)):
            yield from self._step(*step)
        elif any(mark in line for mark in boxes.MARKS):
            self._box(text)
        elif SUMMARY_MARK in line and (found := summary_line(text)):
            yield EvalSeen(eval=found)
        else:
            for phase in (phase for mark, phase in self._patterns.phases if mark in line):
                yield from self._turn(phase)
            if severity := self._severity(line):
                yield from self._complaint(severity, text)

    def _keep_bar(self, bar: Bar) -> None:
        self._bars.pop(bar.label, None)
        self._bars[bar.label] = bar
        if len(self._bars) > MAX_BARS:
            del self._bars[next(iter(self._bars))]

    def _step(self, step: int, fields: dict[str, str]) -> Iterator[ConsoleEvent]:
        """A step's line also names the step of the boxes before it, and may hold the evaluation that they showed."""
        seen = step_seen(step, fields, self._patterns.step)
        found = [at_step(waiting, step) for waiting in self._waiting]
        self._waiting.clear()
        if not found and (own := eval_of_step(step, fields)):
            found = [own]
        yield from (EvalSeen(eval=e) for e in found)
        yield seen
        if seen.trained:
            yield from self._turn(Phase.TRAINING)

    def _box(self, text: str) -> None:
        if (box := self._boxes.feed(text)) and (found := evaluation(box[1], dataset=box[0])):
            self._waiting.append(found)

    def _turn(self, phase: Phase) -> Iterator[PhaseSeen]:
        if phase is not self._phase:
            self._phase = phase
            yield PhaseSeen(phase=phase)

    def _severity(self, line: str) -> Severity | None:
        if any(word in line for word in self._patterns.errors):
            return Severity.ERROR
        return Severity.WARNING if any(word in line for word in self._patterns.warnings) else None

    def _complaint(self, severity: Severity, text: str) -> Iterator[Complaint]:
        if not self._sated(severity):
            self._complaints[severity] += 1
            origin, said = split_origin(text)
            yield Complaint(severity=severity, origin=origin, text=said[:TEXT_LIMIT])


def _encode(*marks: str) -> tuple[bytes, ...]:
    return tuple(mark.encode() for mark in marks)


def _decode(line: bytes) -> str:
    return line.decode(errors="replace")


def _shown(line: bytes) -> bytes:
    """What a terminal still shows of `line`, up to the limit; a \\r at its end stays, for the next bytes to obey."""
    body = line.rstrip(b"\r")
    return body[body.rfind(b"\r") + 1 :][:LINE_LIMIT] + line[len(body) :][:1]
