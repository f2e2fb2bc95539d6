"""The text of `ajet-inbox.yaml` to settings: every problem is one sentence with its line; nothing is guessed.

YAML is only composed into nodes, never constructed: no tag can make an object, and every value still knows its line.
Values are read from their text as written: YAML's own idea of `off`, `1:30` or `010` is not what a person means here.
"""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from itertools import combinations
from types import NoneType
from typing import Any, get_args, get_origin

import yaml
from msgspec import NODEFAULT, Struct

from ajet_inbox.core.settings import HostSlot, Settings
from ajet_inbox.core.settings.fields import alternatives, expected, fields, is_record
from ajet_inbox.core.settings.values import read_scalar

MAX_CHARACTERS = 64 << 10  # PyYAML reads about 100 kB a second
MAX_DEPTH = 20  # composing recurses; Python's own limit is some hundreds of levels away


class SettingsError(Exception):
    """The settings cannot be used: one sentence a problem, each with its file and line."""

    def __init__(self, problems: tuple[str, ...]) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


def read_settings(text: str, file: str = "ajet-inbox.yaml") -> Settings:
    """The settings that `text` says, defaults where it is silent; `file` is named in errors.

    Raises:
        SettingsError: some of it is not YAML, not a known key, or not a value of its key.
    """
    root = _compose(text, file)
    if root is None:
        return Settings()
    reader = _Reader(file)
    settings: Settings = reader.value(root, Settings, "")
    if not reader.problems:
        reader.problems += (_at(file, reader.lines["slots"], clash) for clash in _clashes(settings))
    if reader.problems:
        raise SettingsError(tuple(reader.problems))
    return settings


def _at(file: str, line: int, sentence: str) -> str:
    return f"{file}:{line + 1}: {sentence}"


def _compose(text: str, file: str) -> yaml.Node | None:
    """The text as nodes, None where it says nothing; what the composer must not see is refused before it looks."""
    if len(text) > MAX_CHARACTERS:
        raise SettingsError((_at(file, 0, f"a settings file of more than {MAX_CHARACTERS} characters is not read."),))
    try:
        for line, flaw in _flaws(text):
            raise SettingsError((_at(file, line, flaw),))
        return yaml.compose(text, yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line if error.problem_mark else 0
        raise SettingsError((_at(file, line, f"this is not YAML: {error.problem}."),)) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position)
        raise SettingsError((_at(file, line, "this is not YAML: it holds a control character."),)) from None


class _Reader:
    """Reads one file's nodes against the records, collecting what is wrong on the way."""

    def __init__(self, file: str) -> None:
        self._file = file
        self.problems: list[str] = []
        self.lines: dict[str, int] = {}  # of the keys that were read

    def _problem(self, node: yaml.Node, sentence: str) -> None:
        self.problems.append(_at(self._file, _line(node), sentence))

    def value(self, node: yaml.Node, hint: Any, key: str) -> Any:
        """What a node says for a key; anything where a problem was noted, for then no settings are made at all."""
        options = tuple(alternatives(hint))
        records = [option for option in options if is_record(option)]
        if records and (isinstance(node, yaml.MappingNode) or _is_null(node)):
            return self._record(node, _closest(records, node), key)
        lists = [option for option in options if get_origin(option) is tuple]
        if lists and isinstance(node, yaml.SequenceNode):
            item = get_args(lists[0])[0]
            return tuple(self.value(each, item, f"{key}[{i}]") for i, each in enumerate(node.value))
        if _is_null(node) and NoneType in options:
            return None
        if isinstance(node, yaml.ScalarNode) and not _is_null(node):
            for option in options:
                if (value := read_scalar(node.value, option, quoted=node.style is not None)) is not None:
                    return value
        self._problem(node, f"{key or 'this file'} must be {expected(hint)}, not {_shown(node)}.")
        return None

    def _record(self, node: yaml.Node, record: type[Struct], key: str) -> Any:
        known = fields(record)
        prefix = f"{key}." if key else ""
        values: dict[str, Any] = {}
        for key_node, value_node in node.value if isinstance(node, yaml.MappingNode) else ():
            name = _name(key_node)
            field = known.get(name)
            self.lines[prefix + name] = _line(key_node)
            if field is None:
                self._problem(key_node, f"{prefix}{name} is not a setting; {_nearest(name, record, prefix)}.")
            elif field.attribute in values:
                self._problem(key_node, f"{prefix}{name} is given twice.")
            else:
                values[field.attribute] = self.value(value_node, field.hint, prefix + name)
        for field in known.values():
            if field.default is NODEFAULT and field.attribute not in values:
                self._problem(node, f"{key} needs {field.name}.")
        return None if self.problems else record(**values)


