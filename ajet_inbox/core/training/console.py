"""A console's raw lines as a reader means them: terminal codes, overwritten bars and Ray's prefixes taken off."""

from __future__ import annotations

import re

from msgspec import Struct

# Each alternative ends or fails where the next escape begins, so that a file of nothing but escapes stays linear.
_ANSI = re.compile(r"\x1b(?:\[[0-?]*+[ -/]*+[@-~]|\][^\x07\x1b]*+(?:\x07|\x1b\\)|[@-Z\\-_])")
_RAY = re.compile(r"\((?:([^\s()=]{1,80})\s?)?(?:pid=(\d{1,9}))?(?:, ip=([^\s)]{1,64}))?\)\s?")
_RANK = re.compile(r"\[rank(\d{1,5})\]:?\s?")
_REPEATED = re.compile(r"\s?\[repeated (\d{1,9})x across cluster\].{0,300}$")
_RAY_DAEMONS = ("raylet", "autoscaler")  # those that Ray names without a pid


class Origin(Struct, frozen=True, kw_only=True):
    """Where a line came from, as far as Ray and torch said so, and for how many like it it stands."""

    actor: str | None = None
    pid: int | None = None
    ip: str | None = None
    rank: int | None = None
    repeated: int = 1


def clean(line: str) -> str:
    """`line` as a terminal would leave it: without escape codes, only what follows the last carriage return."""
    shown = line.rstrip("\r\n")
    shown = shown[shown.rfind("\r") + 1 :]
    return _ANSI.sub("", shown) if "\x1b" in shown else shown


def split_origin(line: str) -> tuple[Origin, str]:
    """Who wrote a clean `line`, and what it says."""
    actor = pid = ip = None
    if (ray := _RAY.match(line)) and (ray[2] or ray[1] in _RAY_DAEMONS):
        actor, pid, ip = ray.groups()
        line = line[ray.end() :]
    if rank := _RANK.match(line):
        line = line[rank.end() :]
    if repeated := _REPEATED.search(line) if "[repeated " in line else None:
        line = line[: repeated.start()]
    origin = Origin(
        actor=actor,
        pid=int(pid) if pid else None,
        ip=ip,
        rank=int(rank[1]) if rank else None,
        repeated=int(repeated[1]) if repeated else 1,
    )
    return origin, line
