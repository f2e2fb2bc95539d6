"""Text of strangers as Markdown shows it: as text, whatever it holds."""

from __future__ import annotations

import re
import unicodedata

# An underscore inside a word marks nothing, and names are full of them.
_ACTIVE = re.compile(r"[\\`*\[\]<>|~&!]|(?<![^\W_])_|_(?![^\W_])")
# What begins a heading, a list or a rule where `text` is the first on its line, as behind a bullet.
_OPENING = re.compile(r"^(\d{0,9})([#+=-](?![\w.])|(?<=\d)[.)](?!\S))")


def visible(text: str) -> str:
    """`text` with what cannot be seen, or turns the reading direction, as escapes; line breaks and tabs stay."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in "\n\t" or _is_space(c) else ascii(c)[1:-1] for c in text)


def inline(text: str) -> str:
    """`text` on one line, in a paragraph or the cell of a table."""
    return _OPENING.sub(r"\1\\\2", _ACTIVE.sub(r"\\\g<0>", visible(" ".join(text.split()))))


def code(text: str) -> str:
    """`text` on one line, as code; not for the cells of a table, where a pipe ends even code."""
    shown = visible(" ".join(text.split()))
    ticks = "`" * (_longest_run(shown) + 1)
    # Without the spaces a backtick at either end would belong to the fence.
    pad = " " if shown.startswith("`") or shown.endswith("`") else ""
    return f"{ticks}{pad}{shown}{pad}{ticks}" if shown else ""


def fence(text: str, language: str = "text") -> str:
    """`text` as a block of its own, fenced by more backticks than it holds in a row."""
    shown = visible(text.strip("\n"))
    ticks = "`" * max(3, _longest_run(shown) + 1)
    return f"{ticks}{language}\n{shown}\n{ticks}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall(r"`+", text)), default=0)


def _is_space(character: str) -> bool:
    """Whether it is a space of another width, such as the ideographic one."""
    return unicodedata.category(character) == "Zs"
