"""What is printed: for programs one JSON document, for people lines that no foreign text can turn into commands."""

from __future__ import annotations

import json
import shutil
import sys
import textwrap
from datetime import UTC, datetime
from typing import Any

import click
import msgspec


def print_json(document: Any) -> None:
    """One document on standard output. Records, times and paths are written as JSON writes them."""
    plain = msgspec.to_builtins(document, enc_hook=str)
    utf8 = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    click.echo(json.dumps(plain, ensure_ascii=not utf8, indent=2))


def one_or_all(documents: list[Any]) -> Any:
    """For one argument its document, for several a list of them."""
    return documents[0] if len(documents) == 1 else documents


def say(text: str) -> None:
    """A line for people on standard output."""
    click.echo(harmless(text))


def say_wrapped(text: str, indent: int) -> None:
    """A line for people on standard output. On a terminal it is broken between words, and what follows is indented."""
    line = harmless(" ".join(text.splitlines()))
    if not sys.stdout.isatty():
        click.echo(line)
        return
    blanks, columns = " " * indent, shutil.get_terminal_size().columns
    for piece in textwrap.wrap(line, columns, subsequent_indent=blanks, break_long_words=False, break_on_hyphens=False):
        click.echo(piece)


def say_cut(text: str, longest: int) -> None:
    """A line for people on standard output, no longer than `longest` or a terminal's line."""
    line, columns = harmless(text), shutil.get_terminal_size().columns if sys.stdout.isatty() else longest
    most = min(columns, longest)
    click.echo(line if len(line) <= most else f"{line[: most - 3]}...")


def warn(text: str) -> None:
    """A line for people on standard error, where programs do not look."""
    click.echo(harmless(text), err=True)


def harmless(text: str) -> str:
    """Names and reasons come from others: what does not print is escaped; line breaks and tabs stay."""
    return "".join(c if c.isprintable() or c in "\n\t" else c.encode("unicode_escape").decode() for c in text)


def one_line(text: str) -> str:
    """As `harmless`, line breaks and runs of blanks made one blank."""
    return harmless(" ".join(text.split()))


def clock(time: datetime | None) -> str:
    """A time of day here, with the date where it is another one; "-" where it is not known."""
    if time is None:
        return "-"
    local, today = time.astimezone(), datetime.now(UTC).astimezone().date()
    return local.strftime("%H:%M:%S" if local.date() == today else "%Y-%m-%d %H:%M")


def lasting(begin: datetime | None, end: datetime | None = None) -> str:
    """How long it is since `begin`, or was until `end`; "-" where that is not known."""
    from ajet_inbox.core.reading.durations import show_duration

    if begin is None:
        return "-"
    return show_duration(max(0.0, ((end or datetime.now(UTC)) - begin).total_seconds()))
