"""What every experiment's yaml needs to run unattended, and to be told apart from its siblings."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from msgspec import Struct

from ajet_inbox.core.blueprint import Mode
from ajet_inbox.core.drafting.config import ROOT, Config

GPUS = 8
TEST_FREQ = 20  # AgentJet's own default
_TRAINER = f"{ROOT}.trainer_common"
_SELDOM = 50  # steps take minutes: a day may have no more than a few hundred of them
_LOGGER = "swanlab"  # where the yaml does not say
_LOGGER_KEYS = {"swanlab": "SWANLAB_API_KEY", "wandb": "WANDB_API_KEY"}


class Run(Struct, frozen=True, kw_only=True):
    """What of an experiment its yaml has to say. `gpus` None: what the yaml says, or the default of 8."""

    name: str
    project: str
    result_dir: str
    mode: Mode
    gpus: int | None


def tidy(config: Config, run: Run, kept: Collection[str] = ()) -> None:
    """Make `config` the yaml of this experiment and no other, but for the keys in `kept`.

    Raises:
        DraftError: a value stands where AgentJet has a group of keys.
    """
    for key, value in _wanted(config, run):
        if key not in kept:
            config.put(key, value)


def _wanted(config: Config, run: Run) -> Iterator[tuple[str, Any]]:
    if not config.get(f"{ROOT}.project_name"):
        yield f"{ROOT}.project_name", run.project
    yield f"{ROOT}.experiment_name", run.name  # a name used before would silently resume the checkpoints of that one
    yield f"{ROOT}.execute_test", False  # it ends a run whose reward is below a threshold
    yield f"{_TRAINER}.val_print_to_markdown_file_path", f"{run.result_dir}/val_result.md"
    yield f"{_TRAINER}.train_print_to_markdown_file_path", f"{run.result_dir}/train_result.md"
    yield f"{_TRAINER}.val_before_train", run.mode is Mode.CLASSIC  # it fails in swarm mode
    if (freq := _test_freq(config)) is not None:
        yield f"{_TRAINER}.test_freq", freq
    gpus = run.gpus if run.gpus is not None else _count(config, f"{_TRAINER}.n_gpus_per_node")
    yield f"{_TRAINER}.n_gpus_per_node", GPUS if gpus is None else gpus


def _test_freq(config: Config) -> int | None:
    """A frequency with which the run has two validations at least; None where the yaml's own has."""
    total, own = _count(config, f"{_TRAINER}.total_training_steps"), _count(config, f"{_TRAINER}.test_freq")
    most = max(1, total // 2) if total else _SELDOM
    return None if own and own <= most else min(TEST_FREQ, most)


def _count(config: Config, key: str) -> int | None:
    value = config.get(key)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else None


def checkpoints(config: Config, codebase: str) -> str:
    """Where the trainer keeps the checkpoints of the experiment."""
    return f"{codebase}/saved_checkpoints/{config.get(f'{ROOT}.project_name')}/{config.get(f'{ROOT}.experiment_name')}"


def logger_key(config: Config) -> tuple[str, str] | None:
    """The service that AgentJet logs to, and the variable that has the key for it; None where none is needed."""
    if not config.has(ROOT):
        return None
    logger = config.get(f"{_TRAINER}.logger") or _LOGGER
    return (logger, _LOGGER_KEYS[logger]) if isinstance(logger, str) and logger in _LOGGER_KEYS else None
