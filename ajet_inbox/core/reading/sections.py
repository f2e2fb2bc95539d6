"""Which pieces of a blueprint belong to which section."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from enum import IntEnum

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.reading.keys import Opening, known, opening
from ajet_inbox.core.reading.markdown import Form, Piece
from ajet_inbox.core.reading.shell import looks_like_command


class Strength(IntEnum):
    """How plainly a line opens a section; a mention in a weaker form than the others opens none."""

    HEADING = 0  # `## [exp_purpose]`
    BOLD = 1  # `**[exp_purpose]** ...`
    ROW = 2  # `| [exp_purpose] | ... |`
    ITEM = 3  # `1. [exp_purpose] ...`
    BARE = 4  # `[exp_purpose]: ...`


class Section(Struct, frozen=True, kw_only=True):
    """What one opening line governs.

    `key` is None for a key that does not exist; `title` is what follows the key on its line.
    """

    key: str | None
    written: str
    line: int
    strength: Strength
    title: str = ""
    pieces: tuple[Piece, ...] = ()


class Outline(Struct, frozen=True, kw_only=True):
    """A blueprint's sections in order, and the text of those without a key."""

    title: str | None
    sections: tuple[Section, ...]
    notes: str


class _Mark(Struct, frozen=True, kw_only=True):
    piece: int
    line: int
    opening: Opening
    strength: Strength

    @property
    def key(self) -> str | None:
        return known(self.opening.written)


_OTHER_NOTES = re.compile(
    r"[\W\d]*(?:(?:other|additional|further|extra|general|misc\w*)\s+(?:\w+\s+){0,2}?(?:notes?|info\w*|remarks?|comments?|hints?)\b"
    r"|(?:其他|其它|补充|附加)(?:实验)?(?:相关)?(?:注意|信息|说明|备注|事项))",
    re.I,
)
_NOTES = re.compile(r"[\W\d]*(?:notes|remarks|todo(?: list)?|备注|注意事项)\W", re.I)
_BREAK = re.compile(r"<br\s*/?>", re.I)


def outline(pieces: list[Piece]) -> Outline:
    """The sections that `pieces` hold."""
    builder = _Builder()
    marks: defaultdict[int, list[_Mark]] = defaultdict(list)
    for mark in _accepted(list(_marks(pieces))):
        marks[mark.piece].append(mark)
    for n, piece in enumerate(pieces):
        builder.add(piece, marks[n], pieces[n + 1] if n + 1 < len(pieces) else None)
    return builder.outline()


def _marks(pieces: list[Piece]) -> Iterable[_Mark]:
    for n, piece in enumerate(pieces):
        if piece.form is Form.CODE:
            continue
        lines = piece.lines if piece.form is Form.TEXT else piece.lines[: _key_cell(piece) + 1]
        for m, line in enumerate(lines):
            found = opening(line)
            if found and _may_open(found, strength := _strength(piece, m, found)):
                yield _Mark(piece=n, line=m, opening=found, strength=strength)


def _key_cell(row: Piece) -> int:
    """The cell that may hold a key: the first, or the second behind a number."""
    return 1 if row.form is Form.ROW and len(row.lines) > 2 and not row.lines[0].strip(" .#0123456789") else 0


def _strength(piece: Piece, line: int, found: Opening) -> Strength:
    if piece.form is Form.HEADING:
        return Strength.HEADING
    if piece.form is Form.ROW:
        return Strength.ROW
    if found.bold:
        return Strength.BOLD
    return Strength.ITEM if piece.marker and line == 0 else Strength.BARE


def _may_open(found: Opening, strength: Strength) -> bool:
    if found.titled and strength is not Strength.HEADING and not found.firm:
        return False
    return found.bracketed or (known(found.written) is not None and (found.firm or strength <= Strength.ROW))


def _accepted(marks: list[_Mark]) -> Iterable[_Mark]:
    """The marks that open a section; the others are sentences about one."""
    keys = {s: {m.key for m in marks if m.strength is s and m.key} for s in Strength}
    dominant = next((s for s in Strength if len(keys[s]) > 1), Strength.BARE)
    stronger = set().union(*(keys[s] for s in Strength if s <= dominant))
    seen: set[tuple[Strength, str | None]] = set()
    for mark in marks:
        again = (mark.strength, mark.key) in seen
        if mark.strength > dominant:
            opens = mark.opening.firm and mark.key is not None and mark.key not in stronger
        else:
            opens = mark.strength <= Strength.BOLD or mark.opening.firm or not again
        if opens:
            seen.add((mark.strength, mark.key))
            yield mark


