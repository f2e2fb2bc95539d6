"""One value of the settings: from the text it is written as, and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Any, Literal, get_args, get_origin

from msgspec import Struct

from ajet_inbox.core.settings import Form
from ajet_inbox.core.settings.fields import alternatives, fields

_SECONDS = {
    "ms": 0.001,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 1.0),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60.0),
    **dict.fromkeys(("h", "hour", "hours"), 3600.0),
    **dict.fromkeys(("d", "day", "days"), 86400.0),
}
_BYTES = {"b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 1 << 10, "mib": 1 << 20, "gib": 1 << 30}
_QUANTITY = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,9})?) ?([A-Za-z]+)")
_TRUTH = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def read_scalar(text: str, alternative: Any, *, quoted: bool) -> Any:
    """`text` as one of the things its key may hold, None where it is not that; a quoted number is no number."""
    if isinstance(alternative, Form):
        return _FORMS[alternative](text) if not quoted or alternative in _QUOTABLE else None
    if get_origin(alternative) is Literal:
        return text if text in get_args(alternative) else None
    if alternative is bool:
        return None if quoted else _TRUTH.get(text.lower())
    if alternative is str:
        return text if text.strip() and text.isprintable() else None
    is_member = isinstance(alternative, type) and issubclass(alternative, StrEnum) and text in set(alternative)
    return alternative(text) if is_member else None


def read_seconds(text: str) -> float | None:
    """Seconds of one strict duration above zero, such as `3s`, `1.5 h` or `30 min`; None for anything else."""
    return _quantity(text, _SECONDS)


def read_bytes(text: str) -> int | None:
    """Bytes of one strict size of at least 1, such as `64 MiB` or `1.5GB`; None for anything else."""
    size = _quantity(text, _BYTES)
    return int(size) or None if size else None


def _quantity(text: str, units: Mapping[str, float]) -> float | None:
    match = _QUANTITY.fullmatch(text)
    unit = units.get(match[2].lower()) if match else None
    return float(match[1]) * unit or None if match and unit else None


def _count(text: str) -> int | None:
    return int(text) if re.fullmatch(r"[0-9]{1,9}", text) else None


def _share(text: str) -> float | None:
    share = float(text) if re.fullmatch(r"[0-9]{1,9}(\.[0-9]{1,9})?", text) else None
    return share if share is not None and share <= 1 else None


def _name(text: str) -> str | None:
    return text if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}", text) else None


_FORMS: dict[Form, Callable[[str], Any]] = {
    Form.DURATION: read_seconds,
    Form.SIZE: read_bytes,
    Form.COUNT: _count,
    Form.POSITIVE: lambda text: _count(text) or None,
    Form.SHARE: _share,
    Form.NAME: _name,
}
_QUOTABLE = frozenset({Form.DURATION, Form.SIZE, Form.NAME})


def written(value: Any, hint: Any) -> str:
    """A value as it is written in the file; reading it gives the value again."""
    options = tuple(alternatives(hint))
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    if isinstance(value, tuple):
        item = next(get_args(option)[0] for option in options if get_origin(option) is tuple)
        return "[" + ", ".join(written(each, item) for each in value) + "]"
    if isinstance(value, Struct):
        pairs = ((field, getattr(value, field.attribute)) for field in fields(type(value)).values())
        return "{" + ", ".join(f"{f.name}: {written(v, f.hint)}" for f, v in pairs if v != f.default) + "}"
    if isinstance(value, str):
        plain = re.fullmatch(r"(?!null$)[A-Za-z][A-Za-z0-9_-]*", value, re.IGNORECASE)
        return str(value) if plain else json.dumps(value, ensure_ascii=False)
    return _number(value, options)


def _number(value: float, options: tuple[Any, ...]) -> str:
    """In the largest unit of which it is a whole number."""
    units: dict[str, float] = {"": 1}
    if Form.DURATION in options:
        units = {"d": 86400.0, "h": 3600.0, "min": 60.0, "s": 1.0}
    elif Form.SIZE in options:
        units = {"GiB": 1 << 30, "MiB": 1 << 20, "KiB": 1 << 10, "B": 1}
    unit = next((unit for unit, size in units.items() if value % size == 0), list(units)[-1])
    return f"{value / units[unit]:.9g} {unit}".rstrip()
