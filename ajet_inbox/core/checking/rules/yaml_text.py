"""What is wrong with the files that configure an experiment, as files: their form, their place, their keys."""

from __future__ import annotations

from difflib import get_close_matches
from pathlib import PurePosixPath

from ajet_inbox.core.blueprint import Level, Mode
from ajet_inbox.core.checking.rule import Case, Code, Findings, rule
from ajet_inbox.core.checking.sources import conf_file
from ajet_inbox.core.training.ajet import is_launch
from ajet_inbox.core.training.ajet_job import Job
from ajet_inbox.core.training.ajet_keys import ARGUMENTS, KEYS, OPEN, OTHER_ARGUMENTS, VERSION
from ajet_inbox.core.training.yaml_file import Fault, YamlFile

_NEAR = 0.7

UNPARSABLE = Code(
    name="yaml_unparsable",
    level=Level.ERROR,
    about="The yaml is no yaml; the line and column are named. Only a warning in generic mode.",
    fix="Correct it there; mind indentation, tabs, and a blank behind each colon.",
)
NO_AJET = Code(
    name="yaml_no_ajet",
    level=Level.ERROR,
    about="The yaml of a classic AgentJet launch has no `ajet:`, without which the launcher ends at once.",
    fix="Put the keys below `ajet:`, or name the right file.",
)
OUTSIDE = Code(
    name="yaml_outside_codebase",
    about="The yaml lies outside the codebase, so the code alone does not tell what was run.",
    fix="Put it into the codebase, or beside the blueprint in a folder drop.",
)
KEY_TWICE = Code(
    name="yaml_key_twice",
    about="A key is given twice in the yaml; the later one counts, without a word.",
    fix="Leave one of them.",
)
KEY_UNKNOWN = Code(
    name="yaml_key_unknown",
    about="AgentJet has no such key and ignores it. Only told, without a warning, where no known key is like it.",
    fix="Correct its name; docs/checks.md says which version the known keys are from.",
)
ENDING = Code(
    name="yaml_ending",
    about="AgentJet's launcher takes only a file that ends with .yaml.",
    fix="Rename it.",
)
SCRIPT_BROKEN = Code(
    name="script_unparsable",
    about="The client script cannot be read as Python; the line is named. It may be meant for a newer one.",
    fix="Correct it there.",
)
ARGUMENT_UNKNOWN = Code(
    name="job_argument_unknown",
    about="AgentJetJob has no such argument in the versions known here, and refuses it.",
    fix="Correct its name, or write to job.config.ajet.* after the call.",
)


def _unparsable(case: Case) -> Findings:
    yaml = case.sources.yaml
    if isinstance(yaml, Fault):
        name = PurePosixPath(case.sources.yaml_path or "").name
        message = f"{name} cannot be read, line {yaml.line} column {yaml.column}: {yaml.message}."
        yield UNPARSABLE.found(case, _section(case), message, level=None if case.is_agentjet else Level.WARNING)


def _section(case: Case) -> str:
    """Where the blueprint names the yaml that counts."""
    named_there = case.sources.yaml_path == case.blueprint.yaml_path
    return "exp_yaml_path" if named_there else "exp_launch_command"


def _no_ajet(case: Case) -> Findings:
    yaml = case.sources.yaml
    is_ajet = case.blueprint.mode is Mode.CLASSIC and is_launch(case.blueprint.launch_command or "")
    if not is_ajet or not isinstance(yaml, YamlFile):
        return
    if not any(key == "ajet" or key.startswith("ajet.") for key in yaml.leaves):
        name = PurePosixPath(case.sources.yaml_path or "").name
        yield NO_AJET.found(case, _section(case), f"{name} has no `ajet:`.")


def _outside(case: Case) -> Findings:
    path, codebase = case.blueprint.yaml_path, case.blueprint.codebase_dir
    if path is None or codebase is None or case.folder_drop:
        return
    found, code = case.facts.about(path), case.facts.about(codebase)
    real, root = found.real or path, code.real or codebase
    if found.exists and not PurePosixPath(real).is_relative_to(root):
        yield OUTSIDE.found(case, "exp_yaml_path", f"{path} lies outside {codebase}.")


