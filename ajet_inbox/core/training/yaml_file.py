"""A yaml as a flat table of its values, each with its place. Only read: no tag makes an object, no alias a copy."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import yaml
from msgspec import Struct
from yaml.constructor import SafeConstructor

Scalar: TypeAlias = str | int | float | bool | None
Value: TypeAlias = Scalar | tuple[Scalar, ...]

_MAX_DEPTH = 24
_MAX_VALUES = 20_000  # aliases of aliases can stand for billions
_MERGE = "tag:yaml.org,2002:merge"
_PLAIN = frozenset(f"tag:yaml.org,2002:{name}" for name in ("str", "int", "float", "bool", "null"))


class Leaf(Struct, frozen=True, kw_only=True):
    """A value and its line and column, from 1. `empty`: it is a mapping without keys, and the value says nothing."""

    value: Value
    line: int
    column: int
    empty: bool = False


class Fault(Struct, frozen=True, kw_only=True):
    """Why a file cannot be read as what it should be, and where, from 1."""

    message: str
    line: int = 1
    column: int = 1


class YamlFile(Struct, frozen=True, kw_only=True):
    """The values by dotted key, and the keys that are given twice with the line of the second."""

    leaves: dict[str, Leaf] = {}
    twice: tuple[tuple[str, int], ...] = ()


def read_yaml(text: str) -> YamlFile | Fault:
    """The values of a yaml of one document; of a key given twice the later one counts, as everywhere."""
    try:
        root = yaml.compose(text, Loader=yaml.CSafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        message = " ".join((error.problem or error.context or "It cannot be read").split())
        return Fault(message=message, line=mark.line + 1 if mark else 1, column=mark.column + 1 if mark else 1)
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Fault(message=" ".join(str(error).split())[:200], line=_line_of(text, error))
    walk = _Walk()
    if isinstance(root, yaml.MappingNode):
        walk.mapping(root, "", 0)
    elif root is not None:
        return Fault(message="it holds no mapping of keys to values")
    return YamlFile(leaves=walk.leaves, twice=tuple(walk.twice))


def _line_of(text: str, error: Exception) -> int:
    """Where a character lies that yaml does not allow."""
    position = getattr(error, "position", None)
    return text.count("\n", 0, position) + 1 if isinstance(position, int) else 1


class _Walk:
    def __init__(self) -> None:
        self.leaves: dict[str, Leaf] = {}
        self.twice: list[tuple[str, int]] = []
        self.seen = 0

    def mapping(self, node: yaml.MappingNode, prefix: str, depth: int, *, merged: bool = False) -> None:
        """The keys of `node`. Where it is `merged` into another mapping, what that one has itself stays."""
        own = set[str]()
        bases: list[yaml.Node] = []
        for key, value in self._pairs(node):
            if key.tag == _MERGE:
                bases += value.value if isinstance(value, yaml.SequenceNode) else [value]
                continue
            name = f"{prefix}{key.value}"
            if name in own and not merged:
                self.twice.append((name, key.start_mark.line + 1))
            own.add(name)
            self._value(name, key, value, depth, merged=merged)
        for base in bases:
            if isinstance(base, yaml.MappingNode) and depth < _MAX_DEPTH:
                self.mapping(base, prefix, depth + 1, merged=True)

    def _pairs(self, node: yaml.MappingNode) -> Iterator[tuple[yaml.ScalarNode, yaml.Node]]:
        for key, value in node.value:
            if self.seen >= _MAX_VALUES:
                return
            self.seen += 1
            if isinstance(key, yaml.ScalarNode):
                yield key, value

    def _value(self, name: str, key: yaml.Node, node: yaml.Node, depth: int, *, merged: bool) -> None:
        empty = isinstance(node, yaml.MappingNode)
        if isinstance(node, yaml.MappingNode) and node.value:
            if depth < _MAX_DEPTH:
                self.mapping(node, f"{name}.", depth + 1, merged=merged)
        elif not (merged and name in self.leaves):
            mark = key.start_mark
            self.leaves[name] = Leaf(value=_value_of(node), line=mark.line + 1, column=mark.column + 1, empty=empty)


def _value_of(node: yaml.Node) -> Value:
    if isinstance(node, yaml.SequenceNode):
        return tuple(_scalar(each) for each in node.value[:100] if isinstance(each, yaml.ScalarNode))
    return _scalar(node) if isinstance(node, yaml.ScalarNode) else None


def _scalar(node: yaml.ScalarNode) -> Scalar:
    """The value as YAML 1.1 has it; the text itself where it is of no plain kind, or too large a number."""
    if node.tag not in _PLAIN:
        return str(node.value)
    try:
        value: Scalar = SafeConstructor().construct_object(node)
    except (yaml.YAMLError, ValueError, OverflowError):
        return str(node.value)
    return value
