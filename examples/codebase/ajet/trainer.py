"""The training process that the launcher starts: validation, GRPO steps, checkpoints, in verl's order."""

from __future__ import annotations

import argparse
import importlib
import os
import time
from pathlib import Path
from typing import Any

import numpy as np

from ajet import checkpoints
from ajet.config import Config
from ajet.console import Bar, append_dict, say, say_step
from ajet.policy import Hyper, Policy, group_advantages


class Trainer:
    """One experiment. Each step has its own seeded randomness, so a resumed run walks the same path."""

    def __init__(self, config: Config, experiment: str) -> None:
        module, _, name = config.get("rollout.user_workflow", "tasks.arithmetic->Addition").partition("->")
        self.workflow = getattr(importlib.import_module(module), name)()
        self.policy = Policy(self.workflow.tasks, self.workflow.answers)
        self.seed = config.get("trainer_common.seed", 7)
        self.batch = config.get("data.train_batch_size", 32)
        self.repeat = config.get("rollout.num_repeat", 4)
        self.pass_n = config.get("trainer_common.val_pass_n", 4)
        self.test_freq = config.get("trainer_common.test_freq", 20)
        self.save_freq = config.get("trainer_common.save_freq", 20)
        self.val_before_train = config.get("trainer_common.val_before_train", False)
        self.val_file = config.get("trainer_common.val_print_to_markdown_file_path", None)
        self.train_file = config.get("trainer_common.train_print_to_markdown_file_path", None)
        self.resume = config.get("trainer_common.resume_mode", "auto") == "auto"
        self.steps_per_epoch = max(1, self.workflow.tasks // self.batch)
        epochs = config.get("trainer_common.total_epochs", 50)
        self.total = config.get("trainer_common.total_training_steps", epochs * self.steps_per_epoch)
        self.step_time = float(os.environ.get("AJET_STEP_TIME") or config.get("stand_in.step_time", 0.0))
        self.hyper = Hyper(
            lr=config.get("trainer_common.optim.lr", 1e-6),
            ppo_epochs=config.get("trainer_common.ppo_epochs", 1),
            clip=config.get("trainer_common.clip_ratio", 0.2),
            kl_coef=config.get("trainer_common.kl_loss_coef", 0.001),
        )
        self.folder = Path("saved_checkpoints", str(config.get("project_name", "ajet")), experiment).absolute()

    def fit(self) -> None:
        """Trains to the last step. Like verl, a run that resumes a complete checkpoint makes one step more."""
        done = self._resume()
        if self.val_before_train:
            say_step(done, self._validate(done))
        bar = Bar(self.total, done)
        while True:
            done += 1
            metrics = self._step(done, last=done >= self.total)
            say_step(done, metrics)
            if self.train_file:
                append_dict(self.train_file, metrics)
            bar.show(done)
            if done >= self.total:
                bar.close()
                return

    def _resume(self) -> int:
        step = checkpoints.load(self.folder, self.policy) if self.resume else 0
        if step:
            say(f"Load from checkpoint folder: {self.folder}/global_step_{step}")
            say(f"Setting global step to {step}")
        else:
            say(f"Checkpoint tracker file does not exist: {self.folder}/{checkpoints.TRACKER}")
            say("Training from scratch")
        return step

    def _step(self, step: int, *, last: bool) -> dict[str, Any]:
        began = time.monotonic()
        metrics = self._train(step)
        # A real step is minutes of GPU work; this is the yaml's or the caller's wish to see something of it.
        time.sleep(max(0.0, self.step_time - (time.monotonic() - began)))
        metrics["timing_s/step"] = time.monotonic() - began
        if self.save_freq > 0 and (last or step % self.save_freq == 0):
            say(f"Saved checkpoint to {checkpoints.save(self.folder, step, self.policy)}")
        if self.test_freq > 0 and (last or step % self.test_freq == 0):
            metrics.update(self._validate(step))
        epoch = (step - 1) // self.steps_per_epoch
        return metrics | {"training/global_step": step, "training/epoch": epoch}

    def _train(self, step: int) -> dict[str, Any]:
        rng = np.random.default_rng([self.seed, step])
        chosen = rng.choice(self.workflow.tasks, self.batch, replace=self.batch > self.workflow.tasks)
        tasks = chosen.repeat(self.repeat)
        answers = self.policy.sample(tasks, rng)
        rewards = self.workflow.reward(tasks, answers)
        actor = self.policy.update(tasks, answers, group_advantages(rewards, self.repeat), self.hyper)
        score = {"mean": rewards.mean(), "max": rewards.max(), "min": rewards.min()}
        return actor | {f"critic/score/{key}": float(value) for key, value in score.items()}

    def _validate(self, step: int) -> dict[str, Any]:
        tasks = np.arange(self.workflow.tasks).repeat(self.pass_n)
        answers = self.policy.sample(tasks, np.random.default_rng([self.seed, step, 1]))
        rewards = self.workflow.reward(tasks, answers)
        metrics = val_metrics(rewards.reshape(-1, self.pass_n), step)
        if self.val_file:
            append_dict(self.val_file, metrics)
        return metrics


def val_metrics(rewards: np.ndarray, step: int) -> dict[str, Any]:
    """AgentJet's validation record of `rewards`, (tasks, attempts), with its keys in its order."""
    success = rewards >= 1
    tasks, n = rewards.shape
    rates = {f"task_pass_rate@{k}": float(success[:, :k].any(axis=1).mean()) for k in (2, 4, 8, 16) if k < n}
    return {
        "global_steps": step,
        "pass_n": n,
        "total_tasks": tasks,
        "num_all_success_tasks": int(success.all(axis=1).sum()),
        f"num_pass_n_tasks(pass@{n})": int(success.any(axis=1).sum()),
        "task_pass_rate@1": float(success.mean()),
        f"task_pass_rate@{n}": float(success.any(axis=1).mean()),
        f"task_pass_rate@{n}-all-pass": float(success.all(axis=1).mean()),
        "mean_reward": float(rewards.mean()),
        "std_reward": rewards.std(),
        **rates,
        "target_dataset_name": "main_val_dataset",
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Train one experiment; the launcher starts this.")
    parser.add_argument("--conf", type=Path, required=True)
    parser.add_argument("--experiment", required=True)
    args = parser.parse_args()
    Trainer(Config(args.conf), args.experiment).fit()


if __name__ == "__main__":
    main()