def _ending(case: Case) -> Findings:
    conf = conf_file(case.blueprint)
    if case.blueprint.mode is Mode.CLASSIC and conf is not None and not conf.endswith(".yaml"):
        name = PurePosixPath(conf).name
        yield ENDING.found(case, "exp_launch_command", f"{name} does not end with .yaml.", fragment=name)


def _twice(case: Case) -> Findings:
    yaml = case.sources.yaml
    for key, line in yaml.twice if isinstance(yaml, YamlFile) else ():
        yield KEY_TWICE.found(case, _section(case), f"{key} is given a second time in line {line} of the yaml.")


def _unknown(case: Case) -> Findings:
    yaml = case.sources.yaml
    if not case.is_agentjet or not isinstance(yaml, YamlFile):
        return
    for key, line in _strangers(yaml).items():
        near = _nearest(key)
        message = f"AgentJet has no key {key} (line {line} of the yaml)" + (f"; did you mean {near}?" if near else ".")
        yield KEY_UNKNOWN.found(case, _section(case), message, level=None if near else Level.INFO)


def _strangers(yaml: YamlFile) -> dict[str, int]:
    """The unknown keys with their lines; of a group that is unknown as a whole, the group."""
    found: dict[str, int] = {}
    for key, leaf in yaml.leaves.items():
        if not key.startswith("ajet.") and key.partition(".")[0] not in _MISPLACED:
            continue
        if key in KEYS or key in _PREFIXES or key.startswith(tuple(f"{group}." for group in OPEN)):
            continue
        found.setdefault(_unknown_part(key), leaf.line)
    return found


_PREFIXES = frozenset(".".join(parts[:n]) for parts in (key.split(".") for key in KEYS) for n in range(1, len(parts)))
_NAMES = KEYS | _PREFIXES
# Groups of `ajet:` that stand beside it by mistake. `data` is left out: verl has a group of that name there.
_MISPLACED = frozenset(key.split(".")[1] for key in KEYS if key.count(".") > 1) - {"data"}


def _unknown_part(key: str) -> str:
    """The shortest beginning of `key` that is unknown; a known key with something below it is told as a whole."""
    parts = key.split(".")
    beginnings = (".".join(parts[:n]) for n in range(1, len(parts)))
    return next((part for part in beginnings if part not in _PREFIXES and part not in KEYS), key)


def _nearest(key: str) -> str | None:
    """The known key or group that was meant: one that only lies elsewhere, else one that is spelled like it."""
    if f"ajet.{key}" in _NAMES:
        return f"ajet.{key}"
    group, _, last = key.rpartition(".")
    siblings = {name.rpartition(".")[2]: name for name in _NAMES if name.rpartition(".")[0] == group}
    if near := get_close_matches(last, siblings, n=1, cutoff=_NEAR):
        return siblings[near[0]]
    elsewhere = [name for name in KEYS if name.rpartition(".")[2] == last]
    return min(elsewhere, key=lambda name: (name.count("."), name), default=None)


def _script(case: Case) -> Findings:
    job = case.sources.job
    if isinstance(job, Fault):
        name = PurePosixPath(case.sources.script_path or "").name
        message = f"{name} cannot be read, line {job.line}: {job.message}."
        yield SCRIPT_BROKEN.found(case, "exp_launch_command", message, fragment=PurePosixPath(name).stem)


def _arguments(case: Case) -> Findings:
    job = case.sources.job
    unknown = [name for name in job.arguments if name not in _ARGUMENTS] if isinstance(job, Job) else []
    for name in unknown:
        near = next(iter(get_close_matches(name, _ARGUMENTS, n=1)), None)
        message = f"AgentJetJob has no argument {name}" + (f"; did you mean {near}?" if near else f" in {VERSION}.")
        yield ARGUMENT_UNKNOWN.found(case, "exp_launch_command", message)


_ARGUMENTS = frozenset(ARGUMENTS) | OTHER_ARGUMENTS

RULES = (
    rule(_unparsable, UNPARSABLE),
    rule(_no_ajet, NO_AJET),
    rule(_outside, OUTSIDE),
    rule(_ending, ENDING),
    rule(_twice, KEY_TWICE),
    rule(_unknown, KEY_UNKNOWN),
    rule(_script, SCRIPT_BROKEN),
    rule(_arguments, ARGUMENT_UNKNOWN),
)
