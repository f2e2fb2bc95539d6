"""An experiment's yaml, changed key by key, with the comments and the order that its author gave it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import Struct
from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.scalarstring import DoubleQuotedScalarString

from ajet_inbox.core.drafting.errors import DraftError

MAX_BYTES = 256 << 10  # about 100 kB are read a second
ROOT = "ajet"
_NO_FOLDING = 1_000_000
_NESTED = re.compile(r"^( +)[^\s#-]", re.M)
_CAPITAL = re.compile(r":\s+(?:True|False)\b")
_ITEM = re.compile(r"^( *)[^\s#-][^\n]*:[ \t]*(?:#[^\n]*)?\n( *)-( +)", re.M)


class Change(Struct, frozen=True, kw_only=True):
    """What was made of a key, both as YAML writes it; `before` is None where the key is new."""

    key: str
    before: str | None
    after: str


class Config:
    """One yaml. `changes` tells what was changed in it since it was read."""

    def __init__(self, text: str, file: str) -> None:
        """Reads `text`; `file` is named in errors.

        Raises:
            DraftError: it is no YAML, or no group of keys.
        """
        self._file = file
        self._yaml = _yaml(text)
        root = self._load(text)
        if root is None:
            root = CommentedMap()
        if not isinstance(root, CommentedMap):
            raise DraftError(f"{file} holds no keys.", "Give a yaml of AgentJet as base.")
        self._root = root
        self._changes: dict[str, Change] = {}

    @property
    def changes(self) -> tuple[Change, ...]:
        """What is otherwise than it was read, in order."""
        return tuple(change for change in self._changes.values() if change.before != change.after)

    def get(self, key: str) -> Any:
        """The value of a key, None where it is not there."""
        value: Any = self._root
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        return value

    def has(self, key: str) -> bool:
        """Whether the key is there, perhaps without a value."""
        group, _, name = key.rpartition(".")
        above = self.get(group) if group else self._root
        return isinstance(above, Mapping) and name in above

    def put(self, key: str, value: Any) -> None:
        """Give a key its value; what has it already stays as it is written.

        Raises:
            DraftError: something above the key is no group.
        """
        before = self.get(key)
        if self.has(key) and type(before) is type(value) and before == value:
            return
        *groups, name = key.split(".")
        group = self._root
        for n, part in enumerate(groups):
            if group.get(part) is None:
                group[part] = CommentedMap()
            group = group[part]
            if not isinstance(group, CommentedMap):
                raise DraftError(f"{'.'.join(groups[: n + 1])} in {self._file} holds a value, so {key} cannot be set.")
        told = Change(key=key, before=shown(before) if self.has(key) else None, after=shown(value))
        first = self._changes.get(key)
        self._changes[key] = told if first is None else Change(key=key, before=first.before, after=told.after)
        # Quoted, for YAML before 1.2 takes a name such as 8_1 or `on` for something else.
        group[name] = DoubleQuotedScalarString(value) if type(value) is str else value

    def whole_key(self, key: str) -> str:
        """The whole key that a caller means by `key`, who may leave out what stands above it.

        Raises:
            DraftError: several could be meant, or nothing here is called so.
        """
        if self.has(key):
            return key
        ends = [each for each in self._keys() if each.endswith(f".{key}")]
        if len(ends) == 1:
            return ends[0]
        if ends:
            raise DraftError(f"{key} could be {' or '.join(ends)}.", "Write the whole key.")
        if "." not in key:
            raise DraftError(f"{self._file} has no key {key}.", f"Write the whole key, as in {ROOT}.data.{key}.")
        return key if key.startswith(f"{ROOT}.") else f"{ROOT}.{key}"

    def text(self) -> str:
        """The yaml as it is now."""
        written = _Text()
        self._yaml.dump(self._root, written)
        return "".join(written.parts)

    def _keys(self) -> Iterator[str]:
        waiting: list[tuple[str, Any]] = [("", self._root)]
        seen: set[int] = set()  # an anchor may hold itself
        while waiting:
            above, value = waiting.pop(0)
            if not isinstance(value, Mapping) or id(value) in seen:
                continue
            seen.add(id(value))
            below = [(f"{above}.{name}" if above else str(name), each) for name, each in value.items()]
            yield from (key for key, _ in below)
            waiting += below

    def _load(self, text: str) -> Any:
        if len(text) > MAX_BYTES:
            raise DraftError(f"{self._file} is longer than {MAX_BYTES >> 10} KiB.", "Give a smaller base.")
        try:
            return self._yaml.load(text)
        except MarkedYAMLError as error:
            line = error.problem_mark.line + 1 if error.problem_mark else 1
            raise DraftError(f"{self._file}:{line} is no YAML: {error.problem}.", "Correct it first.") from error
        except (YAMLError, RecursionError, ValueError) as error:
            raise DraftError(f"{self._file} is no YAML that can be read.", "Correct it first.") from error


def shown(value: Any) -> str:
    """A value on one line, as YAML writes it."""
    if isinstance(value, str):
        return str(value)
    yaml = YAML()
    yaml.default_flow_style = True
    yaml.width = _NO_FOLDING
    written = _Text()
    yaml.dump(value, written)
    return " ".join("".join(written.parts).removesuffix("...\n").split())


def _yaml(text: str) -> YAML:
    """A reader and writer with the indents of `text`, and its way to write true and false."""
    yaml = YAML()
    yaml.preserve_quotes = True
    yaml.width = _NO_FOLDING
    yaml.explicit_start = text.startswith("---")
    capital = bool(_CAPITAL.search(text))
    yaml.boolean_representation = ["False", "True"] if capital else ["false", "true"]  # type: ignore[attr-defined]
    nested, item = _NESTED.search(text), _ITEM.search(text)
    offset = max(0, len(item[2]) - len(item[1])) if item else 0
    sequence = offset + 1 + len(item[3]) if item else 2
    yaml.indent(mapping=len(nested[1]) if nested else 2, sequence=sequence, offset=offset)
    return yaml


class _Text:
    """What the writer takes for a file."""

    encoding = None

    def __init__(self) -> None:
        self.parts: list[str] = []

    def write(self, part: str) -> None:
        self.parts.append(part)
