"""The tables that consoles draw around an evaluation, read line by line."""

from __future__ import annotations

import re

_CELL = re.compile(r"[│┃]")
CLOSING = "╰"
MARKS = ("╭", "│", "┃", CLOSING)  # every line of a table that matters has one
MAX_ROWS = 256


class BoxReader:
    """Collects the rows of the open table. Lines of other kinds between them are passed over."""

    def __init__(self) -> None:
        self._title: str | None = None
        self._rows: dict[str, str] = {}

    def feed(self, line: str) -> tuple[str | None, dict[str, str]] | None:
        """Takes one line, without its newline; returns title and rows at the line that closes a table."""
        if "╭" in line:
            self._title, self._rows = line.partition("╭")[2].strip("─╮ ") or None, {}
        elif CLOSING in line:
            box, self._title, self._rows = (self._title, self._rows), None, {}
            return box
        elif len(self._rows) < MAX_ROWS:
            cells = [cell.strip() for cell in _CELL.split(line) if cell.strip()]
            # What stands left of the table's own edge is a prefix of the line, such as Ray's.
            if len(cells) >= 2 and "│" in line:
                self._rows[cells[-2]] = cells[-1]
        return None
