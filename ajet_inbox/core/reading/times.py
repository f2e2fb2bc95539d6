"""How long a run may take, told from what else a section says of time."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator

from msgspec import Struct

from ajet_inbox.core.reading.durations import durations_in, parse_duration
from ajet_inbox.core.reading.entries import Entry
from ajet_inbox.core.reading.labels import Role
from ajet_inbox.core.reading.values import LONGEST_LINE


class Seconds(Struct, frozen=True, kw_only=True):
    """A duration and where it stands. `bare`: a number without a unit, read as hours."""

    value: float
    line: int
    bare: bool = False


class _Clause(Struct, frozen=True, kw_only=True):
    text: str
    line: int
    row: Entry
    first_step: bool


_FIRST = re.compile(
    r"first[\s_-]{0,3}(?:\w{1,20}\s{1,3})?(?:step|kl|loss|iteration|update)|first_step"
    r"|首步|首个|第一步|第一个|首次|首轮|kl[ _]loss",
    re.I,
)
_WHOLE = re.compile(
    r"\b(?:max\w*|total|overall|whole|entire|hard|run ?time|per run)\b|最长|最多|总|上限|整个|不超过|运行时间", re.I
)
_LIMIT = re.compile(
    r"\b(?:max\w*|limit|at most|no (?:more|longer)|not exceed|up to|upper|cap|hard|terminat\w*|kill\w*|within|"
    r"stop\w*|ended|bound)\b"
    r"|最长|最多|不超过|上限|强制|终止|以内|限制|最大",
    re.I,
)
_ESTIMATE = re.compile(
    r"\b(?:expect\w*|estimat\w*|typical\w*|usual\w*|about|around|roughly|approx\w*|probably|should take|normally)\b"
    r"|~|≈|预计|大约|大概|通常|一般|估计|左右",
    re.I,
)
_OTHER = re.compile(
    r"\b(?:instead of|rather than|previous\w*|last time|took|was|were|every|each \d|interval|checkpoint\w*|"
    r"save\w*|eval\w*|e\.g|example|"
    r"test_freq|warm-?up|sleep|poll\w*|than (?:the )?default)\b|每隔|每\s*\d|上次|之前|而不是|花了|间隔|等待",
    re.I,
)
_UNLIMITED = re.compile(r"\W*(?:unlimited|no limit|infinite|none|n/?a|不限|无限制?|没有限制|无)\b", re.I)
# Not within "1,440 minutes", nor before the second part of "1 day, 12 hours".
_CUT = re.compile(
    r"[;；。\n(（)）]|\s(?:#|//?|<!--|[-–—]+)\s|\.(?=\s|$)|[,，、](?!\d{3}\b)(?!\s*[\d.]+\s*\w+\s*$)|\b(?:and|with)\b(?=[^;,]{0,20}first)|[且并]",
    re.I,
)


def max_times(rows: Iterable[Entry]) -> list[Seconds]:
    """The limits that a section gives, those of the plainest kind only; several are in conflict."""
    tiers: defaultdict[int, list[tuple[_Clause, Seconds]]] = defaultdict(list)
    for clause in _clauses(rows):
        if not clause.first_step and not _OTHER.search(clause.text):
            tiers[_rank(clause)] += [(clause, s) for s in _durations(clause)]
    best = next((tiers[rank] for rank in sorted(tiers) if tiers[rank]), [])
    for pattern, wanted in ((_ESTIMATE, False), (_LIMIT, True)):
        best = [b for b in best if bool(pattern.search(b[0].row.label + b[0].text)) is wanted] or best
    return _distinct(s for _, s in best)


def first_steps(rows: Iterable[Entry]) -> list[Seconds]:
    """The times that a section gives for the first step, in notes too."""
    return _distinct(s for clause in _clauses(rows) if clause.first_step for s in _durations(clause) if not s.bare)


def is_unlimited(rows: Iterable[Entry]) -> bool:
    """Whether a section says that there is no limit."""
    return any(_UNLIMITED.match(row.lines[0]) for row in rows if row.role is not Role.ASIDE)


def _clauses(rows: Iterable[Entry]) -> Iterator[_Clause]:
    for row in rows:
        for n, line in enumerate(row.lines):
            first = bool(_FIRST.search(row.label))
            for text in _CUT.split(line[:LONGEST_LINE]):
                if _FIRST.search(text):
                    first = True
                elif _WHOLE.search(text):
                    first = False
                yield _Clause(text=text.strip(), line=row.line + n, row=row, first_step=first)


def _durations(clause: _Clause) -> list[Seconds]:
    found = [Seconds(value=value, line=clause.line) for value in durations_in(clause.text)]
    if not found and (hours := parse_duration(clause.text.strip("`*\"' "), bare_hours=True)):
        return [Seconds(value=hours, line=clause.line, bare=True)]
    return found


def _rank(clause: _Clause) -> int:
    match clause.row.role:
        case Role.ASIDE:
            return 5
        case Role.OTHER:
            return 3
        case _ if clause.row.title:
            return 4
        case Role.VALUE:
            return 1
    return 1 if parse_duration(clause.text.strip("`*\"' "), bare_hours=True) or _LIMIT.search(clause.text) else 2


def _distinct(found: Iterable[Seconds]) -> list[Seconds]:
    return list({s.value: s for s in reversed(list(found))}.values())[::-1]
