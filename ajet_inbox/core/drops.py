"""What may lie in the inbox, what it is called, and what its `.ready` mark says (contract section 2)."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from enum import StrEnum
from typing import Any

import yaml
from msgspec import Struct, convert

from ajet_inbox.core.blueprint import Level, Problem

BLUEPRINT_NAME = "blueprint.md"
READY_BYTES = 16 * 1024
READY_END = ".ready"  # the whole name of a folder's mark, the end of a file's
_TASK_END = ".task.md"
_FILE_END = ".md"

# ---- names --------------------------------------------------------------------------------------------------------

_IGNORED_STARTS = (".", "~")
_IGNORED_ENDS = (
    "~",
    ".tmp",
    ".part",
    ".partial",
    ".filepart",
    ".swp",
    ".swo",
    ".swx",
    ".crdownload",
    ":Zone.Identifier",
)
_IGNORED_NAMES = frozenset({"4913", "README.md"})  # 4913: vim tries out a folder with it


class DropKind(StrEnum):
    """What a drop holds."""

    FILE = "file"  # one blueprint
    FOLDER = "folder"  # a blueprint with companion files
    TASK = "task"  # a task description, to draft a blueprint from


def is_ignored(name: str) -> bool:
    """Whether something in the inbox is never touched: half-copied files, editors' and sync tools' own, our README."""
    return (
        name.startswith(_IGNORED_STARTS)
        or name.endswith(_IGNORED_ENDS)
        or name in _IGNORED_NAMES
        or ".sync-conflict-" in name
        or (name.startswith("#") and name.endswith("#"))
    )


def classify(name: str, is_dir: bool, names_inside: Collection[str] | None = None) -> DropKind | None:
    """What drop a name stands for; None: none. `names_inside` is what a folder holds, as far as it is known.

    A name that is not valid UTF-8 is no drop: nothing written about it could be read again.
    """
    if not _is_utf8(name):
        return None
    if is_dir:
        return DropKind.FOLDER if BLUEPRINT_NAME in (names_inside or ()) else None
    if name.endswith(_TASK_END):
        return DropKind.TASK
    return DropKind.FILE if name.endswith(_FILE_END) else None


def is_ready_mark(name: str) -> bool:
    """Whether a file in the inbox is the mark of a drop, which may not have come yet."""
    return name.endswith(_FILE_END + READY_END)


def ready_mark(name: str, kind: DropKind) -> str:
    """Where a drop's mark lies, relative to the inbox."""
    return f"{name}/{READY_END}" if kind is DropKind.FOLDER else name + READY_END


