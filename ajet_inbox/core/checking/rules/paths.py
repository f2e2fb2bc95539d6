"""What is wrong with the paths that a blueprint names, as they are on this host."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from ajet_inbox.core.blueprint import Level
from ajet_inbox.core.checking.facts import PathFacts
from ajet_inbox.core.checking.rule import Case, Code, Finding, Findings, rule
from ajet_inbox.core.checking.sources import conf_file, result_files
from ajet_inbox.core.reading.resolve import is_below, is_placeholder, is_rooted

PYTHON_NAME = re.compile(r"(?:python|pypy)[\d.]*")


def _error(name: str, about: str, fix: str) -> Code:
    return Code(name=name, level=Level.ERROR, about=about, fix=fix)


CODEBASE_ABSENT = _error("codebase_absent", "The codebase does not exist.", "Correct the path.")
CODEBASE_SILENT = _error("codebase_silent", "The codebase cannot be looked at.", "Look at the mount it lies on.")
CODEBASE_NO_FOLDER = _error("codebase_no_folder", "The codebase is not a folder.", "Name the code's folder.")
CODEBASE_UNREADABLE = _error("codebase_unreadable", "The codebase may not be read.", "Grant read access.")
INTERPRETER_ABSENT = _error("interpreter_absent", "The interpreter does not exist.", "Correct the path.")
INTERPRETER_SILENT = _error(
    "interpreter_silent", "The interpreter cannot be looked at.", "Look at the mount it lies on."
)
INTERPRETER_NOT_EXECUTABLE = _error(
    "interpreter_not_executable",
    "The interpreter cannot be executed.",
    "Name the python executable of the environment.",
)
INTERPRETER_NO_PYTHON = _error(
    "interpreter_no_python",
    "The interpreter does not say a Python version when it is asked for it. Only a warning in generic mode, and where"
    " its name is not that of a Python, for then it is not asked.",
    "Name a working python executable; run it with --version to see what is wrong.",
)
YAML_ABSENT = _error("yaml_absent", "The yaml does not exist.", "Correct the path.")
YAML_SILENT = _error("yaml_silent", "The yaml cannot be looked at.", "Look at the mount it lies on.")
YAML_UNREADABLE = _error("yaml_unreadable", "The yaml is no file that may be read.", "Name a yaml file.")
CONF_ABSENT = _error(
    "conf_absent",
    "The command's --conf names a file that does not exist. Only a warning where the command may make it.",
    'Correct it, or write --conf "$EXP_YAML_PATH" for the yaml of the section.',
)
SCRIPT_ABSENT = Code(
    name="script_absent",
    about="The Python script that the command runs does not exist.",
    fix="Correct its path: it is relative to the codebase.",
)
RESULT_SILENT = _error("result_dir_silent", "The result folder cannot be looked at.", "Look at the mount it lies on.")
RESULT_NO_FOLDER = _error("result_dir_no_folder", "The result folder is not a folder.", "Name another one.")
RESULT_NOT_WRITABLE = _error("result_dir_not_writable", "The result folder may not be written.", "Grant write access.")
RESULT_NOT_CREATABLE = _error(
    "result_dir_not_creatable", "The result folder cannot be made where it should be.", "Name another folder."
)
RESULT_AWAY = _error(
    "result_dir_away",
    "The result folder's parent does not exist, nor anything above it but /: nothing is ever delivered there.",
    "Correct the path, make its parent folder, or mount what is missing.",
)
RESULT_BELOW_EMPTY = Code(
    name="result_dir_below_empty",
    about="The result folder's parent does not exist, and the folder above it is empty: a mount may be away. Results"
    " are delivered only if the experiment makes the folder, or something else fills it.",
    fix="Make its parent folder, or mount what is missing.",
)
RESULT_USED = Code(
    name="result_dir_used",
    about="The result folder holds the results of an earlier run. They are moved aside, never overwritten.",
    fix="Give each experiment a folder of its own.",
)
DISK_LOW = Code(
    name="disk_space_low",
    about="Less space is free than `limits.free_disk` says, where results or checkpoints will be written.",
    fix="Remove old checkpoints, or write to another filesystem.",
)
DISK_BELOW_CHECKPOINTS = Code(
    name="disk_space_below_checkpoints",
    about="Less space is free than another experiment of the same project took for its checkpoints.",
    fix="Remove old checkpoints, or set a larger ajet.trainer_common.save_freq.",
)


def _is_looked_at(case: Case, path: str) -> bool:
    """Not where the text alone is wrong, nor what is missing only with the codebase: one cause, one error."""
    codebase = case.blueprint.codebase_dir
    is_lost = is_below(path, codebase) and not case.facts.about(codebase or "").exists
    return is_rooted(path) and not is_placeholder(path) and not is_lost


def _codebase(case: Case) -> Findings:
    section, path = "exp_codebase_dir", case.blueprint.codebase_dir
    if path is None or not _is_looked_at(case, path):
        return
    found = case.facts.about(path)
    if absent := _absent(case, CODEBASE_ABSENT, CODEBASE_SILENT, found, section, path):
        yield absent
    elif not found.is_dir:
        yield CODEBASE_NO_FOLDER.found(case, section, f"{path} is not a folder.")
    elif not (found.readable and found.executable):
        yield CODEBASE_UNREADABLE.found(case, section, f"{path} may not be read.")


def _interpreter(case: Case) -> Findings:
    section, path = "exp_venv_exe", case.blueprint.venv_exe
    if path is None or not _is_looked_at(case, path):
        return
    found = case.facts.about(path)
    if absent := _absent(case, INTERPRETER_ABSENT, INTERPRETER_SILENT, found, section, path):
        yield absent
    elif found.is_dir or not found.executable:
        yield INTERPRETER_NOT_EXECUTABLE.found(case, section, f"{path} cannot be executed.")
    else:
        yield from _version(case, section, path)


def _version(case: Case, section: str, path: str) -> Findings:
    asked = case.facts.interpreter
    if not PYTHON_NAME.fullmatch(PurePosixPath(path).name):
        message = f"{path} is not named like a Python, and was not asked for its version."
        yield INTERPRETER_NO_PYTHON.found(case, section, message, level=Level.WARNING)
    elif asked is not None and asked.version is None:
        level = Level.ERROR if case.is_agentjet else Level.WARNING
        said = f": {asked.said}" if asked.said else ""
        message = f"{path} does not answer as a Python{said}."
        yield INTERPRETER_NO_PYTHON.found(case, section, message, level=level)


def _yaml(case: Case) -> Findings:
    section, path = "exp_yaml_path", case.blueprint.yaml_path
    if path is None or not _is_looked_at(case, path):
        return
    found = case.facts.about(path)
    if absent := _absent(case, YAML_ABSENT, YAML_SILENT, found, section, path):
        yield absent
    elif not (found.is_file and found.readable):
        yield YAML_UNREADABLE.found(case, section, f"{path} is no file that may be read.")


def _conf(case: Case) -> Findings:
    blueprint = case.blueprint
    path = conf_file(blueprint)
    if path is None or path == blueprint.yaml_path or not _is_missing(case, path):
        return
    name = PurePosixPath(path).name
    made = blueprint.prepare_command is not None or (blueprint.launch_command or "").count(name) > 1
    level = Level.WARNING if made or not case.is_agentjet else Level.ERROR
    certain = _is_certain(case.facts.about(path))
    message = f"The command's --conf names {path}, which does not exist."
    yield CONF_ABSENT.found(case, "exp_launch_command", message, fragment=name, level=level, certain=certain)


def _script(case: Case) -> Findings:
    path = case.sources.script_path
    if path is not None and _is_missing(case, path):
        message = f"The command runs {path}, which does not exist."
        yield SCRIPT_ABSENT.found(case, "exp_launch_command", message, fragment=PurePosixPath(path).stem)


def _is_missing(case: Case, path: str) -> bool:
    """Whether a path was looked up and is not there, while the codebase is."""
    found, codebase = case.facts.about(path), case.facts.about(case.blueprint.codebase_dir or "")
    return codebase.is_dir and found.answered and not found.exists


def _result_dir(case: Case) -> Findings:
    section, path = "exp_result_dir", case.blueprint.result_dir
    if path is None or not _is_looked_at(case, path):
        return
    found = case.facts.about(path)
    if not found.answered:
        yield _silent(case, RESULT_SILENT, found, section, path)
    elif found.exists and not found.is_dir:
        yield RESULT_NO_FOLDER.found(case, section, f"{path} is not a folder.")
    elif found.exists and not found.writable:
        yield RESULT_NOT_WRITABLE.found(case, section, f"{path} may not be written.")
    elif not found.exists and not found.ancestor_writable:
        message = f"{path} cannot be made: {found.ancestor or 'no folder above it'} may not be written."
        yield RESULT_NOT_CREATABLE.found(case, section, message, certain=_is_certain(found))
    elif not found.exists and found.ancestor not in (None, str(PurePosixPath(path).parent)):
        yield from _far_from_what_exists(case, section, path, found)


def _far_from_what_exists(case: Case, section: str, path: str, absent: PathFacts) -> Findings:
    """Nothing is delivered into what may be a mount point (contract section 3): it would vanish under a mount."""
    if absent.ancestor == "/":
        yield RESULT_AWAY.found(case, section, f"Nothing of {path} is there but /.", certain=_is_certain(absent))
    elif absent.ancestor_empty:
        message = f"Nothing of {path} is there but {absent.ancestor}, which is empty: a mount may be away."
        yield RESULT_BELOW_EMPTY.found(case, section, message)


def _used(case: Case) -> Findings:
    there = [path for path in result_files(case.blueprint) if case.facts.about(path).exists]
    if there:
        names = ", ".join(PurePosixPath(path).name for path in there)
        message = f"{case.blueprint.result_dir} holds {names} of an earlier run; they will be moved aside."
        yield RESULT_USED.found(case, "exp_result_dir", message)


def _disk(case: Case) -> Findings:
    least = case.settings.limits.free_disk
    told = set[int]()  # one filesystem is told of once
    for section, path in (
        ("exp_result_dir", case.blueprint.result_dir),
        ("exp_codebase_dir", case.blueprint.codebase_dir),
    ):
        free = case.facts.about(path).free_bytes if path else None
        if free is not None and free < least and free not in told:
            told.add(free)
            yield DISK_LOW.found(case, section, f"Only {_gib(free)} are free where {path} lies.")


def _siblings(case: Case) -> Findings:
    codebase, taken = case.blueprint.codebase_dir, case.facts.checkpoint_bytes
    free = case.facts.about(codebase).free_bytes if codebase else None
    if free is not None and taken is not None and free < taken:
        message = f"{_gib(free)} are free, and another experiment saved {_gib(taken)} of checkpoints."
        yield DISK_BELOW_CHECKPOINTS.found(case, "exp_codebase_dir", message)


def _gib(size: int) -> str:
    return f"{size / (1 << 30):.1f} GiB"


def _is_certain(found: PathFacts) -> bool:
    """Whether an absence is sure: an empty folder above may be where a mount is missing."""
    return found.answered and found.ancestor is not None and not found.ancestor_empty


def _absent(case: Case, absent: Code, silent: Code, found: PathFacts, section: str, path: str) -> Finding | None:
    if not found.answered:
        return _silent(case, silent, found, section, path)
    if found.exists:
        return None
    message = f"{path} does not exist; the nearest folder above it is {found.ancestor or 'not known'}."
    certain = _is_certain(found)
    fix = absent.fix if certain else "Correct the path, or mount what is missing."
    return absent.found(case, section, message, certain=certain, fix=fix)


def _silent(case: Case, code: Code, found: PathFacts, section: str, path: str) -> Finding:
    return code.found(case, section, f"{path} cannot be looked at: {found.why}.", certain=False)


RULES = (
    rule(_codebase, CODEBASE_ABSENT, CODEBASE_SILENT, CODEBASE_NO_FOLDER, CODEBASE_UNREADABLE),
    rule(_interpreter, INTERPRETER_ABSENT, INTERPRETER_SILENT, INTERPRETER_NOT_EXECUTABLE, INTERPRETER_NO_PYTHON),
    rule(_yaml, YAML_ABSENT, YAML_SILENT, YAML_UNREADABLE),
    rule(_conf, CONF_ABSENT),
    rule(_script, SCRIPT_ABSENT),
    rule(
        _result_dir,
        RESULT_SILENT,
        RESULT_NO_FOLDER,
        RESULT_NOT_WRITABLE,
        RESULT_NOT_CREATABLE,
        RESULT_AWAY,
        RESULT_BELOW_EMPTY,
    ),
    rule(_used, RESULT_USED),
    rule(_disk, DISK_LOW),
    rule(_siblings, DISK_BELOW_CHECKPOINTS),
)
