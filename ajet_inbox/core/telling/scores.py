"""The evaluations of a run as tables: a dataset each, with what was gained over step 0."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable

from msgspec import Struct

from ajet_inbox.core.training.evals import Eval

_ROWS = 60  # more than that nobody reads in a page; metrics.csv has them all
_SPREAD = "std_reward"  # neither high nor low is best


class Row(Struct, frozen=True, kw_only=True):
    """One evaluation: its values in the order of the table's columns. None: not measured."""

    step: int | None
    values: tuple[float | None, ...]


class Score(Struct, frozen=True, kw_only=True):
    """What became of one measure. `gain` is the last value less that of step 0; None where one is not known."""

    measure: str
    first: float | None
    best: float | None
    best_step: int | None
    last: float | None
    gain: float | None


class ScoreTable(Struct, frozen=True, kw_only=True):
    """The evaluations on one dataset, in file order. `left_out`: how many of the earliest are not among `rows`."""

    dataset: str | None
    columns: tuple[str, ...]
    rows: tuple[Row, ...]
    left_out: int
    scores: tuple[Score, ...]


def score_tables(evals: Iterable[Eval]) -> tuple[ScoreTable, ...]:
    """A table for each dataset, in order of appearance."""
    by_dataset: dict[str | None, list[Eval]] = {}
    for found in evals:
        by_dataset.setdefault(found.dataset, []).append(found)
    return tuple(_table(dataset, found) for dataset, found in by_dataset.items())


def _table(dataset: str | None, evals: list[Eval]) -> ScoreTable:
    # A dict, not a set: what has no number stands in the order in which the trainer wrote it.
    named = dict.fromkeys(key for found in evals for key in found.values if key in found.measured)
    columns = tuple(sorted(named, key=_place))
    rows = tuple(Row(step=e.global_steps, values=tuple(e.values.get(c) for c in columns)) for e in evals)
    return ScoreTable(
        dataset=dataset,
        columns=columns,
        rows=rows[-_ROWS:],
        left_out=max(0, len(rows) - _ROWS),
        scores=tuple(_score(column, evals) for column in columns if column != _SPREAD),
    )


def _place(measure: str) -> tuple[float, str]:
    """Pass rates by their number of tries, then all else."""
    tries = re.search(r"@(\d+)(.*)", measure)
    return (int(tries[1]), tries[2]) if tries else (math.inf, "")


def _score(measure: str, evals: list[Eval]) -> Score:
    found = [(e.global_steps, v) for e in evals if (v := e.values.get(measure)) is not None and math.isfinite(v)]
    at_zero = next((value for step, value in found if step == 0), None)
    best_step, best = max(found, key=lambda pair: pair[1], default=(None, None))
    last = found[-1][1] if found else None
    return Score(
        measure=measure,
        first=found[0][1] if found else None,
        best=best,
        best_step=best_step,
        last=last,
        gain=last - at_zero if last is not None and at_zero is not None else None,
    )
