"""Markdown text as a flat row of pieces, each with its line; what wraps a whole blueprint is taken off.

Only the block structure is asked of markdown-it: inline markup inside commands and paths is text, not emphasis.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from enum import StrEnum
from textwrap import dedent

from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from msgspec import Struct


class Form(StrEnum):
    """What a piece looks like on the page."""

    HEADING = "heading"  # `# ...`, or underlined with `===`
    TEXT = "text"  # a paragraph, wherever it stands
    CODE = "code"  # fenced or indented
    ROW = "row"  # one row of a table


class Piece(Struct, frozen=True, kw_only=True):
    """One block. `line` is the line of `lines[0]`, from 1; the lines of a row are its cells, all on one line.

    `level` is that of a heading, `depth` the number of lists around, `marker` is set where a list item begins
    ("-", or its number), `info` is what stands behind a fence, `header` the head of a row's table, `label` what a
    table says of a cell. `underline` tells a heading that markdown sees only because a rule (`---`) follows a
    paragraph directly.
    """

    form: Form
    line: int
    lines: tuple[str, ...]
    level: int = 0
    depth: int = 0
    marker: str = ""
    info: str = ""
    header: tuple[str, ...] = ()
    label: str = ""
    underline: str = ""
    fenced: bool = False


_FENCE = re.compile(r"[ \t>]*(`{3,}|~{3,})[ \t]*([^`]*)$")
# Characters that look like a blank, or like nothing, and break a path or a command that is copied from a web page.
_INVISIBLE = str.maketrans(
    {"\u00a0": " ", "\u3000": " ", "\u200b": None, "\u200c": None, "\u200d": None, "\ufeff": None}
)
_MAX_REPAIRS = 8


def split_lines(text: str) -> list[str]:
    """The lines of `text`, whatever ends them, without invisible characters."""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "\ufffd")
    return text.translate(_INVISIBLE).split("\n")


def pieces(lines: list[str]) -> list[Piece]:
    """The blocks of `lines`, in order, at any depth. Linear in their size."""
    tokens: list[Token] = []
    parser = _parser()
    parser.block.parse("\n".join(lines), parser, {}, tokens)
    return list(_flatten(tokens))


def unwrapped(lines: list[str], key_of: Callable[[str], str | None]) -> list[Piece]:
    """The blocks of `lines`, those inside code too where sections are found only there.

    A blueprint may be fenced or indented as a whole, or a forgotten fence may swallow its tail. Such lines are
    changed in place, so that every line keeps its number. `key_of` names the section that a line opens.
    """
    lines = list(lines)
    for _ in range(_MAX_REPAIRS):
        found = pieces(lines)
        outside = {key for piece in found if piece.form is not Form.CODE for key in _keys(piece, key_of)}
        hidden = (p for p in found if p.form is Form.CODE and set(_keys(p, key_of)) - outside)
        code = next(hidden, None)
        if code is None:
            return found
        before = any(_keys(p, key_of) for p in found[: found.index(code)])
        _open(lines, code, lambda line: key_of(line) is not None, inside=before)
    return pieces(lines)


def _keys(piece: Piece, key_of: Callable[[str], str | None]) -> list[str]:
    return [key for key in map(key_of, piece.lines) if key]


def _parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"maxNesting": 40}).enable("table")
    # `[exp_codebase_dir]: /a` is a section here, not a link's definition; `<path>` is a placeholder, not HTML.
    parser.disable(["reference", "html_block"])
    parser.block.ruler.before("list", "comment", _comment, {"alt": ["paragraph", "blockquote", "list"]})
    return parser


def _comment(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """A block rule: `<!-- ... -->` at the start of a line is nothing."""
    position = state.bMarks[start] + state.tShift[start]
    if not state.src.startswith("<!--", position):
        return False
    if "last" not in state.env:  # else a file of nothing but open comments is searched once for each of them
        state.env["last"] = state.src.rfind("-->")
    if state.env["last"] < position:
        return False
    if not silent:
        close = state.src.index("-->", position)
        state.line = next((n + 1 for n in range(start, end) if state.eMarks[n] >= close), end)
    return True


def _flatten(tokens: list[Token]) -> Iterator[Piece]:
    depth, marker, stream = 0, "", iter(tokens)
    for token in stream:
        match token.type:
            case "bullet_list_open" | "ordered_list_open":
                depth += 1
            case "bullet_list_close" | "ordered_list_close":
                depth -= 1
            case "list_item_open":
                marker = token.info or "-"
            case "heading_open":
                level = int(token.tag[1:])
                underline = token.markup if token.markup in "-=" else ""
                yield _piece(Form.HEADING, next(stream), depth, marker, level=level, underline=underline)
            case "paragraph_open":
                yield _piece(Form.TEXT, next(stream), depth, marker)
                marker = ""
            case "fence" | "code_block":
                yield _piece(Form.CODE, token, depth, marker)
                marker = ""
            case "table_open":
                yield from _rows(stream, depth)


def _piece(form: Form, token: Token, depth: int, marker: str, *, level: int = 0, underline: str = "") -> Piece:
    first = token.map[0] + (2 if token.type == "fence" else 1) if token.map else 1
    lines = tuple(token.content.removesuffix("\n").split("\n"))
    return Piece(
        form=form,
        line=first,
        lines=lines,
        level=level,
        depth=depth,
        marker=marker,
        info=token.info,
        underline=underline,
        fenced=token.type == "fence",
    )


def _rows(stream: Iterator[Token], depth: int) -> Iterator[Piece]:
    header: tuple[str, ...] = ()
    cells: list[str] = []
    line = 1
    for token in stream:
        if token.type == "inline":
            line = token.map[0] + 1 if token.map else line
            cells.append(token.content)
        elif token.type == "tr_close":
            yield Piece(form=Form.ROW, line=line, lines=tuple(cells), depth=depth, header=header)
            header = header or tuple(cells)
            cells = []
        elif token.type == "table_close":
            return


def _dedented(lines: list[str]) -> list[str]:
    return dedent("\n".join(line.expandtabs(4) for line in lines)).split("\n")


def _open(lines: list[str], code: Piece, opens: Callable[[str], bool], *, inside: bool) -> None:
    """Let the sections inside `code` be seen: change `lines` in place."""
    start, stop = code.line - 1, code.line - 1 + len(code.lines)
    fence = _FENCE.match(lines[start - 1]) if start and code.fenced else None
    if fence is None:
        lines[start:stop] = _dedented(lines[start:stop])
    elif inside:
        _close_before_section(lines, start, stop, fence[1], opens)
    else:
        _take_off(lines, start - 1, fence[1], opens)


def _close_before_section(lines: list[str], start: int, stop: int, mark: str, opens: Callable[[str], bool]) -> None:
    """A fence that was never closed ends where the next section begins."""
    section = next((n for n in range(start, stop) if opens(lines[n])), start)
    blank = next((n for n in range(section - 1, start - 1, -1) if not lines[n].strip()), start - 1)
    lines[blank] = "" if blank < start else mark


def _take_off(lines: list[str], opening: int, mark: str, opens: Callable[[str], bool]) -> None:
    """Blank the fence around a whole blueprint and dedent what it held."""
    closing = _closing(lines, opening, mark, opens)
    lines[opening] = ""
    if closing < len(lines):  # what follows is not of the last section
        lines[closing] = "# Notes" if any(line.strip() for line in lines[closing + 1 :]) else ""
    lines[opening:closing] = _dedented(lines[opening:closing])


def _closing(lines: list[str], opening: int, mark: str, opens: Callable[[str], bool]) -> int:
    """The line that closes the fence opened at `opening`, even where fences inside it are no shorter.

    Markdown ends the outer fence at the first inner one; whoever wrote it meant them to nest.
    """
    depth, bare = 0, []
    for n in range(opening + 1, len(lines)):
        fence = _FENCE.match(lines[n])
        if fence is None or not fence[1].startswith(mark):
            continue
        if fence[2]:
            depth += 1
        elif depth:
            depth -= 1
        else:
            bare.append(n)
    if not bare:
        return len(lines)
    return bare[-1] if any(opens(line) for line in lines[bare[0] :]) else bare[0]
