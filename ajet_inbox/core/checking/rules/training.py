"""What is wrong with the values that an AgentJet training is configured with."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import PurePosixPath

from msgspec.structs import replace

from ajet_inbox.core.blueprint import Level, Mode
from ajet_inbox.core.checking.rule import Case, Code, Finding, Findings, rule
from ajet_inbox.core.checking.sources import checkpoint_mark, experiment, model_folder
from ajet_inbox.core.reading.resolve import join
from ajet_inbox.core.settings import Settings, SlurmSlot
from ajet_inbox.core.training.ajet_keys import NAME_OF_YAML

_TRAINER = "ajet.trainer_common."
VAL_FILE = f"{_TRAINER}val_print_to_markdown_file_path"
TRAIN_FILE = f"{_TRAINER}train_print_to_markdown_file_path"
_FASTEST_STEP_S = 15.0  # no real training of a language model is faster
_SLOWEST_STEP_S = 600.0
_FEWEST_EPOCHS = 3

EXECUTE_TEST = Code(
    name="yaml_execute_test",
    about="execute_test is on: AgentJet's test robot ends the run where its reward falls below a threshold.",
    fix="Set ajet.execute_test: False.",
)
VAL_FILE_MISSING = Code(
    name="yaml_val_file_missing",
    about="No file for the evaluations is named in classic mode; they can only be read from the console.",
    fix="Set ajet.trainer_common.val_print_to_markdown_file_path to a file in the result folder.",
)
VAL_FILE_BARE = Code(
    name="yaml_val_file_bare",
    level=Level.ERROR,
    about="The file for the evaluations has no folder: AgentJet crashes at the first validation (makedirs of '').",
    fix="Write a folder before the name, such as the result folder.",
)
TRAIN_FILE_MISSING = Code(
    name="yaml_train_file_missing",
    level=Level.INFO,
    about="No file for the training metrics is named, which is the best sign of the first step.",
    fix="Set ajet.trainer_common.train_print_to_markdown_file_path to a file in the result folder.",
)
TRAIN_FILE_BARE = Code(
    name="yaml_train_file_bare",
    level=Level.ERROR,
    about="The file for the training metrics has no folder: AgentJet crashes at the first step (makedirs of '').",
    fix="Write a folder before the name, such as the result folder.",
)
FILE_ELSEWHERE = Code(
    name="yaml_file_elsewhere",
    level=Level.INFO,
    about="The file for evaluations or training metrics lies outside the result folder; another run may append to it.",
    fix="Put it into the result folder.",
)
VAL_BEFORE_TRAIN_OFF = Code(
    name="yaml_val_before_train_off",
    about="val_before_train is off in classic mode: how good the model was before training will not be known.",
    fix="Set ajet.trainer_common.val_before_train: True.",
)
VAL_BEFORE_TRAIN_SWARM = Code(
    name="yaml_val_before_train_swarm",
    about="val_before_train is on in swarm mode, where it fails or does nothing.",
    fix="Set it to False, and let the client evaluate at step 0.",
)
GPUS_DIFFER = Code(
    name="yaml_gpus_differ",
    about="n_gpus_per_node is not what [exp_gpus] asks for, or not what any slot of this home has.",
    fix="Set ajet.trainer_common.n_gpus_per_node to the GPUs of a slot, usually 8.",
)
NNODES = Code(
    name="yaml_nnodes",
    about="More than one node is asked for, and a slot of this home is one host.",
    fix="Set ajet.trainer_common.nnodes: 1, or use a slurm slot with nodes.",
)
TEST_FREQ_LARGE = Code(
    name="yaml_test_freq_large",
    about="test_freq is so large, or 0, that no validation happens before the end.",
    fix="Set ajet.trainer_common.test_freq to a tenth of the steps or less.",
)
EPOCHS_SMALL = Code(
    name="yaml_epochs_small",
    about="So few steps or epochs are planned that the run ends long before its time.",
    fix="Set ajet.trainer_common.total_epochs large (50) and let exp_max_time end it, or ask for less time.",
)
NAME_CHANGES = Code(
    name="yaml_experiment_name_changes",
    about="experiment_name is read_yaml_name, so each start has a new name, and no attempt resumes another's work.",
    fix="Set ajet.experiment_name to a name of its own.",
)
HAS_CHECKPOINTS = Code(
    name="experiment_has_checkpoints",
    about="An experiment of this name has checkpoints in the codebase, and would be resumed rather than begun.",
    fix="Give it another ajet.experiment_name, or move the old checkpoints away.",
)
NAME_TAKEN = Code(
    name="experiment_name_taken",
    about="Another unfinished run has the same project and experiment name: the two would share their checkpoints.",
    fix="Give each its own ajet.experiment_name.",
)
WORKERS_UNEVEN = Code(
    name="yaml_env_workers_uneven",
    about="max_env_worker is no multiple of num_repeat; the engine rounds it up to one.",
    fix="Set ajet.rollout.max_env_worker to a multiple of ajet.rollout.num_repeat.",
)
BATCH_UNEVEN = Code(
    name="yaml_batch_uneven",
    about="train_batch_size * num_repeat cannot be divided by the GPUs, which verl refuses at the start.",
    fix="Choose a batch that is a multiple of the GPUs.",
)
MODEL_ABSENT = Code(
    name="model_absent",
    level=Level.ERROR,
    about="The model's path looks like a local one and does not exist. Only a warning in swarm mode, where the server's"
    " host counts.",
    fix="Correct ajet.model.path, or mount what is missing.",
)


def _found(case: Case, code: Code, key: str, message: str, level: Level | None = None) -> Finding:
    """A problem of a key: in the section that names the file which sets it."""
    setting = case.sources.config.get(key)
    by_script = setting.file is not None and setting.file == PurePosixPath(case.sources.script_path or "").name
    section = "exp_launch_command" if by_script or case.blueprint.yaml_path is None else "exp_yaml_path"
    return code.found(case, section, f"{message} ({setting.place}).", level=level)


def _trained(check: Callable[[Case], Findings]) -> Callable[[Case], Findings]:
    """`check` only where a training's configuration was read."""

    def checked(case: Case) -> Findings:
        if case.is_configured:
            yield from check(case)

    return checked


