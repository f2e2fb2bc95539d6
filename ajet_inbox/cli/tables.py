"""Tables that fit the terminal; through a pipe every column is whole."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from ajet_inbox.cli.output import one_line

_ENDLESS = 10_000

Cell = str | tuple[str, str]  # a text, or a text and its style


def print_table(headings: Sequence[str], rows: Iterable[Sequence[Cell]]) -> None:
    """Print rows under headings. On a terminal the last column is wrapped and the others are cut where need be."""
    print_rich(table(headings, rows, wraps=sys.stdout.isatty()))


def table(headings: Sequence[str], rows: Iterable[Sequence[Cell]], *, wraps: bool = True) -> Table:
    """A table without lines; what is in it is text, never markup."""
    made = Table(box=None, pad_edge=False, header_style="bold")
    for heading in headings[:-1]:
        made.add_column(heading, no_wrap=True, overflow="ellipsis" if _speaks_unicode() else "crop")
    made.add_column(headings[-1], no_wrap=not wraps, overflow="fold")
    for row in rows:
        made.add_row(*(_text(cell) for cell in row))
    return made


def print_rich(renderable: RenderableType) -> None:
    """Print it as wide as the terminal is, or as it needs through a pipe, without blanks at the ends of lines."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else _ENDLESS)
    if sys.stdout.isatty():
        console.print(renderable)
        return
    with console.capture() as capture:
        console.print(renderable)
    sys.stdout.writelines(f"{line.rstrip()}\n" for line in capture.get().splitlines())


def width() -> int:
    """The columns there are."""
    return Console().width if sys.stdout.isatty() else _ENDLESS


def _text(cell: Cell) -> Text:
    text, style = cell if isinstance(cell, tuple) else (cell, "")
    return Text(one_line(text), style=style)


def _speaks_unicode() -> bool:
    return (sys.stdout.encoding or "").lower().startswith("utf")
