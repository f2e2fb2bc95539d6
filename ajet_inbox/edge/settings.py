"""The settings file of a home."""

from __future__ import annotations

import os
from pathlib import Path

from ajet_inbox.core.settings import Settings
from ajet_inbox.core.settings.read import SettingsError, read_settings
from ajet_inbox.edge.files import Unreadable, Why, read_regular

MAX_BYTES = 256 << 10


def load(path: Path) -> Settings:
    """The settings in the file at `path`; the defaults where there is none. A symbolic link to it is followed.

    Raises:
        SettingsError: the file cannot be read, or what it says cannot be used; one sentence a problem, with its line.
    """
    data = read_regular(Path(os.path.realpath(path)), MAX_BYTES)
    if isinstance(data, Unreadable):
        # A link that leads nowhere is a mistake, not a home without settings.
        if data.why is Why.MISSING and not path.is_symlink():
            return Settings()
        raise SettingsError((f"{path.name}:1: {data.message}.",))
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise SettingsError((f"{path.name}:{line}: this is not text in UTF-8.",)) from None
    return read_settings(text, path.name)