def printable(name: str) -> str:
    """A foreign name as one harmless line: what does not print, or turns the writing direction, is escaped."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def _is_utf8(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:  # the system hands over other bytes as lone surrogates
        return False
    return True


# ---- order and slugs ----------------------------------------------------------------------------------------------

_NUMBER = re.compile(r"(\d+)")
_NOT_IN_SLUG = re.compile(
    r"[^A-Za-z0-9_\-"
    r"\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\uf900-\ufaff\U00020000-\U000323af]"
)
_SLUG_CHARACTERS = 80
_SLUG_BYTES = 240  # leaves room for -2, -3, ... in a name of 255 bytes
_NAMELESS = "run"


def natural_key(name: str) -> tuple[tuple[tuple[int, str], ...], str]:
    """Sorts `run2` before `run10`."""
    return tuple(_part_key(part) for part in _NUMBER.split(name.casefold())), name


def run_slug(name: str, fallback: str | None = None) -> str:
    """The run's name for a drop's name, or for `fallback` where the drop is just called blueprint.md."""
    own = _slug(name.removesuffix(_TASK_END).removesuffix(_FILE_END))
    given = _slug(fallback or "") if name == BLUEPRINT_NAME else ""
    return given or own or _NAMELESS


def _part_key(part: str) -> tuple[int, str]:
    """Numbers by length first, so that no digit string is ever too long for it; text has length 0."""
    if not part.isdecimal():
        return (0, part)
    digits = part.lstrip("0")
    return (len(digits), digits)


def _slug(text: str) -> str:
    clean = _NOT_IN_SLUG.sub("_", unicodedata.normalize("NFC", text)).lstrip("-")
    return clean[:_SLUG_CHARACTERS].encode()[:_SLUG_BYTES].decode(errors="ignore")


# ---- the .ready mark ----------------------------------------------------------------------------------------------

_MAX_DEPTH = 3  # mapping, list, and one to notice what is deeper
_MAX_TEXT = 200
_INTEGER = re.compile(r"[-+]?[0-9]{1,9}")
_NULL = "tag:yaml.org,2002:null"


class ReadyMark(Struct, frozen=True, kw_only=True):
    """What a `.ready` mark asks for; its presence alone says that the drop is complete."""

    key: str | None = None
    priority: int | None = None
    after: tuple[str, ...] = ()
    retry_of: str | None = None
    replace: str | None = None


_TEXT_OPTIONS = ("key", "retry_of", "replace")


class _Bad(Exception):
    """What is wrong with a mark, and on which line; never leaves this module."""

    def __init__(self, message: str, line: int | None = None) -> None:
        super().__init__(message)
        self.problem = Problem(code="ready_mark", section=READY_END, line=line, message=f"The .ready mark {message}.")


def read_ready(data: bytes) -> tuple[ReadyMark, tuple[Problem, ...]]:
    """The options in a mark, and what is wrong with them; an empty mark has none.

    Nothing is constructed from the YAML but text: no tags, no aliases, no depth, at most `READY_BYTES`.
    """
    try:
        root = _root_node(data)
    except _Bad as bad:
        return ReadyMark(), (bad.problem,)
    values: dict[str, object] = {}
    problems: list[Problem] = []
    for key, value in root.value if root else ():
        try:
            _take(values, key, value, problems)
        except _Bad as bad:
            problems.append(bad.problem)
    return convert(values, ReadyMark), tuple(problems)


def _root_node(data: bytes) -> yaml.MappingNode | None:
    if len(data) > READY_BYTES:
        raise _Bad(f"is larger than {READY_BYTES} bytes")
    try:
        text = data.decode("utf-8-sig")
        _refuse_tricks(text)
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError:
        raise _Bad("is not UTF-8 text") from None
    except yaml.MarkedYAMLError as error:
        raise _Bad(f"is not YAML: {error.problem}", _line(error.problem_mark)) from None
    except (yaml.YAMLError, ValueError, OverflowError):
        raise _Bad("is not YAML") from None
    if root is None or root.tag == _NULL:
        return None
    if not isinstance(root, yaml.MappingNode):
        raise _Bad("is not a list of `name: value` lines", _line(root.start_mark))
    return root


def _refuse_tricks(text: str) -> None:
    """Walks the event stream, which is lazy and flat, before anything is built from it."""
    depth = 0
    for event in yaml.parse(text, Loader=yaml.SafeLoader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if isinstance(event, yaml.AliasEvent):
            raise _Bad("uses a YAML alias, which is not allowed", _line(event.start_mark))
        if depth > _MAX_DEPTH:
            raise _Bad("is nested too deeply", _line(event.start_mark))


def _take(values: dict[str, object], key: yaml.Node, value: yaml.Node, problems: list[Problem]) -> None:
    name, line = _text(key, "an option's name"), _line(key.start_mark)
    if name not in ReadyMark.__struct_fields__:
        problems.append(_unknown(name, line))
    elif name in values:
        raise _Bad(f"gives {name} twice", line)
    elif value.tag != _NULL:
        values[name] = _option(name, value)


def _option(name: str, node: yaml.Node) -> object:
    if name in _TEXT_OPTIONS:
        return _text(node, name)
    if name == "priority":
        return _integer(node, name)
    nodes = node.value if isinstance(node, yaml.SequenceNode) else [node]
    return tuple(_text(item, name) for item in nodes)


def _text(node: yaml.Node, name: str) -> str:
    """A scalar as it was written: `key: 007` and `key: 2024-01-01` stay what they look like."""
    value = node.value
    if not isinstance(value, str) or not value or len(value) > _MAX_TEXT or not value.isprintable():
        raise _Bad(f"needs one line of at most {_MAX_TEXT} characters for {name}", _line(node.start_mark))
    return value


def _integer(node: yaml.Node, name: str) -> int:
    if not isinstance(node.value, str) or not _INTEGER.fullmatch(node.value):
        raise _Bad(f"needs a whole number for {name}", _line(node.start_mark))
    return int(node.value)


def _unknown(name: str, line: int | None) -> Problem:
    return Problem(
        code="ready_mark_unknown",
        level=Level.WARNING,
        section=READY_END,
        line=line,
        message=f"The .ready mark has an option {name}, which is ignored.",
        hint=f"Known options: {', '.join(ReadyMark.__struct_fields__)}.",
    )


def _line(mark: Any) -> int | None:
    return mark.line + 1 if mark else None
