"""What the watcher needs of an AgentJet yaml. All keys lie under `ajet.`; what is not there is None."""

from __future__ import annotations

from typing import Any

import yaml
from msgspec import Struct


class AjetConfig(Struct, frozen=True, kw_only=True):
    """The values that matter to whoever runs and watches a training. Paths are as written."""

    n_gpus_per_node: int | None = None
    val_file: str | None = None
    train_file: str | None = None
    total_training_steps: int | None = None
    test_freq: int | None = None
    project_name: str | None = None
    experiment_name: str | None = None


def read_config(text: str) -> AjetConfig:
    """The values of a yaml; empty where it is none. It is only read, never trusted: no tag makes an object."""
    try:
        raw = yaml.load(text, Loader=yaml.CSafeLoader)
    except (yaml.YAMLError, RecursionError, ValueError):
        return AjetConfig()
    trainer = ("ajet", "trainer_common")
    return AjetConfig(
        n_gpus_per_node=_number(raw, *trainer, "n_gpus_per_node"),
        val_file=_text(raw, *trainer, "val_print_to_markdown_file_path"),
        train_file=_text(raw, *trainer, "train_print_to_markdown_file_path"),
        total_training_steps=_number(raw, *trainer, "total_training_steps"),
        test_freq=_number(raw, *trainer, "test_freq"),
        project_name=_text(raw, "ajet", "project_name"),
        experiment_name=_text(raw, "ajet", "experiment_name"),
    )


def _at(raw: object, *keys: str) -> Any:
    for key in keys:
        raw = raw.get(key) if isinstance(raw, dict) else None
    return raw


def _text(raw: object, *keys: str) -> str | None:
    value = _at(raw, *keys)
    return value if isinstance(value, str) and value else None


def _number(raw: object, *keys: str) -> int | None:
    value = _at(raw, *keys)
    return value if isinstance(value, int) and not isinstance(value, bool) else None