class _Builder:
    """Takes the pieces one by one and deals them out."""

    def __init__(self) -> None:
        self.title: str | None = None
        self.done: list[Section] = []
        self.notes: list[str] = []
        self.current: Section | None = None
        self.home = Piece(form=Form.TEXT, line=0, lines=())
        self.pieces: list[Piece] = []

    def outline(self) -> Outline:
        self._close()
        return Outline(title=self.title, sections=tuple(self.done), notes="\n".join(self.notes).strip())

    def add(self, piece: Piece, marks: list[_Mark], following: Piece | None) -> None:
        if piece.form is Form.HEADING and not marks and not self._is_heading(piece, following):
            piece = replace(piece, form=Form.TEXT, lines=_unmarked(piece))
        if piece.form is Form.TEXT:
            self._text(piece, marks)
        elif marks:
            self._open(marks[0], piece)
        else:
            if self._ends_section(piece):
                self._close()
            self._take(piece)

    def _text(self, piece: Piece, marks: list[_Mark]) -> None:
        """A paragraph may hold several sections, each opened by a line of its own."""
        cuts = [m.line for m in marks] + [len(piece.lines)]
        if cuts[0]:
            if self._ends_section(piece):
                self._close()
            self._take(replace(piece, lines=piece.lines[: cuts[0]]))
        for mark, stop in zip(marks, cuts[1:], strict=True):
            self._open(mark, piece)
            if rest := piece.lines[mark.line + 1 : stop]:
                self._take(replace(piece, lines=rest, line=piece.line + mark.line + 1, marker=""))

    def _open(self, mark: _Mark, piece: Piece) -> None:
        self._close()
        line = piece.line + (mark.line if piece.form is Form.TEXT else 0)
        written, strength = mark.opening.written, mark.strength
        self.home = piece
        self.current = Section(key=mark.key, written=written, line=line, strength=strength, title=mark.opening.rest)
        if piece.form is Form.ROW:
            header = () if any(map(opening, piece.header)) else piece.header
            self._cells(piece, mark.line + 1, header)

    def _cells(self, row: Piece, start: int, header: tuple[str, ...]) -> None:
        for n in range(start, len(row.lines)):
            lines = tuple(part.strip() for part in _BREAK.split(row.lines[n]))
            if any(lines):
                label = header[n] if n < len(header) else ""
                self.pieces.append(Piece(form=Form.TEXT, line=row.line, lines=lines, label=label))

    def _close(self) -> None:
        if self.current:
            self.done.append(replace(self.current, pieces=tuple(self.pieces)))
        self.current, self.pieces = None, []

    def _take(self, piece: Piece) -> None:
        if self.current is None:
            self._note(piece)
        elif piece.form is Form.ROW:
            self._cells(piece, 1, (piece.lines[0],) * len(piece.lines))
        else:
            self.pieces.append(piece)

    def _note(self, piece: Piece) -> None:
        """Text without a key: notes, or what stands before the first section."""
        if self.done:
            mark = {Form.HEADING: "## ", Form.TEXT: "- " if piece.marker else ""}.get(piece.form, "")
            self.notes.append(mark + "\n".join(piece.lines))
        elif piece.form is Form.HEADING and self.title is None:
            self.title = piece.lines[0].strip(" #*") or None

    def _is_heading(self, piece: Piece, following: Piece | None) -> bool:
        """Not a paragraph with a rule below it, nor a comment of a script that nobody fenced."""
        if piece.underline == "-":
            return bool(_OTHER_NOTES.match(piece.lines[0]) or _NOTES.match(piece.lines[0] + "\n"))
        if self.current is None or not (self.current.key or "").endswith("_command") or piece.level > 1:
            return True
        touching = following is not None and following.line == piece.line + 1
        return not (touching and self.home.level != 1 and following and looks_like_command(following.lines[0]))

    def _ends_section(self, piece: Piece) -> bool:
        section = self.current
        if section is None:
            return False
        if piece.form is Form.HEADING:
            return section.strength is not Strength.HEADING or piece.level <= self.home.level
        if piece.form is Form.ROW:
            return section.strength is Strength.ROW and bool(piece.lines[0].strip())
        if piece.form is Form.CODE or piece.depth > self.home.depth:
            return False
        if _OTHER_NOTES.match(piece.lines[0]):
            return True
        if section.strength is Strength.HEADING:
            return False
        return bool(_NOTES.match(piece.lines[0] + "\n")) or self._is_next_number(piece)

    def _is_next_number(self, piece: Piece) -> bool:
        """In a numbered list of sections the next number without a key is something else."""
        here, there = self.home.marker, piece.marker
        filled = bool(self.pieces or (self.current and self.current.title))
        return filled and here.isdigit() and there.isdigit() and len(there) < 5 and int(there) == int(here) + 1


def _unmarked(heading: Piece) -> tuple[str, ...]:
    return heading.lines if heading.underline else ("# " + heading.lines[0],)
