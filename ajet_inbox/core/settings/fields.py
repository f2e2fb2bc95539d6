"""The settings records seen as keys: how each is written, what it may hold, what it means."""

from __future__ import annotations

from collections.abc import Iterator
from enum import StrEnum
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, TypeGuard, Union, get_args, get_origin, get_type_hints

from msgspec import NODEFAULT, Struct
from msgspec.structs import fields as struct_fields

from ajet_inbox.core.settings import INERT, Form


class Field(Struct, frozen=True, kw_only=True):
    """One key of a record: `name` as written, `attribute` in Python, `default` NODEFAULT where it must be given.

    `is_inert`: whatever it says, nothing comes of it yet; its meaning begins with that.
    """

    name: str
    attribute: str
    hint: Any
    meaning: str
    default: Any
    is_inert: bool


def fields(record: type[Struct]) -> dict[str, Field]:
    """The keys of a record by the name they are written with, in order."""
    hints = get_type_hints(record, include_extras=True)
    return {
        f.encode_name: Field(
            name=f.encode_name,
            attribute=f.name,
            hint=hints[f.name],
            meaning=_meaning(hints[f.name]),
            default=f.default if f.default_factory is NODEFAULT else f.default_factory(),
            is_inert=_is_inert(hints[f.name]),
        )
        for f in struct_fields(record)
    }


def _meaning(hint: Any) -> str:
    if is_record(hint):
        return (hint.__doc__ or "").partition("\n")[0]
    meaning = next(note for note in hint.__metadata__ if isinstance(note, str) and not isinstance(note, Form))
    return f"{INERT.value}: {meaning}" if _is_inert(hint) else meaning


def _is_inert(hint: Any) -> bool:
    return INERT in getattr(hint, "__metadata__", ())


def inert(record: Struct, prefix: str = "") -> tuple[str, ...]:
    """The keys that say something else than their default, and are not acted on yet."""
    return tuple(_inert(record, prefix))


def _inert(record: Struct, prefix: str) -> Iterator[str]:
    for field in fields(type(record)).values():
        key, value = prefix + field.name, getattr(record, field.attribute)
        if field.is_inert and value != field.default:
            yield key
        elif isinstance(value, Struct):
            yield from _inert(value, f"{key}.")
        elif isinstance(value, tuple):
            for number, each in enumerate(value):
                yield from _inert(each, f"{key}[{number}].") if isinstance(each, Struct) else ()


def is_record(hint: Any) -> TypeGuard[type[Struct]]:
    """Whether a key holds a group of keys."""
    return isinstance(hint, type) and issubclass(hint, Struct)


def alternatives(hint: Any) -> Iterator[Any]:
    """What a key may hold, one by one: a Form, an enum, a Literal, bool, str, NoneType, a list or a record."""
    origin = get_origin(hint)
    if origin is Annotated:
        form = next((note for note in hint.__metadata__ if isinstance(note, Form)), None)
        yield from (form,) if form else alternatives(get_args(hint)[0])
    elif origin in (Union, UnionType):
        for each in get_args(hint):
            yield from alternatives(each)
    else:
        yield hint


def expected(hint: Any) -> str:
    """What a key may hold, in words."""
    return " or ".join(dict.fromkeys(_words(each) for each in alternatives(hint)))


def _words(alternative: Any) -> str:
    if isinstance(alternative, Form):
        return str(alternative)
    if get_origin(alternative) is Literal:
        return ", ".join(get_args(alternative))
    if get_origin(alternative) is tuple:
        return f"a list, each {expected(get_args(alternative)[0])}"
    if is_record(alternative):
        return "a group of keys"
    if issubclass(alternative, StrEnum):
        return "one of " + ", ".join(alternative)
    return {bool: "true or false", str: "text on one line", NoneType: "null"}[alternative]
