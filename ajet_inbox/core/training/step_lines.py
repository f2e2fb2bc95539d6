"""What counts as a training step on a console: verl's `step:N - key:value - ...`, or another trainer's line like it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Annotated, TypeAlias

from msgspec import Meta, Struct

from ajet_inbox.core.training.evals import Eval, evaluation
from ajet_inbox.core.training.literals import read_number

Mark: TypeAlias = Annotated[str, Meta(pattern=r"^[^\r\n]+$")]  # an empty one would be found everywhere, for ever


class StepPatterns(Struct, frozen=True, kw_only=True):
    """How a trainer writes a step. All are plain strings: no pattern of a user can make the reader hang.

    The line is `MARK N`, then `KEY ASSIGN VALUE` between separators. Of several names for a value the first one counts.
    """

    mark: Mark = "step:"
    separator: Mark = " - "
    assign: Mark = ":"
    training: tuple[str, ...] = ("actor/", "critic/", "training/")  # prefixes of what only a training step has
    kl_loss: tuple[str, ...] = ("actor/kl_loss",)
    reward: tuple[str, ...] = ("critic/score/mean", "critic/rewards/mean", "critic/real_reward")
    step_time: tuple[str, ...] = ("timing_s/step", "perf/time_per_step")
    must_be_finite: tuple[str, ...] = (
        "actor/kl_loss",
        "actor/pg_loss",
        "actor/loss",
        "actor/grad_norm",
        "critic/vf_loss",
        "critic/score/mean",
        "critic/rewards/mean",
    )


class StepSeen(Struct, frozen=True, kw_only=True):
    """A step's line. Values that are not finite are None, and named in `not_finite` where they should have been.

    `trained` tells a training step from a validation that is reported under the number of one: `step:0`, or a resumed
    run's `step:60`, hold no training metric. The first one trained is the run's first step (contract section 7).
    """

    step: int
    trained: bool
    kl_loss: float | None = None
    reward: float | None = None
    step_time_s: float | None = None
    not_finite: tuple[str, ...] = ()


def split_step(text: str, patterns: StepPatterns) -> tuple[int, dict[str, str]] | None:
    """The step's number and its fields, as text; None where the clean `text` is no step line."""
    at = text.find(patterns.mark)
    while at > 0 and (text[at - 1].isalnum() or text[at - 1] in "_/."):  # such as `training/global_step:5`
        at = text.find(patterns.mark, at + 1)
    if at < 0:
        return None
    number, *rest = text[at + len(patterns.mark) :].split(patterns.separator)
    pairs = (part.rpartition(patterns.assign) for part in rest)
    fields = {key.strip(): value.strip() for key, assign, value in pairs if assign}
    return (int(number), fields) if fields and number.isdecimal() and len(number) < 19 else None


def step_seen(step: int, fields: Mapping[str, str], patterns: StepPatterns) -> StepSeen:
    """The step's facts, of the fields of its line."""
    return StepSeen(
        step=step,
        trained=step >= 1 and any(key.startswith(patterns.training) for key in fields),
        kl_loss=_first(fields, patterns.kl_loss),
        reward=_first(fields, patterns.reward),
        step_time_s=_first(fields, patterns.step_time),
        not_finite=tuple(key for key in patterns.must_be_finite if key in fields and not _finite(fields[key])),
    )


def eval_of_step(step: int, fields: Mapping[str, str]) -> Eval | None:
    """The evaluation that AgentJet reports among a step's own values; None on most steps."""
    known = {key: value for key, value in fields.items() if "/" not in key}
    return evaluation(known, step=step) if known else None


def _first(fields: Mapping[str, str], names: tuple[str, ...]) -> float | None:
    found = next((fields[name] for name in names if name in fields), "")
    value = read_number(found)
    return value if value is not None and math.isfinite(value) else None


def _finite(text: str) -> bool:
    """Only a number that is not finite is a bad sign; a word in its place is none."""
    value = read_number(text)
    return value is None or math.isfinite(value)
