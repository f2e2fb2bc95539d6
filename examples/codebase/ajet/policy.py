"""A tabular softmax policy, a row of logits for each task, and its GRPO update."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Hyper:
    """Settings of one GRPO update."""

    lr: float
    ppo_epochs: int
    clip: float
    kl_coef: float


def log_softmax(logits: np.ndarray) -> np.ndarray:
    shifted = logits - logits.max(axis=1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))


def group_advantages(rewards: np.ndarray, repeat: int) -> np.ndarray:
    """Each reward against the others of its task: (r - mean) / std within groups of `repeat`."""
    groups = rewards.reshape(-1, repeat)
    spread = groups.std(axis=1, keepdims=True)
    return ((groups - groups.mean(axis=1, keepdims=True)) / (spread + 1e-6)).ravel()


class Policy:
    """Logits, (tasks, answers); at the start every answer is as likely as any other."""

    def __init__(self, tasks: int, answers: int) -> None:
        self.logits = np.zeros((tasks, answers))

    def log_probs(self, tasks: np.ndarray) -> np.ndarray:
        return log_softmax(self.logits[tasks])

    def sample(self, tasks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """One answer for each task, drawn by the Gumbel trick."""
        return (self.log_probs(tasks) + rng.gumbel(size=(len(tasks), self.logits.shape[1]))).argmax(axis=1)

    def update(self, tasks: np.ndarray, answers: np.ndarray, advantages: np.ndarray, hyper: Hyper) -> dict[str, float]:
        """Clipped policy gradient with a KL penalty towards the untrained policy; returns verl's actor metrics."""
        rows = np.arange(len(tasks))
        old = self.log_probs(tasks)[rows, answers]
        metrics: dict[str, float] = {}
        for _ in range(hyper.ppo_epochs):
            logp = self.log_probs(tasks)
            probs = np.exp(logp)
            ratio = np.exp(logp[rows, answers] - old)
            clipped = np.clip(ratio, 1 - hyper.clip, 1 + hyper.clip)
            kl = (probs * (logp + np.log(probs.shape[1]))).sum(axis=1)
            # Where the clipped objective is the smaller one it is flat, so those samples push no further.
            live = (ratio * advantages <= clipped * advantages) * ratio * advantages
            slope = live[:, None] * probs
            slope[rows, answers] -= live
            slope += hyper.kl_coef * probs * (logp + np.log(probs.shape[1]) - kl[:, None])
            norm = self._descend(tasks, slope / len(tasks), hyper.lr)
            metrics = {
                "actor/entropy": -(probs * logp).sum(axis=1).mean(),
                "actor/pg_loss": -np.minimum(ratio * advantages, clipped * advantages).mean(),
                "actor/kl_loss": kl.mean(),
                "actor/grad_norm": norm,
                "actor/lr": hyper.lr,
            }
        return metrics

    def _descend(self, tasks: np.ndarray, slope: np.ndarray, lr: float) -> float:
        """One step against `slope`, the loss by each sample's logits; returns the norm of the gradient."""
        gradient = np.zeros_like(self.logits)
        np.add.at(gradient, tasks, slope)
        self.logits -= lr * gradient
        return float(np.linalg.norm(gradient))
