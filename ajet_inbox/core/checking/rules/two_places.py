"""The configuration in two places: a client script that sets AgentJetJob(...), and the yaml that it starts from.

AgentJet's own advice is one place or the other, never both: whoever reads the yaml alone is led astray.
"""

from __future__ import annotations

from pathlib import PurePosixPath

from ajet_inbox.core.blueprint import Level
from ajet_inbox.core.checking.rule import Case, Code, Findings, rule
from ajet_inbox.core.training.ajet_config import Config, configured
from ajet_inbox.core.training.ajet_job import Given, Job
from ajet_inbox.core.training.ajet_keys import ARGUMENTS
from ajet_inbox.core.training.yaml_file import YamlFile

_MOST_TOLD = 20

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


def _yaml_and_job(case: Case) -> tuple[Config, Job] | None:
    """What the yaml alone configures, and the job; None where there are not both."""
    yaml, job = case.sources.yaml, case.sources.job
    if not isinstance(yaml, YamlFile) or not isinstance(job, Job) or "base_yaml_config" not in job.arguments:
        return None
    name = PurePosixPath(case.sources.yaml_path or "").name
    return configured(yaml, name, None, "", swarm=True), job


def _twice(case: Case) -> Findings:
    both = _yaml_and_job(case)
    config, job = both or (Config(), Job(line=1))
    told = [(key, name, given) for name, given in job.arguments.items() if (key := ARGUMENTS.get(name))]
    for key, name, given in [each for each in told if each[0] in config.settings and _is_set(each[2])][:_MOST_TOLD]:
        there = config.get(key)
        message = (
            f"{key} is {there.value!r} in {there.place}, and {name}={_shown(given)} in line {given.line} of the script,"
            " which wins."
        )
        yield TWICE.found(case, "exp_launch_command", message)


def _is_set(given: Given) -> bool:
    return given.value is not None or not given.known


def _shown(given: Given) -> str:
    return repr(given.value) if given.known else "something computed"


def _later(case: Case) -> Findings:
    job = case.sources.job
    if not isinstance(job, Job):
        return
    both = _yaml_and_job(case)
    yaml = both[0].settings if both else {}
    arguments = {ARGUMENTS[name] for name, given in job.arguments.items() if name in ARGUMENTS and _is_set(given)}
    for key, given in [(k, g) for k, g in job.writes.items() if k in yaml or k in arguments][:_MOST_TOLD]:
        before = repr(yaml[key].value) if key in yaml else "set by an argument"
        message = (
            f"{key}, {before} before, is written to {_shown(given)} in line {given.line} of the script, which wins."
        )
        yield WRITTEN_LATER.found(case, "exp_launch_command", message)


def _split(case: Case) -> Findings:
    both = _yaml_and_job(case)
    if both is None:
        return
    config, job = both
    by_script = {ARGUMENTS[n] for n, g in job.arguments.items() if n in ARGUMENTS and _is_set(g)} | job.writes.keys()
    by_yaml = {key for key in config.settings if key.startswith("ajet.")} - by_script
    if by_script and by_yaml:
        message = f"{len(by_yaml)} settings are in the yaml alone, and {len(by_script)} in the script."
        yield SPLIT.found(case, "exp_launch_command", message)


RULES = (
    rule(_twice, TWICE),
    rule(_later, WRITTEN_LATER),
    rule(_split, SPLIT),
)
