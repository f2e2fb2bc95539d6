"""Whether a run is launched again: what `[exp_retry]` asks for, and what its mode allows by itself."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from enum import StrEnum

from msgspec import Struct

from ajet_inbox.core.blueprint import Blueprint, Mode
from ajet_inbox.core.fleet import Policy
from ajet_inbox.core.journal import Reason, Retrying
from ajet_inbox.core.run import Run

_NUMBER = re.compile(r"\d{1,3}")


class Ground(StrEnum):
    """Why another attempt is considered."""

    GONE = "gone"  # a reboot or a loss: the experiment is not known to be at fault
    FAILED = "failed"  # the command ended with an error


class Rule(Struct, frozen=True, kw_only=True):
    """What `[exp_retry]` allows: `failures` more attempts after errors; after a loss from a checkpoint, or anyhow."""

    failures: int = 0
    resume: bool = False
    safe: bool = False


def rule(blueprint: Blueprint) -> Rule:
    """The rule of a blueprint; without one, `resume` where a trainer resumes and nothing in generic mode."""
    text = (blueprint.retry or "").strip().lower()
    if not text:
        return Rule(resume=blueprint.mode is not Mode.GENERIC)
    words = text.split()
    numbers = [int(word) for word in words if _NUMBER.fullmatch(word)]
    return Rule(failures=max(numbers, default=0), resume="resume" in words, safe="safe" in words)


def again(run: Run, ground: Ground, policy: Policy, reason: Reason, now: datetime) -> Retrying | None:
    """The decision to launch once more, with a growing wait; None where it is not allowed or no time is left."""
    if not _allowed(run, ground, policy) or _time_is_up(run, now):
        return None
    wait = policy.backoff_s * 2 ** (len(run.attempts) - 1)
    return Retrying(at=now, due_at=now + timedelta(seconds=wait), reason=reason)


def _allowed(run: Run, ground: Ground, policy: Policy) -> bool:
    asked = rule(run.blueprint)
    made = len(run.attempts)
    if ground is Ground.FAILED:
        return made <= asked.failures
    checkpoint = run.attempt is not None and run.attempt.seen.checkpoint
    return made < policy.max_attempts and (asked.safe or made <= asked.failures or (asked.resume and checkpoint))


def _time_is_up(run: Run, now: datetime) -> bool:
    left = time_left(run, now)
    return left is not None and left <= 0


def time_left(run: Run, now: datetime) -> float | None:
    """Seconds left of exp_max_time, which counts from the first attempt's start; None without a limit."""
    if run.blueprint.max_time_s is None:
        return None
    if run.started_at is None:
        return run.blueprint.max_time_s
    return run.blueprint.max_time_s - (now - run.started_at).total_seconds()
