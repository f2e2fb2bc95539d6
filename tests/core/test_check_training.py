"""What an AgentJet yaml says, judged key by key."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Level, Mode
from ajet_inbox.core.checking.facts import PathFacts
from ajet_inbox.core.settings import Settings, Slurm, SlurmSlot
from tests.core.check_case import ABSENT, BLUEPRINT, FILE, SWARM, YAML, case, codes, one


def test_a_good_one_is_left_in_peace() -> None:
    assert codes(case()) == []


def changed(old: str, new: str) -> str:
    assert old in YAML
    return YAML.replace(old, new)


TRAINER = "  trainer_common:\n"
# What is changed in the yaml, and what is found: code, level, and what its message must say.
CHANGES: list[tuple[str, str, str, Level, str]] = [
    ("ajet:\n", "ajet:\n  execute_test: True\n", "yaml_execute_test", Level.WARNING, "a.yaml line 2"),
    ("/srv/out/val.md", "val.md", "yaml_val_file_bare", Level.ERROR, "val.md, without a folder (a.yaml line 13)"),
    ("/srv/out/train.md", "train.md", "yaml_train_file_bare", Level.ERROR, "a.yaml line 14"),
    ("/srv/out/val.md", "saved/val.md", "yaml_file_elsewhere", Level.INFO, "saved/val.md"),
    ("    val_print_to_markdown_file_path: /srv/out/val.md\n", "", "yaml_val_file_missing", Level.WARNING, "default"),
    ("    train_print_to_markdown_file_path: /srv/out/train.md\n", "", "yaml_train_file_missing", Level.INFO, ""),
    ("val_before_train: True", "val_before_train: False", "yaml_val_before_train_off", Level.WARNING, "line 10"),
    ("    val_before_train: True\n", "", "yaml_val_before_train_off", Level.WARNING, "AgentJet's default"),
    (TRAINER, f"{TRAINER}    nnodes: 2\n", "yaml_nnodes", Level.WARNING, "nnodes is 2"),
    ("test_freq: 10", "test_freq: 0", "yaml_test_freq_large", Level.WARNING, "test_freq is 0"),
    ("test_freq: 10", "test_freq: 10000", "yaml_test_freq_large", Level.WARNING, "10000"),
    ("total_epochs: 50", "total_epochs: 1", "yaml_epochs_small", Level.WARNING, "total_epochs is 1"),
    ("total_epochs: 50", "total_training_steps: 40", "yaml_epochs_small", Level.WARNING, "40 steps"),
    ("experiment_name: e", "experiment_name: read_yaml_name", "yaml_experiment_name_changes", Level.WARNING, "line 3"),
    ("  experiment_name: e\n", "", "yaml_experiment_name_changes", Level.WARNING, "default"),
    ("max_env_worker: 64", "max_env_worker: 62", "yaml_env_workers_uneven", Level.WARNING, "the engine makes it 64"),
    ("num_repeat: 4", "num_repeat: 3", "yaml_env_workers_uneven", Level.WARNING, "the engine makes it 66"),
    ("train_batch_size: 32", "train_batch_size: 3", "yaml_batch_uneven", Level.WARNING, "3 * num_repeat 4"),
    ("/models/org/q/w", "/models/none/x", "model_absent", Level.ERROR, "/models/none/x"),
    ("/models/org/q/w", "models/a/b/none", "model_absent", Level.ERROR, "/srv/aj/models/a/b/none"),
]


@pytest.mark.parametrize(("old", "new", "code", "level", "said"), CHANGES)
def test_what_a_change_of_the_yaml_brings(old: str, new: str, code: str, level: Level, said: str) -> None:
    missing = {"/models/none/x": ABSENT, "/srv/aj/models/a/b/none": ABSENT}
    found = one(case(yaml=changed(old, new), paths=missing), code)
    assert (found.level, found.section, found.line) == (level, "exp_yaml_path", 3)
    assert said in found.message
    assert found.hint


FINE = [
    ("/models/org/q/w", "Qwen/Qwen2.5-7B-Instruct"),  # a name on a hub
    ("/models/org/q/w", '"${oc.env:MODEL}/a/b/c"'),
    ("test_freq: 10", "test_freq: ${oc.env:FREQ}"),
    ("total_epochs: 50", "total_training_steps: 400"),
    ("total_epochs: 50", "total_epochs: null"),
    ("max_env_worker: 64", "max_env_worker: 0"),
    ("n_gpus_per_node: 8", "n_gpus_per_node: 0"),
    ("/srv/out/val.md", "${exp}/val.md"),
    ("train_batch_size: 32", "train_batch_size: 1.5"),
]


@pytest.mark.parametrize(("old", "new"), FINE)
def test_what_cannot_be_told_is_not_told(old: str, new: str) -> None:
    assert codes(case(yaml=changed(old, new))) == []


def test_a_test_freq_beyond_the_planned_steps() -> None:
    yaml = changed("test_freq: 10", "test_freq: 500\n    total_training_steps: 400")
    assert "only 400 steps" in one(case(yaml=yaml), "yaml_test_freq_large").message


GPUS: list[tuple[dict[str, Any], tuple[int, ...], str | None]] = [
    ({}, (), None),
    ({}, (8,), None),
    ({}, (4, 8), None),
    ({}, (4, 16), "the slots here have 4, 16"),
    ({"gpus": 8}, (4, 16), None),  # asked for on purpose: the larger one will do
    ({"gpus": 4}, (), "[exp_gpus] is 4"),
]


@pytest.mark.parametrize(("changes", "slots", "said"), GPUS)
def test_gpus_of_the_yaml_and_of_the_slots(changes: dict[str, Any], slots: tuple[int, ...], said: str | None) -> None:
    judged = case(replace(BLUEPRINT, **changes), slot_gpus=slots)
    assert (said is None) == (codes(judged) == [])
    assert said is None or said in one(judged, "yaml_gpus_differ").message


BEYOND: list[tuple[dict[str, Any], str, tuple[int, ...], str | None]] = [
    ({}, YAML, (4,), None),
    ({}, YAML, (0,), None),
    ({}, changed("    n_gpus_per_node: 8\n", ""), (4,), None),  # the default of a training
    ({"gpus": 8}, YAML, (0, 4), "exp_gpus"),
]


@pytest.mark.parametrize(("changes", "yaml", "slots", "section"), BEYOND)
def test_more_gpus_than_any_slot_has(
    changes: dict[str, Any], yaml: str, slots: tuple[int, ...], section: str | None
) -> None:
    judged = case(replace(BLUEPRINT, **changes), yaml=yaml, slot_gpus=slots)
    assert codes(judged) == ["gpus_beyond_slots"]
    told = one(judged, "gpus_beyond_slots")
    assert (told.section, told.level) == (section, Level.WARNING)
    assert f"8 GPUs, and the largest slot here has {max(slots)}" in told.message


def test_a_program_without_gpus_fits_everywhere() -> None:
    plain = replace(BLUEPRINT, mode=Mode.GENERIC, launch_command="true", yaml_path=None)
    assert codes(case(plain, slot_gpus=(0,))) == []


def test_nodes_of_a_slurm_slot() -> None:
    settings = Settings(slots=(SlurmSlot(name="far", slurm=Slurm(nodes=2)),))
    assert codes(case(yaml=changed(TRAINER, f"{TRAINER}    nnodes: 2\n"), settings=settings)) == []


def test_checkpoints_of_the_same_name_would_be_resumed() -> None:
    mark = "/srv/aj/saved_checkpoints/p/e/latest_checkpointed_iteration.txt"
    assert "/srv/aj/saved_checkpoints/p/e holds" in one(case(paths={mark: FILE}), "experiment_has_checkpoints").message
    other = changed("experiment_name: e", "experiment_name: read_yaml_name")
    assert "experiment_has_checkpoints" not in codes(case(yaml=other, paths={mark: FILE}))


def test_another_run_trains_under_the_same_name() -> None:
    assert "run7" in one(case(experiments={("p", "e"): "run7"}), "experiment_name_taken").message
    assert codes(case(experiments={("p", "f"): "run7"})) == []


def test_a_missing_model_under_an_empty_mount_may_come_back() -> None:
    unmounted = PathFacts(ancestor="/models", ancestor_empty=True)
    judged = case(paths={"/models/org/q/w": unmounted})
    assert one(judged, "model_absent").level is Level.ERROR
    silent = PathFacts(answered=False, why="no answer in 5 s")
    assert codes(case(paths={"/models/org/q/w": silent})) == []


def test_nothing_is_said_about_the_defaults_of_a_yaml_that_was_not_read() -> None:
    assert codes(case(yaml=None)) == []
    assert codes(case(replace(BLUEPRINT, mode=Mode.GENERIC), yaml="a: 1\n")) == []


def test_swarm_mode_has_rules_of_its_own() -> None:
    assert codes(case(SWARM)) == ["yaml_val_before_train_swarm"]
    quiet = changed("val_before_train: True", "val_before_train: False").replace("/srv/out/val.md", "val.md")
    assert codes(case(SWARM, yaml=quiet)) == ["yaml_file_elsewhere"]
    missing = quiet.replace("/models/org/q/w", "/models/none/x")
    assert one(case(SWARM, yaml=missing, paths={"/models/none/x": ABSENT}), "model_absent").level is Level.WARNING


LOGGERS = [
    ("swanlab", frozenset[str](), "SWANLAB_API_KEY"),
    ("wandb", frozenset[str](), "WANDB_API_KEY"),
    ("[console, swanlab]", frozenset[str](), "SWANLAB_API_KEY"),
    ("swanlab", frozenset({"SWANLAB_API_KEY"}), None),
    ("tensorboard", frozenset[str](), None),
    ("swanlab", None, None),  # nobody knows the environment
]


@pytest.mark.parametrize(("logger", "env", "said"), LOGGERS)
def test_the_key_of_the_logger(logger: str, env: frozenset[str] | None, said: str | None) -> None:
    judged = case(yaml=changed("logger: console", f"logger: {logger}"), env=env)
    assert (said is None) == (codes(judged) == [])
    assert said is None or said in one(judged, "logger_key_missing").message


def test_a_key_that_the_blueprint_brings_itself() -> None:
    yaml = changed("logger: console", "logger: swanlab")
    own = replace(BLUEPRINT, env={"SWANLAB_API_KEY": "x"})
    assert codes(case(own, yaml=yaml, env=frozenset())) == []
    exported = replace(BLUEPRINT, launch_command=f"export SWANLAB_API_KEY=x; {BLUEPRINT.launch_command}")
    assert codes(case(exported, yaml=yaml, env=frozenset())) == []


def test_a_launch_without_ray() -> None:
    alone = replace(BLUEPRINT, launch_command="python -m ajet.launcher --conf a.yaml")
    assert codes(case(alone, processes=("bash",))) == ["command_without_ray"]
    assert codes(case(alone, processes=("/x/ray/core/src/ray/raylet/raylet --a",))) == []
    assert codes(case(alone)) == []
    assert codes(case(processes=())) == []
    started = replace(alone, prepare_command="ray start --head")
    assert codes(case(started, processes=())) == []
