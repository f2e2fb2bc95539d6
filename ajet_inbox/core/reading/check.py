"""What is wrong with a blueprint as read: in its own text, and in the world that it names (contract sections 4, 6, 7).

One small function a rule; a rule yields its problems.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from msgspec import Struct

from ajet_inbox.core.blueprint import Blueprint, Kind, Level, Problem
from ajet_inbox.core.reading.facts import Facts, PathFacts
from ajet_inbox.core.reading.resolve import command_folder, is_rooted, join
from ajet_inbox.core.reading.shell import scan_script
from ajet_inbox.core.settings import Autokill
from ajet_inbox.core.training.ajet import conf_path, strip_autokill


class WorldProblem(Struct, frozen=True, kw_only=True):
    """A problem in the world. `certain`: no mount that comes back later would cure it."""

    problem: Problem
    certain: bool


class _Text(Struct, frozen=True, kw_only=True):
    blueprint: Blueprint
    folder_drop: bool
    autokill: Autokill


def text_problems(
    blueprint: Blueprint, *, folder_drop: bool = False, autokill_policy: Autokill = Autokill.STRIP
) -> tuple[Problem, ...]:
    """What is wrong in the text alone, and stays wrong for ever."""
    text = _Text(blueprint=blueprint, folder_drop=folder_drop, autokill=autokill_policy)
    return tuple(problem for rule in _TEXT_RULES for problem in rule(text))


def world_problems(blueprint: Blueprint, facts: Facts) -> tuple[WorldProblem, ...]:
    """What is wrong in the world, as far as `facts` tell."""
    return tuple(problem for rule in _WORLD_RULES for problem in rule(blueprint, facts))


def looked_up(blueprint: Blueprint) -> tuple[str, ...]:
    """The paths whose facts `world_problems` asks for."""
    named = (blueprint.codebase_dir, blueprint.venv_exe, blueprint.yaml_path, blueprint.result_dir)
    return tuple(dict.fromkeys(path for path in named if path and is_rooted(path)))


# ---- in the text ----

_PLACEHOLDER = re.compile(
    r"[<{$]|^/(?:abs(?:olute)?/)?path/to\b|\b(?:todo|tbd|fixme|xxx+|your[_-]\w+)\b|\.\.\.|…", re.I
)
_SMART = re.compile(r"[“”‘’]|(?<=\s)[–—](?=\w)")


def _dropped_folder(text: _Text) -> Iterator[Problem]:
    codebase = text.blueprint.codebase_dir
    if codebase is None or is_rooted(codebase) or text.folder_drop:
        return
    message = f"The codebase {codebase} is relative, and the blueprint came without a folder."
    hint = "Write an absolute path, or drop a folder that holds blueprint.md and the code."
    yield _text("codebase_relative", text, "exp_codebase_dir", message, hint)


def _relative_paths(text: _Text) -> Iterator[Problem]:
    blueprint = text.blueprint
    if blueprint.codebase_dir is not None or text.folder_drop:
        return
    for section, path in (("exp_venv_exe", blueprint.venv_exe), ("exp_result_dir", blueprint.result_dir)):
        if path is not None and not is_rooted(path):
            message = f"{path} is relative, and there is no codebase to which."
            yield _text("path_relative", text, section, message, "Write an absolute path.")


def _interpreter_name(text: _Text) -> Iterator[Problem]:
    path = text.blueprint.venv_exe
    if path is not None and "/" not in path:
        message = f"{path} does not say which interpreter."
        yield _text("interpreter_unclear", text, "exp_venv_exe", message, "Write its absolute path.")


def _placeholders(text: _Text) -> Iterator[Problem]:
    for section, path in _paths(text.blueprint):
        if _PLACEHOLDER.search(path):
            message = f"{path} still holds a placeholder."
            yield _text("placeholder_unresolved", text, section, message, "Write the path itself.")


def _result_at_root(text: _Text) -> Iterator[Problem]:
    result = text.blueprint.result_dir
    if result == "/":
        yield _text("result_dir_is_root", text, "exp_result_dir", "Results cannot go to /.", "Name a folder.")


def _autokill(text: _Text) -> Iterator[Problem]:
    commands = (text.blueprint.launch_command, *(service.command for service in text.blueprint.services))
    if text.autokill is Autokill.ALLOW or not any(strip_autokill(c or "")[1] for c in commands):
        return
    message = "--autokill (or --kill) would end every python, ray and vllm of the host."
    if text.autokill is Autokill.REJECT:
        yield _text("autokill_forbidden", text, "exp_launch_command", message, "Leave it out.")
    else:
        hint = "It is replaced by --skip-check-avail-gpu; leave it out."
        yield _text("autokill_stripped", text, "exp_launch_command", message, hint, Level.WARNING)


def _open_ends(text: _Text) -> Iterator[Problem]:
    for section, script in _scripts(text.blueprint):
        scan = scan_script(script)
        if scan.quote or scan.documents:
            what = f"quote {scan.quote}" if scan.quote else f"here-document {scan.documents[0]}"
            yield _text("quote_open", text, section, f"The command ends inside a {what}.", "Close it.")
        elif scan.continued:
            message = "The command ends where it should go on, after a backslash, && or |."
            yield _text("command_cut_off", text, section, message, "Finish or shorten it.", Level.WARNING)


def _smart_quotes(text: _Text) -> Iterator[Problem]:
    for section, script in _scripts(text.blueprint):
        if found := _SMART.search(script):
            message = f"The command holds the typographic character {found[0]}, which bash takes literally."
            yield _text("typographic_quote", text, section, message, "Write a plain one.", Level.WARNING)


def _other_yaml(text: _Text) -> Iterator[Problem]:
    blueprint = text.blueprint
    command = blueprint.launch_command or ""
    conf, yaml = conf_path(command), blueprint.yaml_path
    if conf is None or yaml is None or join(conf, command_folder(command, blueprint.codebase_dir)) == yaml:
        return
    message = f"The command's --conf names {conf}, the section {yaml}; the command decides."
    yield _text("yaml_differs", text, "exp_yaml_path", message, "Let both name the same file.", Level.WARNING)


_TEXT_RULES: tuple[Callable[[_Text], Iterator[Problem]], ...] = (
    _dropped_folder,
    _relative_paths,
    _interpreter_name,
    _placeholders,
    _result_at_root,
    _autokill,
    _open_ends,
    _smart_quotes,
    _other_yaml,
)


def _paths(blueprint: Blueprint) -> Iterator[tuple[str, str]]:
    for section, path in (
        ("exp_codebase_dir", blueprint.codebase_dir),
        ("exp_venv_exe", blueprint.venv_exe),
        ("exp_yaml_path", blueprint.yaml_path),
        ("exp_result_dir", blueprint.result_dir),
    ):
        if path is not None:
            yield section, path


def _scripts(blueprint: Blueprint) -> Iterator[tuple[str, str]]:
    for section, script in (
        ("exp_launch_command", blueprint.launch_command),
        ("exp_prepare_command", blueprint.prepare_command),
        ("exp_cleanup_command", blueprint.cleanup_command),
        *(("exp_services", service.command) for service in blueprint.services),
    ):
        if script is not None:
            yield section, script


def _text(code: str, text: _Text, section: str, message: str, hint: str, level: Level = Level.ERROR) -> Problem:
    line = text.blueprint.lines.get(section)
    return Problem(code=code, level=level, section=section, line=line, message=message, hint=hint)


# ---- in the world ----


def _codebase(blueprint: Blueprint, facts: Facts) -> Iterator[WorldProblem]:
    section, path = "exp_codebase_dir", blueprint.codebase_dir
    if path is None or not is_rooted(path):
        return
    found = facts.about(path)
    if absent := _absent("codebase", found, blueprint, section, path):
        yield absent
    elif not found.is_dir:
        yield _world("codebase_no_folder", blueprint, section, f"{path} is not a folder.", "Name the code's folder.")
    elif not (found.readable and found.executable):
        yield _world("codebase_unreadable", blueprint, section, f"{path} may not be read.", "Grant read access.")


def _interpreter(blueprint: Blueprint, facts: Facts) -> Iterator[WorldProblem]:
    section, path = "exp_venv_exe", blueprint.venv_exe
    if path is None or not is_rooted(path):
        return
    found = facts.about(path)
    if absent := _absent("interpreter", found, blueprint, section, path):
        yield absent
    elif found.is_dir or not found.executable:
        hint = "Name the python executable of the environment."
        yield _world("interpreter_not_executable", blueprint, section, f"{path} cannot be executed.", hint)


def _yaml(blueprint: Blueprint, facts: Facts) -> Iterator[WorldProblem]:
    section, path = "exp_yaml_path", blueprint.yaml_path
    if path is None or not is_rooted(path):
        return
    found = facts.about(path)
    if absent := _absent("yaml", found, blueprint, section, path):
        yield absent
    elif not (found.is_file and found.readable):
        yield _world("yaml_unreadable", blueprint, section, f"{path} is no file that may be read.", "Name a yaml file.")


def _result_dir(blueprint: Blueprint, facts: Facts) -> Iterator[WorldProblem]:
    section, path = "exp_result_dir", blueprint.result_dir
    if path is None or not is_rooted(path):
        return
    found = facts.about(path)
    if not found.answered:
        yield _silent("result_dir", found, blueprint, section, path)
    elif found.exists and not found.is_dir:
        yield _world("result_dir_no_folder", blueprint, section, f"{path} is not a folder.", "Name another one.")
    elif found.exists and not found.writable:
        yield _world(
            "result_dir_not_writable", blueprint, section, f"{path} may not be written.", "Grant write access."
        )
    elif not found.exists and not found.ancestor_writable:
        message = f"{path} cannot be made: {found.ancestor or 'no folder above it'} may not be written."
        certain = _is_certain(found)
        yield _world("result_dir_not_creatable", blueprint, section, message, "Name another folder.", certain=certain)


_WORLD_RULES: tuple[Callable[[Blueprint, Facts], Iterator[WorldProblem]], ...] = (
    _codebase,
    _interpreter,
    _yaml,
    _result_dir,
)


def _is_certain(found: PathFacts) -> bool:
    """Whether an absence is sure: an empty folder above may be where a mount is missing."""
    return found.answered and found.ancestor is not None and not found.ancestor_empty


def _absent(name: str, found: PathFacts, blueprint: Blueprint, section: str, path: str) -> WorldProblem | None:
    if not found.answered:
        return _silent(name, found, blueprint, section, path)
    if found.exists:
        return None
    message = f"{path} does not exist; the nearest folder above it is {found.ancestor or 'not known'}."
    certain = _is_certain(found)
    hint = "Correct the path." if certain else "Correct the path, or mount what is missing."
    return _world(f"{name}_absent", blueprint, section, message, hint, certain=certain)


def _silent(name: str, found: PathFacts, blueprint: Blueprint, section: str, path: str) -> WorldProblem:
    message = f"{path} cannot be looked at: {found.why}."
    return _world(f"{name}_silent", blueprint, section, message, "Look at the mount it lies on.", certain=False)


def _world(
    code: str, blueprint: Blueprint, section: str, message: str, hint: str, *, certain: bool = True
) -> WorldProblem:
    line = blueprint.lines.get(section)
    problem = Problem(code=code, kind=Kind.WORLD, section=section, line=line, message=message, hint=hint)
    return WorldProblem(problem=problem, certain=certain)
