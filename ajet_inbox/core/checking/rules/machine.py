"""What the experiment will miss on this machine: a key in its environment, a Ray cluster."""

from __future__ import annotations

import re

from ajet_inbox.core.blueprint import Mode
from ajet_inbox.core.checking.commands import programs
from ajet_inbox.core.checking.rule import Case, Code, Findings, rule
from ajet_inbox.core.checking.sources import env_file, gpus_needed
from ajet_inbox.core.training.ajet import is_launch

_LOGGER_KEYS = {"swanlab": "SWANLAB_API_KEY", "wandb": "WANDB_API_KEY"}

LOGGER_KEY = Code(
    name="logger_key_missing",
    about="swanlab or wandb is the logger, and its key is not in the environment that the experiment will get.",
    fix="Put it into the file that `env.file` names, or set ajet.trainer_common.logger: console.",
)
NO_RAY = Code(
    name="command_without_ray",
    about="A classic launch has no --with-ray, and no Ray cluster is up on this host.",
    fix="Add --with-ray.",
)


TOO_MANY_GPUS = Code(
    name="gpus_beyond_slots",
    about="More GPUs are needed than any slot of this home has: the run would wait until there is such a slot.",
    fix="Write fewer into [exp_gpus], or give the home a larger slot (`slots`).",
)


def _logger(case: Case) -> Findings:
    names = case.facts.env
    logger = case.sources.config.get("ajet.trainer_common.logger").value
    loggers = logger if isinstance(logger, tuple) else (logger,)
    if names is None or not case.is_configured:
        return
    for name, key in _LOGGER_KEYS.items():
        if name in loggers and key not in names and not _is_set_elsewhere(case, key):
            message = f"The logger is {name}, and {key} is not in the environment of experiments."
            yield LOGGER_KEY.found(case, "exp_yaml_path", message)


def _is_set_elsewhere(case: Case, name: str) -> bool:
    """By the blueprint, a command, or the codebase's own file of variables."""
    blueprint = case.blueprint
    scripts = (blueprint.launch_command, blueprint.prepare_command, *(s.command for s in blueprint.services))
    texts = (*scripts, case.facts.text(env_file(blueprint)), case.facts.text(case.sources.script_path))
    return name in blueprint.env or any(name in text for text in texts if text)


def _ray(case: Case) -> Findings:
    blueprint, running = case.blueprint, case.facts.processes
    command = blueprint.launch_command or ""
    if blueprint.mode is not Mode.CLASSIC or running is None or not is_launch(command):
        return
    if re.search(r"--with-ray\b", command) or _starts_ray(command) or _starts_ray(blueprint.prepare_command or ""):
        return
    if not any("/raylet" in line for line in running):
        message = "There is no --with-ray in the command, and no Ray cluster is up here."
        yield NO_RAY.found(case, "exp_launch_command", message)


def _starts_ray(script: str) -> bool:
    return any(simple.program == "ray" and simple.arguments[:1] == ("start",) for simple in programs(script))


def _slots(case: Case) -> Findings:
    needed, most = gpus_needed(case.blueprint, case.sources), max(case.facts.slot_gpus, default=None)
    if most is not None and needed > most:
        section = "exp_gpus" if case.blueprint.gpus is not None else None
        message = f"It needs {needed} GPUs, and the largest slot here has {most}."
        yield TOO_MANY_GPUS.found(case, section, message)


RULES = (
    rule(_logger, LOGGER_KEY),
    rule(_ray, NO_RAY),
    rule(_slots, TOO_MANY_GPUS),
)
