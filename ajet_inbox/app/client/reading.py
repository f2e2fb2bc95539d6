"""What a blueprint says, read from where its author keeps it."""

from __future__ import annotations

from pathlib import Path

from ajet_inbox.app.errors import UserError
from ajet_inbox.core.blueprint import Reading
from ajet_inbox.core.drops import BLUEPRINT_NAME
from ajet_inbox.core.parse import decode, read_blueprint
from ajet_inbox.core.settings import Limits
from ajet_inbox.edge.files import Unreadable, read_regular


def read_from(path: Path) -> Reading:
    """The blueprint in a file, or in a folder that holds `blueprint.md`, with what is wrong in its text.

    Raises:
        UserError: it cannot be read.
    """
    is_folder = path.is_dir()
    file = (path / BLUEPRINT_NAME if is_folder else path).resolve()
    data = read_regular(file, Limits().blueprint_bytes)
    if isinstance(data, Unreadable):
        raise UserError(f"{data.message}.", "Give a blueprint, or a folder that holds a blueprint.md.")
    text, problems = decode(data)
    reading = read_blueprint(text, name=path.resolve().stem, folder_drop=is_folder)
    return Reading(blueprint=reading.blueprint, problems=(*problems, *reading.problems))
