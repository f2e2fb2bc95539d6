"""The files that configure an experiment: which they are, and what they say once they have been read."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Blueprint, Mode
from ajet_inbox.core.checking.commands import programs, script_of
from ajet_inbox.core.checking.facts import Facts
from ajet_inbox.core.reading.resolve import command_folder, is_rooted, join
from ajet_inbox.core.training.ajet import conf_path, detect_mode
from ajet_inbox.core.training.ajet_config import Config, configured, watched
from ajet_inbox.core.training.ajet_job import Job, read_job
from ajet_inbox.core.training.ajet_keys import NAME_OF_YAML
from ajet_inbox.core.training.yaml_file import Fault, YamlFile, read_yaml

_DEFAULT_GPUS = 8
_ENV_FILE = ".env"  # AgentJet's launcher reads it
_NEVER_ASKED = re.compile(r"[$\n\0]")


class Sources(Struct, frozen=True, kw_only=True):
    """The yaml that counts and the script that the command runs, by path and as they were read."""

    yaml_path: str | None = None
    yaml: YamlFile | Fault | None = None
    script_path: str | None = None
    job: Job | Fault | None = None
    mode: Mode = Mode.GENERIC
    config: Config = Config()


class Wanted(Struct, frozen=True, kw_only=True):
    """What is to be looked up and read."""

    paths: frozenset[str] = frozenset()
    files: frozenset[str] = frozenset()


def sources(blueprint: Blueprint, facts: Facts) -> Sources:
    """What the files say, as far as `facts` holds them."""
    script_path = python_script(blueprint)
    script = facts.text(script_path)
    job = read_job(script) if script is not None and "AgentJetJob" in script else None
    found = job if isinstance(job, Job) else None
    yaml_path = _base_yaml(blueprint, found) or conf_file(blueprint) or blueprint.yaml_path
    text = facts.text(yaml_path)
    yaml = read_yaml(text) if text is not None else None
    mode = _mode(blueprint, script)
    config = configured(
        yaml if isinstance(yaml, YamlFile) and _configures(found) else None,
        PurePosixPath(yaml_path or "").name,
        found,
        PurePosixPath(script_path or "").name,
        swarm=mode is Mode.SWARM,
    )
    return Sources(yaml_path=yaml_path, yaml=yaml, script_path=script_path, job=job, mode=mode, config=config)


def _mode(blueprint: Blueprint, script: str | None) -> Mode:
    """As read, unless the script tells of a swarm that the blueprint does not mention (contract section 7)."""
    if blueprint.mode is not Mode.GENERIC or "exp_mode" in blueprint.lines or script is None:
        return blueprint.mode
    return detect_mode("", script=script)


def python_script(blueprint: Blueprint) -> str | None:
    """The first Python file that the command runs, absolute; None where it runs none, or a variable names it."""
    command = blueprint.launch_command or ""
    named = next(filter(None, map(script_of, programs(command))), None)
    if named is None or _NEVER_ASKED.search(named) or blueprint.codebase_dir is None:
        return None
    return join(named, command_folder(command, blueprint.codebase_dir))


def conf_file(blueprint: Blueprint) -> str | None:
    """The yaml that the command's `--conf` names, absolute; None where it names none, or a variable."""
    command = blueprint.launch_command or ""
    conf = conf_path(command)
    path = join(conf, command_folder(command, blueprint.codebase_dir)) if conf else ""
    return path if is_rooted(path) else None


def _base_yaml(blueprint: Blueprint, job: Job | None) -> str | None:
    given = job.arguments.get("base_yaml_config") if job else None
    if given is None or not isinstance(given.value, str):
        return None
    return join(given.value, command_folder(blueprint.launch_command or "", blueprint.codebase_dir))


def _configures(job: Job | None) -> bool:
    """Whether the yaml is what the job starts from: without being told so, AgentJetJob takes AgentJet's own."""
    base = job.arguments.get("base_yaml_config") if job else None
    return job is None or (base is not None and not (base.known and base.value is None))


def wanted(blueprint: Blueprint, facts: Facts) -> Wanted:
    """Everything that the rules ask for, as far as it can be named with what is known by now."""
    known = sources(blueprint, facts)
    named = (blueprint.codebase_dir, blueprint.venv_exe, blueprint.yaml_path, blueprint.result_dir)
    more = (known.yaml_path, known.script_path, model_folder(blueprint, known), checkpoint_mark(blueprint, known))
    paths = (*named, *more, *result_files(blueprint))
    files = (known.yaml_path, blueprint.yaml_path, known.script_path, env_file(blueprint))
    return Wanted(paths=_askable(paths), files=_askable(files))


def _askable(paths: tuple[str | None, ...]) -> frozenset[str]:
    return frozenset(path for path in paths if path and is_rooted(path) and not _NEVER_ASKED.search(path))


def env_file(blueprint: Blueprint) -> str | None:
    """Where the codebase keeps variables of its own."""
    return join(_ENV_FILE, blueprint.codebase_dir) if blueprint.codebase_dir else None


def result_files(blueprint: Blueprint) -> tuple[str, ...]:
    """What a run leaves in its result folder, by path."""
    folder = blueprint.result_dir
    return tuple(f"{folder}/{name}" for name in ("finish.flag", "result.md", "trial_log.md")) if folder else ()


def model_folder(blueprint: Blueprint, known: Sources) -> str | None:
    """The folder of the model, where its name looks like one: AgentJet takes three slashes for that."""
    model = known.config.text("ajet.model.path") if known.mode is not Mode.GENERIC else None
    if model is None or not (model.count("/") > 2 or re.match(r"[/~]|\.{1,2}/", model)):
        return None
    path = join(model, blueprint.codebase_dir)
    return path if is_rooted(path) else None


def gpus_needed(blueprint: Blueprint, known: Sources) -> int:
    """How many GPUs a run needs (contract section 1)."""
    if blueprint.gpus is not None:
        return blueprint.gpus
    given = watched(replace(known.config, defaults={})).n_gpus_per_node
    if given is not None:
        return given
    return 0 if blueprint.mode is Mode.GENERIC else _DEFAULT_GPUS


def experiment(known: Sources) -> tuple[str, str] | None:
    """The names of project and experiment by which checkpoints are found; None where those change with each start."""
    project, name = known.config.text("ajet.project_name"), known.config.text("ajet.experiment_name")
    new = known.job.arguments.get("ensure_new_experiment") if isinstance(known.job, Job) else None
    if (
        known.mode is Mode.GENERIC
        or not project
        or not name
        or name == NAME_OF_YAML
        or (new and new.value is not False)
    ):
        return None
    return project, name.replace("|", "-")


def project_folder(blueprint: Blueprint, known: Sources) -> str | None:
    """Where the checkpoints of a project lie, one folder an experiment."""
    names, base = experiment(known), known.config.text("ajet.trainer_common.checkpoint_base_dir")
    if names is None or base is None or blueprint.codebase_dir is None:
        return None
    return join(f"{base}/{names[0]}", blueprint.codebase_dir)


def checkpoint_mark(blueprint: Blueprint, known: Sources) -> str | None:
    """The file by which the trainer finds its newest checkpoint, and which is not there without one."""
    folder, names = project_folder(blueprint, known), experiment(known)
    return f"{folder}/{names[1]}/latest_checkpointed_iteration.txt" if folder and names else None