def _execute_test(case: Case) -> Findings:
    if case.sources.config.get("ajet.execute_test").value is True:
        yield _found(case, EXECUTE_TEST, "ajet.execute_test", "execute_test is True")


def _files(case: Case) -> Findings:
    config, classic = case.sources.config, case.blueprint.mode is Mode.CLASSIC
    for key, missing, bare in (
        (VAL_FILE, VAL_FILE_MISSING, VAL_FILE_BARE),
        (TRAIN_FILE, TRAIN_FILE_MISSING, TRAIN_FILE_BARE),
    ):
        path, name = config.text(key), key.rpartition(".")[2]
        if path is None:
            if config.get(key).known and (classic or key == TRAIN_FILE):
                yield _found(case, missing, key, f"{name} is not set")
        elif "/" not in path and (classic or key == TRAIN_FILE):
            yield _found(case, bare, key, f"{name} is {path}, without a folder")
        elif not _is_in_results(case, path):
            yield _found(case, FILE_ELSEWHERE, key, f"{name} is {path}, outside the result folder")


def _is_in_results(case: Case, path: str) -> bool:
    result = case.blueprint.result_dir
    full = PurePosixPath(join(path, case.blueprint.codebase_dir))
    return "$" in path or result is None or full.is_relative_to(result)


def _val_before_train(case: Case) -> Findings:
    key = f"{_TRAINER}val_before_train"
    value = case.sources.config.get(key).value
    if case.blueprint.mode is Mode.CLASSIC and value is False:
        yield _found(case, VAL_BEFORE_TRAIN_OFF, key, "val_before_train is False")
    elif case.blueprint.mode is Mode.SWARM and value is True:
        yield _found(case, VAL_BEFORE_TRAIN_SWARM, key, "val_before_train is True")


def _gpus(case: Case) -> Findings:
    key = f"{_TRAINER}n_gpus_per_node"
    gpus, asked, slots = case.sources.config.number(key), case.blueprint.gpus, case.facts.slot_gpus
    if gpus is None:
        return
    if asked is not None and gpus != asked:
        yield _found(case, GPUS_DIFFER, key, f"n_gpus_per_node is {gpus}, and [exp_gpus] is {asked}")
    elif asked is None and slots and gpus not in slots and gpus <= max(slots):
        had = ", ".join(map(str, sorted(set(slots))))
        yield _found(case, GPUS_DIFFER, key, f"n_gpus_per_node is {gpus}, and the slots here have {had}")


def _nnodes(case: Case) -> Findings:
    key = f"{_TRAINER}nnodes"
    nodes = case.sources.config.number(key)
    if nodes is not None and nodes > _most_nodes(case.settings):
        yield _found(case, NNODES, key, f"nnodes is {nodes}, and a slot here is one host")


def _most_nodes(settings: Settings) -> int:
    slots = settings.slots if isinstance(settings.slots, tuple) else ()
    return max((slot.slurm.nodes for slot in slots if isinstance(slot, SlurmSlot)), default=1)


def _test_freq(case: Case) -> Findings:
    key = f"{_TRAINER}test_freq"
    config, limit_s = case.sources.config, case.blueprint.max_time_s
    freq, steps = config.number(key), config.number(f"{_TRAINER}total_training_steps")
    if freq is None or case.blueprint.mode is not Mode.CLASSIC:
        return
    if freq <= 0:
        yield _found(case, TEST_FREQ_LARGE, key, f"test_freq is {freq}, so there is no validation on the way")
    elif steps is not None and freq > steps:
        message = f"test_freq is {freq}, and only {steps} steps are planned"
        yield _found(case, TEST_FREQ_LARGE, key, message)
    elif limit_s is not None and freq * _FASTEST_STEP_S > limit_s:
        message = f"test_freq is {freq}, and even with {_FASTEST_STEP_S:g} s a step the time ends before"
        yield _found(case, TEST_FREQ_LARGE, key, message)


