"""The configuration in two places: a client script that sets AgentJetJob(...), and the yaml that it starts from.

AgentJet's own advice is one place or the other, never both: whoever reads the yaml alone is led astray.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from ajet_inbox.core.blueprint import Level
from ajet_inbox.core.checking.rule import Case, Code, Findings, rule
from ajet_inbox.core.training.ajet_config import Setting, configured
from ajet_inbox.core.training.ajet_job import Given, Job
from ajet_inbox.core.training.ajet_keys import ARGUMENTS
from ajet_inbox.core.training.yaml_file import YamlFile

TWICE = Code(
    name="config_key_twice",
    about="A key is set in the yaml and again by an argument of AgentJetJob, which wins where it is not None.",
    fix="Set it in one place.",
)
WRITTEN_LATER = Code(
    name="config_written_later",
    about="The script writes to job.config.ajet.* a key that the yaml or an argument sets too; the write wins.",
    fix="Set it in one place.",
)
SPLIT = Code(
    name="config_split",
    level=Level.INFO,
    about="Some settings are in the yaml and others in the script, so neither alone tells what is trained.",
    fix="Keep one place: arguments of AgentJetJob, or the yaml where an argument is missing.",
)


def _yaml_alone(case: Case) -> dict[str, Setting]:
    """What the yaml that the job starts from sets; nothing where there is no job, or it starts from AgentJet's own."""
    yaml, job = case.sources.yaml, case.sources.job
    if not isinstance(yaml, YamlFile) or not isinstance(job, Job) or "base_yaml_config" not in job.arguments:
        return {}
    name = PurePosixPath(case.sources.yaml_path or "").name
    return configured(yaml, name, None, "", swarm=True).settings


def _arguments(case: Case) -> dict[str, tuple[str, Given]]:
    """The arguments that set a key: by key, the argument's name and value."""
    job = case.sources.job
    given = job.arguments.items() if isinstance(job, Job) else ()
    return {ARGUMENTS[n]: (n, g) for n, g in given if n in ARGUMENTS and (g.value is not None or not g.known)}


def _writes(case: Case) -> dict[str, Given]:
    return case.sources.job.writes if isinstance(case.sources.job, Job) else {}


def _shown(given: Given) -> str:
    return repr(given.value) if given.known else "something computed"


def _twice(case: Case) -> Findings:
    yaml = _yaml_alone(case)
    for key, (name, given) in _arguments(case).items():
        if key in yaml:
            there = f"{yaml[key].value!r} in {yaml[key].place}"
            here = f"{name}={_shown(given)} in line {given.line} of the script"
            yield TWICE.found(case, "exp_launch_command", f"{key} is {there}, and {here}, which wins.")


def _later(case: Case) -> Findings:
    yaml, arguments = _yaml_alone(case), _arguments(case)
    for key, given in _writes(case).items():
        if key in yaml or key in arguments:
            before = repr(yaml[key].value) if key in yaml else "set by an argument"
            now = f"{_shown(given)} in line {given.line} of the script"
            message = f"{key}, {before} before, is written to {now}, which wins."
            yield WRITTEN_LATER.found(case, "exp_launch_command", message)


def _split(case: Case) -> Findings:
    by_script = _arguments(case).keys() | _writes(case).keys()
    by_yaml = {key for key in _yaml_alone(case) if key.startswith("ajet.")} - by_script
    if by_script and by_yaml:
        message = f"{len(by_yaml)} settings are in the yaml alone, and {len(by_script)} in the script."
        yield SPLIT.found(case, "exp_launch_command", message)


RULES = (
    rule(_twice, TWICE),
    rule(_later, WRITTEN_LATER),
    rule(_split, SPLIT),
)
