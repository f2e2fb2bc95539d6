"""What was looked up in the world about a blueprint: plain values, so that every rule is a pure function."""

from __future__ import annotations

from msgspec import Struct


class PathFacts(Struct, frozen=True, kw_only=True):
    """One path as it was found.

    `answered` is False where the look-up took too long or failed for a reason other than absence; nothing but `why`
    is known then. `ancestor` is the nearest folder above that exists, `ancestor_empty` whether nothing is in it, as in
    an empty mount point; both are about paths that do not exist. `real` is the path without symbolic links, `mode` its
    permission bits, `edition` its inode and time of change in ns. `free_bytes` is the space left on its filesystem, or
    on that of the ancestor.
    """

    answered: bool = True
    why: str = ""
    exists: bool = False
    is_dir: bool = False
    is_file: bool = False
    readable: bool = False
    writable: bool = False
    executable: bool = False
    mode: int = 0
    real: str | None = None
    ancestor: str | None = None
    ancestor_empty: bool = False
    ancestor_writable: bool = False
    free_bytes: int | None = None
    edition: tuple[int, int] | None = None


class FileText(Struct, frozen=True, kw_only=True):
    """A text file as it was read; `text` is None where it could not be, and `why` says the reason."""

    text: str | None = None
    why: str = ""


class Interpreter(Struct, frozen=True, kw_only=True):
    """What an interpreter said when it was asked for its version; `version` is None where that was none."""

    version: str | None = None
    said: str = ""


class Syntax(Struct, frozen=True, kw_only=True):
    """What bash finds wrong with a script, and the line of the script, from 1."""

    line: int | None
    message: str


class Facts(Struct, frozen=True, kw_only=True):
    """What was looked up. What nobody asked for, or what did not answer in time, is None or left out.

    `paths` and `files` are by path as the blueprint, its yaml or its script writes it, made absolute. `syntax` is by
    the script itself. `env`: the names in the environment that the experiment gets. `processes`: the command lines of
    this host. `inbox`: where drops arrive. `slot_gpus`: how many GPUs each slot of the home has. `dropped_by`: the
    users that own the drop. `checkpoint_bytes`: what the largest experiment of the same project has saved.
    `experiments`: for each project and experiment name of an unfinished run, that run.
    """

    paths: dict[str, PathFacts] = {}
    files: dict[str, FileText] = {}
    interpreter: Interpreter | None = None
    syntax: dict[str, Syntax] = {}
    env: frozenset[str] | None = None
    processes: tuple[str, ...] | None = None
    inbox: str | None = None
    slot_gpus: tuple[int, ...] = ()
    dropped_by: tuple[str, ...] = ()
    checkpoint_bytes: int | None = None
    experiments: dict[tuple[str, str], str] = {}

    def about(self, path: str) -> PathFacts:
        """The facts about `path`; one that nobody looked up did not answer."""
        return self.paths.get(path, PathFacts(answered=False, why="nobody looked"))

    def text(self, path: str | None) -> str | None:
        """What the file at `path` holds; None where it could not be read."""
        file = self.files.get(path) if path else None
        return file.text if file else None