def _epochs(case: Case) -> Findings:
    config, limit_s = case.sources.config, case.blueprint.max_time_s
    steps, epochs = config.number(f"{_TRAINER}total_training_steps"), config.number(f"{_TRAINER}total_epochs")
    if limit_s is not None and steps is not None and steps * _SLOWEST_STEP_S < limit_s / 2:
        key = f"{_TRAINER}total_training_steps"
        message = f"{steps} steps at {_SLOWEST_STEP_S / 60:g} min each would take less than half of the time asked for"
        yield _found(case, EPOCHS_SMALL, key, message)
    elif steps is None and epochs is not None and epochs < _FEWEST_EPOCHS:
        yield _found(case, EPOCHS_SMALL, f"{_TRAINER}total_epochs", f"total_epochs is {epochs}")


def _name(case: Case) -> Findings:
    key = "ajet.experiment_name"
    if case.sources.config.get(key).value == NAME_OF_YAML:
        yield _found(case, NAME_CHANGES, key, f"experiment_name is {NAME_OF_YAML}")


def _checkpoints(case: Case) -> Findings:
    mark, names = checkpoint_mark(case.blueprint, case.sources), experiment(case.sources)
    if mark is not None and names is not None and case.facts.about(mark).exists:
        folder = PurePosixPath(mark).parent
        message = f"{folder} holds checkpoints, which this run would resume"
        yield _found(case, HAS_CHECKPOINTS, "ajet.experiment_name", message)


def _taken(case: Case) -> Findings:
    names = experiment(case.sources)
    other = case.facts.experiments.get(names) if names else None
    if names is not None and other is not None:
        message = f"{names[0]}/{names[1]} is also what {other} trains"
        yield _found(case, NAME_TAKEN, "ajet.experiment_name", message)


def _workers(case: Case) -> Findings:
    key = "ajet.rollout.max_env_worker"
    workers, repeat = case.sources.config.number(key), case.sources.config.number("ajet.rollout.num_repeat")
    if workers is None or repeat is None or workers < 1 or repeat < 1 or workers % repeat == 0:
        return
    made = math.ceil(workers / repeat) * repeat
    message = f"max_env_worker {workers} is no multiple of num_repeat {repeat}: the engine makes it {made}"
    yield _found(case, WORKERS_UNEVEN, key, message)


def _batch(case: Case) -> Findings:
    key, config = "ajet.data.train_batch_size", case.sources.config
    batch, repeat = config.number(key), config.number("ajet.rollout.num_repeat")
    gpus, nodes = config.number(f"{_TRAINER}n_gpus_per_node"), config.number(f"{_TRAINER}nnodes")
    if case.blueprint.mode is not Mode.CLASSIC or not batch or not repeat or not gpus or not nodes:
        return
    if batch * repeat % (gpus * nodes):
        message = f"train_batch_size {batch} * num_repeat {repeat} cannot be divided by {gpus * nodes} GPUs"
        yield _found(case, BATCH_UNEVEN, key, message)


def _model(case: Case) -> Findings:
    path = model_folder(case.blueprint, case.sources)
    found = case.facts.about(path) if path else None
    if path is None or found is None or not found.answered or found.exists:
        return
    certain = found.ancestor is not None and not found.ancestor_empty
    level = Level.WARNING if case.blueprint.mode is Mode.SWARM else None
    missing = _found(case, MODEL_ABSENT, "ajet.model.path", f"The model {path} does not exist", level)
    yield replace(missing, certain=certain)


RULES = (
    rule(_trained(_execute_test), EXECUTE_TEST),
    rule(_trained(_files), VAL_FILE_MISSING, VAL_FILE_BARE, TRAIN_FILE_MISSING, TRAIN_FILE_BARE, FILE_ELSEWHERE),
    rule(_trained(_val_before_train), VAL_BEFORE_TRAIN_OFF, VAL_BEFORE_TRAIN_SWARM),
    rule(_trained(_gpus), GPUS_DIFFER),
    rule(_trained(_nnodes), NNODES),
    rule(_trained(_test_freq), TEST_FREQ_LARGE),
    rule(_trained(_epochs), EPOCHS_SMALL),
    rule(_trained(_name), NAME_CHANGES),
    rule(_trained(_checkpoints), HAS_CHECKPOINTS),
    rule(_trained(_taken), NAME_TAKEN),
    rule(_trained(_workers), WORKERS_UNEVEN),
    rule(_trained(_batch), BATCH_UNEVEN),
    rule(_trained(_model), MODEL_ABSENT),
)
