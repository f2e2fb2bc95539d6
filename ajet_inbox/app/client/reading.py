"""What a blueprint says, read from where its author keeps it."""

from __future__ import annotations

from pathlib import Path

from ajet_inbox.app.examine import examine
from ajet_inbox.core.blueprint import Blueprint, Problem, Reading
from ajet_inbox.core.drops import BLUEPRINT_NAME
from ajet_inbox.core.settings import Autokill, Limits
from ajet_inbox.edge.files import Unreadable, read_regular


def read_from(path: Path) -> Reading:
    """The blueprint in a file, or in a folder that holds `blueprint.md`, with what is wrong in text and world."""
    is_folder = path.is_dir()
    file = (path / BLUEPRINT_NAME if is_folder else path).resolve()
    data = read_regular(file, Limits().blueprint_bytes)
    if isinstance(data, Unreadable):
        problem = Problem(code="unreadable", message=f"{data.message}.")
        return Reading(blueprint=Blueprint(), problems=(problem,))
    found = examine(data, path.resolve().stem, file.parent if is_folder else None, Autokill.STRIP)
    return Reading(blueprint=found.here, problems=found.problems)
