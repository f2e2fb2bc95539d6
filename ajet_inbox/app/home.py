"""Which folder is meant (contract section 1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ajet_inbox.app.errors import NoHome
from ajet_inbox.core.paths import CONFIG, HomePaths
from ajet_inbox.edge.files import list_names

VARIABLE = "AJET_INBOX_HOME"


def find_home(given: str | None, environ: Mapping[str, str], cwd: Path) -> HomePaths:
    """The home named by `given`, else by the environment, else the nearest one upward from `cwd`. Makes nothing.

    Raises:
        NoHome: none is named and none is found, or what is named is no home.
    """
    for named, source in ((given, "--home"), (environ.get(VARIABLE), f"${VARIABLE}")):
        if named:
            return _named(Path(cwd, named).resolve(), source)
    for folder in (cwd, *cwd.parents):
        if is_home(folder):
            return HomePaths(folder)
    raise NoHome(
        f"Neither {cwd} nor a folder above it is a home.", "Make one with 'ajet-inbox init', or name one by --home."
    )


def is_home(folder: Path) -> bool:
    """Whether a folder holds the settings file, or both an inbox and an outbox."""
    parts = _parts(folder)
    return CONFIG in parts or len(parts) == 2


def _parts(folder: Path) -> set[str]:
    """What a folder has of a home."""
    home = HomePaths(folder)
    try:
        names = list_names(folder)
    except OSError:
        return set()  # nothing that may not be listed is a home of ours
    boxes = {box.name for box in (home.inbox, home.outbox) if box.name in names and box.is_dir()}
    return boxes | ({CONFIG} & set(names))


def _named(folder: Path, source: str) -> HomePaths:
    """One part is enough: a home that is named stays one while its inbox is missing."""
    if _parts(folder):
        return HomePaths(folder)
    raise NoHome(f"{folder}, named by {source}, is not a home.", f"Make it one with 'ajet-inbox init {folder}'.")