def _flaws(text: str) -> Iterator[tuple[int, str]]:
    """What the composer must not see, as (line from 0, sentence).

    Aliases make bombs of a few lines and nodes that hold themselves; depth ends in a RecursionError.
    """
    depth = 0
    for event in yaml.parse(text, yaml.SafeLoader):
        line = _line(event)
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None):
            yield line, "anchors (&) and aliases (*) are not used here; put a text that begins so in quotes."
        if getattr(event, "tag", None):
            yield line, "tags (!) are not used here; put a text that begins so in quotes."
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_DEPTH:
            yield line, f"nothing here is nested more than {MAX_DEPTH} levels."


def _clashes(settings: Settings) -> Iterator[str]:
    """Slots that cannot stand beside each other."""
    slots = settings.slots if isinstance(settings.slots, tuple) else ()
    for one, other in combinations(slots, 2):
        if one.name == other.name:
            yield f"two slots are named {one.name}."
    hosted = [slot for slot in slots if isinstance(slot, HostSlot)]
    for slot in hosted:
        if len(set(slot.gpus)) < len(slot.gpus):
            yield f"slot {slot.name} names a GPU twice."
    for one, other in combinations(hosted, 2):
        same_host = None in (one.host, other.host) or one.host == other.host
        if same_host and (shared := set(one.gpus) & set(other.gpus)):
            yield f"slots {one.name} and {other.name} both name GPU {min(shared)}."


def _closest(records: list[type[Struct]], node: yaml.Node) -> type[Struct]:
    """The record that knows most of the keys given."""
    names = {_name(key) for key, _ in node.value} if isinstance(node, yaml.MappingNode) else set()
    return max(records, key=lambda record: len(names & fields(record).keys()))


def _nearest(name: str, record: type[Struct], prefix: str) -> str:
    """What was meant by an unknown key: one of its group, else one of that name elsewhere, else all of its group."""
    known = list(fields(record))
    if close := get_close_matches(name, known, n=1):
        return f"perhaps {prefix}{close[0]} is meant"
    elsewhere = {key.rpartition(".")[2]: key for key in _keys(Settings, "")}
    if close := get_close_matches(name, elsewhere, n=1, cutoff=0.8):
        return f"perhaps {elsewhere[close[0]]} is meant"
    return f"{prefix.rstrip('.') or 'the file'} knows {', '.join(known)}"


def _keys(record: type[Struct], prefix: str) -> Iterator[str]:
    for field in fields(record).values():
        yield prefix + field.name
        if is_record(field.hint):
            yield from _keys(field.hint, f"{prefix}{field.name}.")


def _line(part: yaml.Node | yaml.Event) -> int:
    """Where a part of the file begins, from 0; the two readers of PyYAML always tell it."""
    return int(part.start_mark.line) if part.start_mark else 0


def _is_null(node: yaml.Node) -> bool:
    return bool(node.tag == "tag:yaml.org,2002:null")


def _shown(node: yaml.Node) -> str:
    """A value in a sentence."""
    quoted = isinstance(node, yaml.ScalarNode) and node.style is not None
    return f'"{_name(node)}"' if quoted else _name(node) or "nothing"


def _name(node: yaml.Node) -> str:
    """A key in a sentence, bounded and on one line."""
    if not isinstance(node, yaml.ScalarNode):
        return "a list" if isinstance(node, yaml.SequenceNode) else "a group of keys"
    text = node.value if node.value.isprintable() else ascii(node.value)[1:-1]
    return text if len(text) <= 40 else text[:40] + "..."
