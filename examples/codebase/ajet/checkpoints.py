"""Checkpoints as verl lays them out: `global_step_N/` folders, and a file that names the newest complete one."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ajet.policy import Policy

TRACKER = "latest_checkpointed_iteration.txt"


def save(folder: Path, step: int, policy: Policy) -> Path:
    """Saves `policy`. The tracker is replaced last, so that it never names a half-written checkpoint."""
    target = folder / f"global_step_{step}" / "actor"
    target.mkdir(parents=True, exist_ok=True)
    np.save(target / "logits.npy", policy.logits)
    fresh = folder / f"{TRACKER}.tmp"
    fresh.write_text(str(step))
    fresh.replace(folder / TRACKER)
    return target.parent


def load(folder: Path, policy: Policy) -> int:
    """Fills `policy` from the newest checkpoint in `folder` and returns its step; 0 where there is none."""
    if not (folder / TRACKER).exists():
        return 0
    step = int((folder / TRACKER).read_text())
    policy.logits = np.load(folder / f"global_step_{step}" / "actor" / "logits.npy")
    return step
