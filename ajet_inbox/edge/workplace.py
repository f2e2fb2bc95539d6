"""What is found where a draft is made: the repository, an interpreter, yamls that could be a base.

Nothing is executed but git, and that without what a repository may tell it to execute.
"""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from ajet_inbox.core.drafting.draft import Place
from ajet_inbox.edge.files import Unreadable, read_regular

GIT_S = 10.0
_INTERPRETER = "bin/python"
_ENVIRONMENTS = ("venv", ".venv")
_VARIABLES = ("VIRTUAL_ENV", "CONDA_PREFIX")
_MOST_FOLDERS = 2000
_MOST_FOUND = 20
_DEPTH = 4
_YAML_BYTES = 256 << 10
_AJET = re.compile(rb"^ajet:\s*(?:#.*)?$", re.M)
_CLIENT = re.compile(r"agent_roll\w*\.py|\w*swarm_client\w*\.py")
# What experiments write, and what is not the author's.
_PASSED_OVER = re.compile(r"\..*|saved_\w+|auto_agent|outbox|inbox|node_modules|site-packages|__pycache__|v?env")


def find(folder: Path, environ: Mapping[str, str]) -> Place:
    """What there is in `folder`, in the repository around it, and in `environ`."""
    root, commit = _repository(folder)
    codebase = root or folder
    interpreter = next(_interpreters(folder, codebase, environ), None)
    found = list(_files(folder))
    return Place(
        folder=str(folder),
        codebase=str(codebase),
        commit=commit,
        interpreter=str(interpreter or codebase / _ENVIRONMENTS[0] / _INTERPRETER),
        has_interpreter=interpreter is not None,
        yamls=tuple(str(path) for path in found if _is_ajet_yaml(path))[:_MOST_FOUND],
        clients=tuple(str(path) for path in found if _CLIENT.fullmatch(path.name))[:_MOST_FOUND],
        gpus=len(list(Path("/dev").glob("nvidia[0-9]*"))) or None,
    )


def sources(codebase: Path) -> dict[str, tuple[int, int, int]]:
    """The inode, size and mtime of each file that the repository of `codebase` tracks; empty where there is none."""
    root, _ = _repository(codebase)
    listed = _git(root, "ls-files", "-z") if root else None
    found = {}
    for name in filter(None, (listed or "").split("\0")):
        with contextlib.suppress(OSError):  # tracked, and deleted
            status = Path(root or codebase, name).lstat()
            found[name] = (status.st_ino, status.st_size, status.st_mtime_ns)
    return found


def _repository(folder: Path) -> tuple[Path | None, str | None]:
    """The root of the repository around `folder` and its commit; None where there is no such thing."""
    root, commit = _git(folder, "rev-parse", "--show-toplevel"), _git(folder, "rev-parse", "--verify", "HEAD")
    return Path(root.removesuffix("\n")) if root else None, commit.strip() if commit else None


def _git(folder: Path, *arguments: str) -> str | None:
    """What git answers; None where it is not there, does not know, or does not answer in time.

    A repository may belong to somebody else, and may name a program to watch its files: that one is not started.
    """
    command = ["git", "-C", str(folder), "-c", "safe.directory=*", "-c", "core.fsmonitor=false", *arguments]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=GIT_S)
    except (OSError, subprocess.SubprocessError):
        return None
    return os.fsdecode(done.stdout) if done.returncode == 0 else None


def _interpreters(folder: Path, codebase: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    around = [place / name for place in (folder, codebase) for name in _ENVIRONMENTS]
    around += [Path(environ[name]) for name in _VARIABLES if environ.get(name, "").startswith("/")]
    for environment in around:
        if os.access(environment / _INTERPRETER, os.X_OK):
            yield environment / _INTERPRETER


def _files(folder: Path) -> Iterator[Path]:
    """The files near `folder` that could matter, the nearest first."""
    waiting, seen = [(folder, 0)], 0
    while waiting and seen < _MOST_FOLDERS:
        current, depth = waiting.pop(0)
        seen += 1
        try:
            entries = sorted(os.scandir(current), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if depth < _DEPTH and not _PASSED_OVER.fullmatch(entry.name):
                    waiting.append((Path(entry.path), depth + 1))
            elif entry.is_file():
                yield Path(entry.path)


def _is_ajet_yaml(path: Path) -> bool:
    if path.suffix not in (".yaml", ".yml"):
        return False
    data = read_regular(path, _YAML_BYTES)
    return not isinstance(data, Unreadable) and bool(_AJET.search(data))
