"""`--set KEY=VALUE` and `--sweep KEY=V1,V2,...`: what is written into a yaml, and the grid that sweeps span."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import product
from typing import Any

from msgspec import Struct
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from ajet_inbox.core.drafting.errors import DraftError

MOST_DRAFTS = 256
_KEY = re.compile(r"[A-Za-z_][\w-]*(?:\.[\w-]+)*")
# A comma within brackets or quotes belongs to the value.
_VALUES = re.compile(r"""(?:[^,\[\]{}"']|\[[^\[\]]*\]|\{[^{}]*\}|"[^"]*"|'[^']*')+""")
# YAML 1.1, which most Python programs read, takes 1e-6 for a text: it wants a point and a sign.
_POWER = re.compile(r"([-+]?\d+)(\.\d*)?[eE]([-+]?)(\d+)$")


class Setting(Struct, frozen=True, kw_only=True):
    """One key of a yaml, its parts joined by dots, and its value as the caller wrote it."""

    key: str
    written: str

    @property
    def value(self) -> Any:
        """What YAML makes of it, for writing: it keeps the way in which a number is written."""
        return read_value(_with_point(power) if (power := _POWER.match(self.written)) else self.written)

    @property
    def plain_value(self) -> Any:
        """What YAML makes of it, for telling."""
        return YAML(typ="safe", pure=True).load(self.written)


class Axis(Struct, frozen=True, kw_only=True):
    """The settings of one key, one of which each draft has."""

    settings: tuple[Setting, ...]


def read_setting(text: str) -> Setting:
    """`KEY=VALUE`.

    Raises:
        DraftError: it is something else.
    """
    key, equals, written = (part.strip() for part in text.partition("="))
    if not equals or not _KEY.fullmatch(key) or not written:
        raise DraftError(f"{text!r} does not set anything.", "Write KEY=VALUE, as in trainer_common.optim.lr=1e-6.")
    read_value(written)
    return Setting(key=key, written=written)


def read_axis(text: str) -> Axis:
    """`KEY=V1,V2,...`, each value once.

    Raises:
        DraftError: it is something else.
    """
    key, _, written = text.partition("=")
    values = [value.strip() for value in _VALUES.findall(written)]
    if not values or not all(values) or _VALUES.sub("", written) != "," * (len(values) - 1):
        raise DraftError(f"{text!r} gives no values to sweep over.", "Write KEY=V1,V2,... with a value between commas.")
    settings = tuple(read_setting(f"{key}={value}") for value in dict.fromkeys(values))
    return Axis(settings=settings)


def combinations(axes: Sequence[Axis], *, zipped: bool) -> tuple[tuple[Setting, ...], ...]:
    """The settings of each draft: every combination, or with `zipped` the first values together, the second, ...

    Raises:
        DraftError: axes of different lengths cannot be zipped; a key is swept twice; it would be too many.
    """
    keys = [axis.settings[0].key for axis in axes]
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise DraftError(f"{twice} is swept twice.", "Give all its values at once.")
    lengths = sorted({len(axis.settings) for axis in axes})
    if zipped and len(lengths) > 1:
        raise DraftError(f"Sweeps of {lengths[0]} and {lengths[-1]} values make no pairs.", "Give each as many values.")
    values = [axis.settings for axis in axes]
    together = tuple(zip(*values, strict=True)) if zipped else tuple(product(*values))
    if len(together) > MOST_DRAFTS:
        raise DraftError(
            f"That would be {len(together)} drafts; at most {MOST_DRAFTS} are written.", "Sweep over less."
        )
    return together


def _with_point(power: re.Match[str]) -> str:
    return f"{power[1]}{power[2] or '.0'}e{power[3] or '+'}{power[4]}"


def read_value(written: str) -> Any:
    """A value as YAML means it.

    Raises:
        DraftError: it is no YAML.
    """
    try:
        return YAML().load(written)
    except (YAMLError, RecursionError, ValueError) as error:
        raise DraftError(f"{written!r} is no value of YAML.", "Put it in quotes if it is a text.") from error
