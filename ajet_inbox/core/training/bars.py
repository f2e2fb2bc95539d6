"""Progress bars in the form of tqdm's."""

from __future__ import annotations

import re

from msgspec import Struct

from ajet_inbox.core.training.literals import read_number

MARKS = ("%|", "% Completed |")
_COUNT = re.compile(r"\| ++(\d{1,18})/(\d{1,18}) \[[\d:]{1,20}<([\d:?]{1,20}), *([^\],]{1,40})")
_RATE = re.compile(r"([\d.]+)(s/\w+|\w+/s)")


class Bar(Struct, frozen=True, kw_only=True):
    """How far something has come. `eta_s` is the trainer's own guess of the seconds left, None where it has none."""

    label: str
    done: int
    total: int
    seconds_per_item: float | None = None
    eta_s: float | None = None


def read_bar(text: str) -> Bar | None:
    """The last bar in a clean line; None where there is none."""
    at = max(text.rfind(mark) for mark in MARKS)
    found = _COUNT.search(text, at) if at >= 0 else None
    if not found:
        return None
    done, total, eta, rate = found.groups()
    label = text[:at].rstrip("0123456789").strip().removesuffix(":")
    return Bar(label=label, done=int(done), total=int(total), seconds_per_item=_pace(rate), eta_s=_seconds(eta))


def _pace(rate: str) -> float | None:
    found = _RATE.fullmatch(rate.strip())
    number = read_number(found[1]) if found else None
    if not found or not number:
        return None
    return number if found[2].startswith("s/") else 1 / number


def _seconds(clock: str) -> float | None:
    """`1:53:43` or `00:49` as seconds; None for tqdm's `?`."""
    parts = clock.split(":")
    if not all(part.isdecimal() for part in parts):
        return None
    return float(sum(int(part) * 60**power for power, part in enumerate(reversed(parts))))
