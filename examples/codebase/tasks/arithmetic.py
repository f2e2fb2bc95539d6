"""Single-digit addition: 100 tasks, of which the policy knows only the number, and 19 possible answers."""

from __future__ import annotations

import numpy as np


class Addition:
    """Task 10a + b asks for a + b. Nothing tells the policy so but the reward."""

    tasks, answers = 100, 19

    def reward(self, tasks: np.ndarray, answers: np.ndarray) -> np.ndarray:
        """1.0 for the right sum, else 0.0."""
        return (tasks // 10 + tasks % 10 == answers).astype(float)
