"""One evaluation of a policy, as every version of AgentJet writes it, under the names of the newest."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from itertools import takewhile

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.training.literals import Value, read_number

_RATE = "task_pass_rate@"
_PASS_SUFFIX = re.compile(r"\(pass@\w+\)$")
SUMMARY_MARK = "[EVAL @ step "
_SUMMARY = re.compile(rf"{re.escape(SUMMARY_MARK)}(\d{{1,18}})\]")
_SUMMARY_NAMES = {"n_tasks": "total_tasks"}


class Eval(Struct, frozen=True, kw_only=True):
    """What one validation found.

    `values` are its numbers by AgentJet's present names, such as `pass_n`, `task_pass_rate@1` and `mean_reward`.
    Rates are 0..1. `global_steps` is None where a console box was not followed by the step it belongs to.
    """

    global_steps: int | None
    dataset: str | None = None
    values: dict[str, float]

    @property
    def mean_reward(self) -> float | None:
        return self.values.get("mean_reward")

    @property
    def rates(self) -> dict[str, float]:
        """The pass rates, `task_pass_rate@1` and its like."""
        return {key: value for key, value in self.values.items() if key.startswith(_RATE)}

    @property
    def measured(self) -> frozenset[str]:
        """Names of what an evaluation is for: its pass rates and rewards."""
        return frozenset(key for key in self.values if key.startswith(_RATE) or key in ("mean_reward", "std_reward"))

    def as_dict(self) -> dict[str, str | float | None]:
        """The public form (contract section 5); what is not finite is None, since JSON has no word for it."""
        numbers = {key: value if math.isfinite(value) else None for key, value in self.values.items()}
        return {"dataset": self.dataset, "global_steps": self.global_steps, **numbers}


def evaluation(raw: Mapping[str, Value], *, step: int | None = None, dataset: str | None = None) -> Eval | None:
    """The evaluation in a record read from a file or a box; None where it holds no pass rate and no reward.

    What the record itself says of its step and dataset goes before `step` and `dataset`.
    """
    values: dict[str, float] = {}
    for raw_key, value in raw.items():
        key = _PASS_SUFFIX.sub("", raw_key.strip().replace(" ", "_")).replace("TGC@", _RATE)
        number = read_number(value) if isinstance(value, str) else value
        if key in ("target_dataset_name", "dataset") and isinstance(value, str):
            dataset = value
        elif isinstance(number, int | float):
            values[key] = number
    own_step = values.pop("global_steps", None)
    found = Eval(global_steps=step if own_step is None else as_step(own_step), dataset=dataset, values=values)
    return found if found.measured else None


def summary_line(line: str) -> Eval | None:
    """The evaluation in a client's `[EVAL @ step 10] LABEL  mean_reward=0.5  task_pass_rate@1=40.00% ...`."""
    found = _SUMMARY.search(line)
    if not found:
        return None
    words = line[found.end() :].split()
    label = " ".join(takewhile(lambda word: "=" not in word, words))
    pairs = (word.split("=", 1) for word in words if "=" in word)
    fields = {_SUMMARY_NAMES.get(key, key): value for key, value in pairs}
    return evaluation(fields, step=int(found[1]), dataset=label or None)


def as_step(value: Value) -> int | None:
    """`value` as the number of a step; None where it is none."""
    if isinstance(value, int | float) and math.isfinite(value) and value >= 0 and value == int(value):
        return int(value)
    return None


def timeline(evals: Iterable[Eval]) -> tuple[Eval, ...]:
    """The evaluations that belong to the last run, of those that a file kept from several.

    A file is only ever appended to. Where the steps of a dataset fall back, training began again there (at 0, or at a
    checkpoint): all that had been measured from that step on is of a run that was given up. Of a step measured twice
    the later counts.
    """
    kept: dict[tuple[int | None, str | None, int], Eval] = {}
    newest: dict[str | None, int] = {}
    for order, found in enumerate(evals):
        step = found.global_steps
        if step is not None:
            if step < newest.get(found.dataset, 0):
                kept = {key: e for key, e in kept.items() if e.global_steps is None or e.global_steps < step}
            newest[found.dataset] = step
        key = (step, found.dataset, order if step is None else 0)
        kept.pop(key, None)
        kept[key] = found
    return tuple(kept.values())


def at_step(found: Eval, step: int) -> Eval:
    """`found`, at `step` where it did not know its own."""
    return replace(found, global_steps=step) if found.global_steps is None else found
