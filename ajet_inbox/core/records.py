"""The base of every record: frozen, keyword-only, changed by replacement only."""

from __future__ import annotations

import msgspec


class Record(msgspec.Struct, frozen=True, kw_only=True):
    """A value. `msgspec.structs.replace` makes a changed copy; `msgspec.json` reads and writes it."""


replace = msgspec.structs.replace
