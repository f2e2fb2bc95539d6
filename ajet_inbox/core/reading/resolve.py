"""Paths of a blueprint made absolute, by text alone: nothing is looked up."""

from __future__ import annotations

import re
from pathlib import PurePosixPath

from msgspec.structs import replace

from ajet_inbox.core.blueprint import Blueprint

_REFERENCE = re.compile(r"[\[{<](?P<a>exp_\w+)[\]}>]|\$\{(?P<b>exp_\w+)\}|\$(?P<c>exp_\w+)")
_VARIABLE = re.compile(r"\$\{(exp_\w+)\}")
_ROOTED = re.compile(r"[/~$<{]")
_CD = re.compile(r"(?:^|&&|;|\n)\s*(?:cd|pushd)\s+(\"[^\"]+\"|'[^']+'|[^\s;&|]+)")
_PLACEHOLDER = re.compile(
    r"[<{$]|^/(?:abs(?:olute)?/)?path/to\b|\b(?:todo|tbd|fixme|xxx+|your[_-]\w+)\b|\.\.\.|…", re.I
)
_EXECUTABLE = re.compile(r"(?:python|pypy|ipython|conda)[\w.-]*$")
_ENVIRONMENT = re.compile(r"\.?(?:v|virtual)?env[\w.-]*$|[\w.-]*[-_.]v?env$", re.I)


def expand(script: str, values: dict[str, str | None]) -> str:
    """`script` with `${exp_codebase_dir}` and the like replaced by what those sections say."""
    return _VARIABLE.sub(lambda m: values.get(m[1]) or m[0], script)


def refer(text: str, values: dict[str, str | None]) -> str:
    """`text` with `[exp_codebase_dir]`, `${exp_codebase_dir}` and the like replaced by what those sections say."""
    return _REFERENCE.sub(lambda m: values.get(m["a"] or m["b"] or m["c"]) or m[0], text)


def join(path: str, base: str | None) -> str:
    """`path` below `base` if it is relative, without `.` and `..`, as far as the text alone tells."""
    rooted = base is None or _ROOTED.match(path)
    parts: list[str] = []
    for part in (PurePosixPath(path) if rooted else PurePosixPath(base or "", path)).parts:
        if part == ".." and parts and parts[-1] not in ("..", "/") and not _ROOTED.match(parts[-1]):
            parts.pop()
        elif part != ".." or parts != ["/"]:
            parts.append(part)
    return str(PurePosixPath(*parts))


def interpreter(path: str) -> str:
    """The python that a path to an environment, its `bin` or its `activate` script means."""
    folder = PurePosixPath(path)
    if _EXECUTABLE.match(folder.name) and not path.endswith("/"):
        return path
    if folder.name.startswith("activate"):
        return str(folder.with_name("python"))
    if folder.name == "bin":
        return str(folder / "python")
    if _ENVIRONMENT.match(folder.name) or folder.parent.name == "envs" or path.endswith("/"):
        return str(folder / "bin" / "python")
    return path


def command_folder(command: str, codebase: str | None) -> str | None:
    """The folder in which the last part of `command` runs: the codebase, or where it changes to."""
    folder = codebase
    for change in _CD.finditer(command.partition("--conf")[0]):
        target = change[1].strip("\"'")
        if "$" not in target and target != "-":
            folder = join(target, folder)
    return folder


def rebase(blueprint: Blueprint, work: str, *, dropped_at: str | None = None) -> Blueprint:
    """`blueprint` with the folder `work` in place of a codebase of `./`, and of `dropped_at`, where the drop once lay.

    Raises nothing; a blueprint that names neither stays as it is.
    """
    codebase = blueprint.codebase_dir
    base = work if codebase is not None and not _ROOTED.match(codebase) else None
    place = re.compile(rf"(?<![\w./-]){re.escape(dropped_at)}(?![\w.-])") if dropped_at else None

    def moved(text: str) -> str:
        return place.sub(lambda _: work, text) if place else text

    def moved_path(path: str | None) -> str | None:
        if path is None:
            return None
        return moved(join(path, work) if base and not _ROOTED.match(path) else path)

    return replace(
        blueprint,
        codebase_dir=moved_path(codebase),
        venv_exe=moved_path(blueprint.venv_exe),
        yaml_path=moved_path(blueprint.yaml_path),
        result_dir=moved_path(blueprint.result_dir),
        launch_command=blueprint.launch_command and moved(blueprint.launch_command),
        prepare_command=blueprint.prepare_command and moved(blueprint.prepare_command),
        cleanup_command=blueprint.cleanup_command and moved(blueprint.cleanup_command),
        services=tuple(replace(each, command=moved(each.command)) for each in blueprint.services),
        env={name: moved(value) for name, value in blueprint.env.items()},
    )


def is_rooted(path: str) -> bool:
    """Whether `path` needs nothing to be joined to: absolute, below a home, or one that begins with a placeholder."""
    return bool(_ROOTED.match(path))


def is_placeholder(path: str) -> bool:
    """Whether somebody still has to write the path itself: `<path>`, `/path/to/code`."""
    return bool(_PLACEHOLDER.search(path))


def is_below(path: str, folder: str | None) -> bool:
    """Whether `path` lies inside of `folder`, as far as the text alone tells."""
    return folder is not None and path != folder and PurePosixPath(path).is_relative_to(folder)
