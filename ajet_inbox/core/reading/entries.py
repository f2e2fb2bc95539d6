"""A section as a row of entries: a piece of text or code each, with the label that governs it."""

from __future__ import annotations

import re

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.reading.labels import Label, Role, classify, split_label
from ajet_inbox.core.reading.markdown import Form, Piece
from ajet_inbox.core.reading.sections import Section, Strength
from ajet_inbox.core.reading.shell import Scan, feed, looks_like_command


class Entry(Struct, frozen=True, kw_only=True):
    """Some lines of a section without their label, and what the labels around say about them.

    `line` is that of `lines[0]`, `written` that line with its label. `lead` is what introduces the entry: its own label
    behind those that it stands under.
    `title`: it is what follows the key in a heading, which only names the section as a rule.
    """

    role: Role
    line: int
    lines: tuple[str, ...]
    lead: str = ""
    label: str = ""
    written: str = ""
    code: bool = False
    info: str = ""
    marker: str = ""
    title: bool = False


class _Scope(Struct, frozen=True, kw_only=True):
    """A label or sentence that later pieces may stand under. `open`: it ends with a colon and nothing behind it."""

    depth: int
    role: Role
    text: str
    open: bool


_BULLET = re.compile(r"(?:\[[ xX]\]|[-*+•·▪◦‣●○]|\d{1,2}[.)、])\s+|[①-⑳]\s*")
_REMARK = re.compile(r"<!--[^>]*-->|</?(?:code|b|strong|em|kbd|tt|br)\s?/?>", re.I)
_COLONS = (":", "：")


def entries(section: Section) -> list[Entry]:
    """The entries of `section` in order."""
    walk = _Walk(section.key or "")
    walk.title(section)
    for piece in section.pieces:
        match piece.form:
            case Form.HEADING:
                walk.subheading(piece)
            case Form.CODE:
                walk.code(piece)
            case _:
                walk.text(piece)
    return [e for e in walk.found if any(line.strip() for line in e.lines)]


class _Walk:
    def __init__(self, key: str) -> None:
        self.key = key
        self.is_command = key.endswith("_command") or key == "exp_services"
        self.found: list[Entry] = []
        self.scopes: list[_Scope] = []
        self.base: _Scope | None = None

    def title(self, section: Section) -> None:
        if not section.title:
            return
        self.text(Piece(form=Form.TEXT, line=section.line, lines=(section.title,)))
        # A section is never an aside as a whole: "[exp_purpose] description: ..." still tells the purpose.
        roles = {Role.ASIDE: Role.PLAIN}
        self.scopes = [replace(s, role=roles.get(s.role, s.role)) for s in self.scopes]
        is_title = section.strength is Strength.HEADING
        self.found = [replace(e, role=roles.get(e.role, e.role), title=is_title) for e in self.found]

    def subheading(self, piece: Piece) -> None:
        text = piece.lines[0].strip(" *_`#")
        role, _ = classify(text, self.key)
        self.scopes = []
        self.base = _Scope(depth=-1, role=Role.PLAIN if role is Role.OTHER else role, text=text, open=True)

    def code(self, piece: Piece) -> None:
        last = self.scopes[-1] if self.scopes else self.base
        scope = last if last and (last.open or 0 < last.depth <= piece.depth) else self.base
        lead = last.text if last and (scope is last or last.role is not Role.ASIDE) else ""
        role = scope.role if scope and scope.role is not Role.OTHER else Role.PLAIN
        entry = Entry(role=role, line=piece.line, lines=piece.lines, lead=lead, code=True, info=piece.info)
        self.found.append(entry)
        self._shut()

    def text(self, piece: Piece) -> None:
        self._leave(piece)
        scan, indent = Scan(), 0
        for n, line in enumerate(piece.lines):
            if scan.wants_more:
                line = line.removeprefix(" " * indent)
                self._append(line)
                scan = feed(scan, line)
                continue
            indent = len(line) - len(line.lstrip(" "))
            line = _unbulleted(line)
            label = self._label(piece, n, line)
            if label or n == 0:
                self._begin(piece, n, line, label)
            else:
                self._append(line)
            command = label.rest if label else line
            scan = feed(Scan(), command) if self.is_command and looks_like_command(command) else Scan()

    def _label(self, piece: Piece, n: int, line: str) -> Label | None:
        if piece.label and n == 0:
            role, _ = classify(piece.label, self.key)
            return Label(text=piece.label, role=role, rest=line, exact=True)
        return None if self.is_command and looks_like_command(line) else split_label(line, self.key)

    def _leave(self, piece: Piece) -> None:
        """Forget what `piece` does not stand under."""
        depth, continues = piece.depth, piece.depth > 0 and not piece.marker
        self.scopes = [
            s for s in self.scopes if s.depth < depth or (s.depth == depth and (continues or (s.open and depth == 0)))
        ]

    def _begin(self, piece: Piece, n: int, line: str, label: Label | None) -> None:
        if n:
            self.scopes = [s for s in self.scopes if s.depth < piece.depth]
        parent = self.scopes[-1] if self.scopes else self.base
        role = _role(label, parent)
        own, text = (label.text, label.rest) if label else ("", line)
        lead = " ".join(filter(None, [parent.text if parent else "", own]))
        marker = piece.marker if n == 0 else ""
        at = piece.line + n
        self.found.append(
            Entry(role=role, line=at, lines=(text,), lead=lead, label=own, written=line.strip(), marker=marker)
        )
        self._shut()
        is_open = not text or text.endswith(_COLONS)
        self.scopes.append(_Scope(depth=piece.depth, role=role, text=own or text, open=is_open))

    def _append(self, line: str) -> None:
        last = self.found[-1]
        self.found[-1] = replace(last, lines=(*last.lines, line))
        is_open = line.rstrip().endswith(_COLONS)
        self.scopes[-1] = replace(self.scopes[-1], open=is_open, text=line.strip() if is_open else self.scopes[-1].text)

    def _shut(self) -> None:
        self.scopes = [replace(s, open=False) for s in self.scopes]


def _role(label: Label | None, parent: _Scope | None) -> Role:
    above = parent.role if parent else Role.PLAIN
    if label is None:
        return above
    if label.role is Role.ASIDE or (above is Role.ASIDE and not (label.exact and label.role is Role.VALUE)):
        return Role.ASIDE
    return above if label.role is Role.OTHER and above is Role.VALUE else label.role


def _unbulleted(line: str) -> str:
    text = _REMARK.sub("", line).strip()
    while bullet := _BULLET.match(text):
        text = text[bullet.end() :]
    return text
