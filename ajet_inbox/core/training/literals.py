"""Values out of text that Python printed: numbers, and whole `str(dict)` lines. Nothing is ever evaluated."""

from __future__ import annotations

import re
from typing import TypeAlias

Value: TypeAlias = str | float | bool | None

# Possessive throughout: a torn line of many megabytes is given up after one pass, never tried again from within.
_NUMBER = r"[+-]?(?:(?:\d++\.?\d*+|\.\d++)(?:[eE][+-]?\d++)?|nan\b|inf\b)"
_LONE_NUMBER = re.compile(rf"\s*+(?:[A-Za-z_][\w.]*+\(\s*+)?({_NUMBER})\s*+(%)?\s*+\)?\s*+")
_TOKEN = re.compile(
    rf"""(?P<text>'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+")
    |(?P<torn>['"])
    |(?P<number>{_NUMBER})
    |(?P<word>[^\W\d][\w.]*+)
    |(?P<open>[{{\[(])|(?P<close>[}}\])])|(?P<comma>,)|(?P<colon>:)""",
    re.VERBOSE | re.DOTALL,
)
_WORDS: dict[str, Value] = {"True": True, "False": False, "None": None}
_SHAPE_LENGTH = 6  # tokens that tell what an entry is; the rest of a long list is not kept

Token = tuple[str, str]


def read_number(text: str) -> float | None:
    """The number that is all of `text`, also as `np.float64(0.45)`, `nan` or `92.98%` (0.9298); else None."""
    found = _LONE_NUMBER.fullmatch(text)
    if not found:
        return None
    number, percent = found.groups()
    # Shifting the exponent keeps 94.74% exactly 0.9474, which dividing by 100 does not.
    return _number(f"{number}e-2") if percent and number[-1].isdigit() else _number(number)


def read_dict(text: str) -> dict[str, Value] | None:
    """The plain values of the `str(dict)` at the start of `text`; None where there is none or it is torn.

    `np.float64(0.45)` is 0.45, as is `tensor(0.45, device='cuda:0')`; lists, arrays and nested dicts are passed over.
    Of a key given twice the later value counts.
    """
    values: dict[str, Value] = {}
    entry: list[Token] = []
    depth = 0
    for token in _TOKEN.finditer(text) if text.startswith("{") else ():
        kind = str(token.lastgroup)
        if kind == "torn":
            return None
        depth += (kind == "open") - (kind == "close")
        if depth == 0 or (depth == 1 and kind == "comma"):
            values.update(_entry(entry))
            entry = []
        elif len(entry) < _SHAPE_LENGTH and token.start():
            entry.append((kind, token[0]))
        if depth == 0:
            return values
    return None


def _entry(tokens: list[Token]) -> dict[str, Value]:
    """`'key': value` as a dict of one; of none where the value is not plain."""
    match tokens:
        case [("text", key), ("colon", _), ("text", value)]:
            return {_unquote(key): _unquote(value)}
        case [("text", key), ("colon", _), ("number", value)]:
            return {_unquote(key): _number(value)}
        case [("text", key), ("colon", _), ("word", value)] if value in _WORDS:
            return {_unquote(key): _WORDS[value]}
        case [("text", key), ("colon", _), ("word", _), ("open", "("), ("number", value), *_]:
            return {_unquote(key): _number(value)}
    return {}


def _number(text: str) -> float:
    return int(text) if text.lstrip("+-").isdecimal() and len(text) < 19 else float(text)


def _unquote(text: str) -> str:
    return re.sub(r"\\(['\"\\])", r"\1", text[1:-1]) if "\\" in text else text[1:-1]
