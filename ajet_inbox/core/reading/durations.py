"""Durations as people write them, in English, Chinese, ISO 8601 and clock notation (contract section 6)."""

from __future__ import annotations

import re

_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_UNIT = (
    r"(?:(?P<s>seconds?|secs?|s|秒钟?)|(?P<m>minutes?|mins?|m|分钟?)|(?P<h>hours?|hrs?|h|个?半?小时|个?半?钟头)"
    r"|(?P<d>days?|d|天|日)|(?P<w>weeks?|wks?|w|周|个?星期))"
)
_ENGLISH = {
    **dict.fromkeys(("half an", "half a", "half"), 0.5),
    **dict.fromkeys(("a", "an", "one"), 1.0),
    "two": 2.0,
    "three": 3.0,
    "four": 4.0,
    "five": 5.0,
    "six": 6.0,
    "seven": 7.0,
    "eight": 8.0,
    "nine": 9.0,
    "ten": 10.0,
    "eleven": 11.0,
    "twelve": 12.0,
    "fifteen": 15.0,
    "twenty": 20.0,
    "thirty": 30.0,
    "sixty": 60.0,
    **dict.fromkeys(("twenty-four", "twenty four"), 24.0),
    **dict.fromkeys(("thirty-six", "thirty six"), 36.0),
    **dict.fromkeys(("forty-eight", "forty eight"), 48.0),
    "ninety": 90.0,
}
_HAN = "零一二三四五六七八九"
_DIGITS = r"\d{1,9}(?:,\d{3})*(?:\.\d{1,9})?"
_WORDS = "|".join(sorted(_ENGLISH, key=len, reverse=True))
# A blank must follow a word: "an" + "d" would be a day. "A second run" is no duration either.
_NUMBER = rf"(?:{_DIGITS}|(?!an?\s+second\b)(?:{_WORDS})(?=[\s-])|[半两{_HAN}十]{{1,4}})"
_HALF = r"\s+and\s+a\s+half"
_PART = re.compile(rf"(?P<number>{_NUMBER})(?P<half>{_HALF})?\s*-?\s*{_UNIT}(?P<more>半|{_HALF})?(?![A-Za-z])", re.I)
_JOIN = re.compile(r"\s*(?:,|and|又|零)?\s*", re.I)
_RANGE = re.compile(rf"(?<![\w.])({_DIGITS})\s*(?:-|–|—|~|～|to|and|or|至|到|或)\s*$", re.I)
_ISO = re.compile(
    r"(?<![A-Za-z0-9])P(?=T?\d)(?:(?P<w>[\d.]+)W)?(?:(?P<d>[\d.]+)D)?"
    r"(?:T(?:(?P<h>[\d.]+)H)?(?:(?P<m>[\d.]+)M)?(?:(?P<s>[\d.]+)S)?)?(?![A-Za-z0-9])"
)
_CLOCK = re.compile(r"(?<![\d:.-])(?:(?P<d>\d{1,3})-)?(?P<h>\d{1,4}):(?P<m>[0-5]\d):(?P<s>[0-5]\d)(?![\d:])")
_START = re.compile(rf"(?<![A-Za-z0-9_.:/])(?:(?={_NUMBER})|(?=P[T\d]))", re.I)
_BARE = re.compile(rf"{_DIGITS}$")


def parse_duration(text: str, *, bare_hours: bool = False) -> float | None:
    """The seconds that all of `text` means; None where it is not one positive duration.

    A number without a unit is hours if `bare_hours`, else no duration.
    """
    text = text.strip()
    if bare_hours and _BARE.match(text):
        return float(text.replace(",", "")) * _SECONDS["h"] or None
    seconds, end = _at(text, 0)
    return seconds if seconds and end == len(text) else None


def durations_in(text: str) -> tuple[float, ...]:
    """Every duration that a sentence mentions, in order, in seconds; both ends of a range."""
    found: list[float] = []
    at = 0
    while start := _START.search(text, at):
        seconds, end = _at(text, start.start())
        if seconds and not _is_negative(text, start.start()):
            found += [*_lower_end(text, start.start()), seconds]
        at = max(end, start.start() + 1)
    return tuple(found)


def show_duration(seconds: float) -> str:
    """`seconds` for people, in its two largest units: "1 h 5 min"."""
    left, shown = round(seconds), list[str]()
    for name, size in (("d", 86400), ("h", 3600), ("min", 60), ("s", 1)):
        count, left = divmod(left, size)
        if count:
            shown.append(f"{count} {name}")
        elif shown:
            break
    return " ".join(shown[:2]) or "0 s"


def _at(text: str, at: int) -> tuple[float | None, int]:
    """The duration that begins at `at`, and where it ends."""
    for pattern in (_ISO, _CLOCK):
        if (match := pattern.match(text, at)) and (seconds := _sum(match)) is not None:
            return seconds, match.end()
    total, end, part = 0.0, at, _PART.match(text, at)
    while part:
        total, end = total + _part_seconds(part), part.end()
        joint = _JOIN.match(text, end)
        part = _PART.match(text, joint.end()) if joint else None
    return (total, end) if end > at else (None, at)


def _sum(match: re.Match[str]) -> float | None:
    try:
        return sum(float(count) * _SECONDS[unit] for unit, count in match.groupdict().items() if count)
    except ValueError:  # "1.2.3"
        return None


def _part_seconds(part: re.Match[str]) -> float:
    unit = next(name for name in _SECONDS if part[name])
    half = 0.5 * (bool(part["half"] or part["more"]) + ("半" in part[unit]))
    return (_number(part["number"]) + half) * _SECONDS[unit]


def _number(text: str) -> float:
    words = " ".join(text.lower().split())
    if words in _ENGLISH:
        return _ENGLISH[words]
    return _han(text) if text[0] in f"半两{_HAN}十" else float(text.replace(",", ""))


def _han(text: str) -> float:
    if text == "半":
        return 0.5
    tens, ten, ones = text.replace("两", "二").replace("半", "").rpartition("十")
    return 10.0 * _han_digit(tens or "一") * bool(ten) + _han_digit(ones)


def _han_digit(text: str) -> int:
    return max(_HAN.find(text[-1:]), 0) if text else 0


def _is_negative(text: str, start: int) -> bool:
    return text[start - 1 : start] == "-" and not text[max(start - 2, 0) : start - 1].strip() and start > 0


def _lower_end(text: str, start: int) -> list[float]:
    part, lower = _PART.match(text, start), _RANGE.search(text[max(start - 20, 0) : start])
    if part is None or lower is None:
        return []
    unit = next(name for name in _SECONDS if part[name])
    return [seconds] if (seconds := float(lower[1].replace(",", "")) * _SECONDS[unit]) else []
