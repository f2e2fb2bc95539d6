"""What the next experiment should know of the one before it, from its `result.json` (contract section 9)."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec
from msgspec import Struct

from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.drafting.phrases import say
from ajet_inbox.core.journal import Reason
from ajet_inbox.core.settings import Language

_ATTEMPTS = 5  # of more than that the last are told; the trial log has them all


class _Seen(Struct, frozen=True, kw_only=True):
    step: int | None = None
    total_steps: int | None = None


class _Attempt(Struct, frozen=True, kw_only=True):
    number: int
    end: str = ""
    end_detail: str | None = None
    seen: _Seen = _Seen()
    decision: Reason | None = None


class _Score(Struct, frozen=True, kw_only=True):
    measure: str
    first: float | None = None
    best: float | None = None
    best_step: int | None = None
    last: float | None = None


class _Table(Struct, frozen=True, kw_only=True):
    dataset: str | None = None
    scores: tuple[_Score, ...] = ()


class Result(Struct, frozen=True, kw_only=True):
    """The part of `result.json` that is told; whatever another version leaves out is empty here."""

    outcome: str | None = None
    reason: Reason | None = None
    attempts: tuple[_Attempt, ...] = ()
    scores: tuple[_Table, ...] = ()


class Parent(Struct, frozen=True, kw_only=True):
    """A finished run that the next experiment goes on from. Its paths are as they are here."""

    run: str
    blueprint: Blueprint
    result: Result
    trial_log: str


def read_result(data: bytes) -> Result | None:
    """What `result.json` tells; None where it is none."""
    try:
        return msgspec.json.decode(data, type=Result)
    except msgspec.MsgspecError:
        return None


def notes(parent: Parent, language: Language) -> Iterator[str]:
    """How it ended, what each attempt came to, and what its evaluations say."""
    name, result = parent.run, parent.result
    reason = result.reason.text if result.reason else None
    yield say("parent.end", language, parent=name, outcome=result.outcome, reason=reason)
    for attempt in result.attempts[-_ATTEMPTS:]:
        yield _attempt(attempt, name, language)
    scores = [_score(table, score, name, language) for table in result.scores for score in table.scores]
    yield from scores or [say("parent.scoreless", language, parent=name)]
    yield say("parent.files", language, trial_log=parent.trial_log)


def _attempt(attempt: _Attempt, parent: str, language: Language) -> str:
    told = attempt.end_detail or (attempt.decision.text if attempt.decision else None)
    return say(
        "parent.attempt",
        language,
        parent=parent,
        number=attempt.number,
        end=attempt.end,
        step=attempt.seen.step,
        total=attempt.seen.total_steps,
        decision=told,
    )


def _score(table: _Table, score: _Score, parent: str, language: Language) -> str:
    return say(
        "parent.score",
        language,
        parent=parent,
        dataset=table.dataset,
        measure=score.measure,
        first=_number(score.first),
        best=_number(score.best),
        step=score.best_step,
        last=_number(score.last),
    )


def _number(value: float | None) -> str | None:
    return None if value is None else f"{value:.4g}"
