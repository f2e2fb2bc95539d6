"""Durations as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.reading.durations import durations_in, parse_duration, show_duration

MINUTE, HOUR, DAY = 60.0, 3600.0, 86400.0
WRITTEN = {
    45.0: ["45s", "45 seconds", "45 sec", "45秒", "PT45S"],
    20 * MINUTE: ["20 min", "20 minutes", "20m", "20-minute", "20 分钟", "20分", "二十分钟", "PT20M", "00:20:00"],
    HOUR / 2: ["half an hour", "半小时", "0.5h", "30 mins"],
    1.5 * HOUR: [
        "90 min",
        "1.5 hours",
        "1h30m",
        "1 h 30 min",
        "an hour and a half",
        "1 and a half hours",
        "一个半小时",
    ],
    6.5 * HOUR: ["6h30m", "6 hours 30 minutes", "6 hours and 30 minutes", "6 小时 30 分钟", "06:30:00", "PT6H30M"],
    12 * HOUR: ["12 hours", "12h", "12 Hrs", "twelve hours", "12小时", "12 个小时", "十二小时", "PT12H", "half a day"],
    DAY: ["24 hours", "1 day", "a day", "24 小时", "一天", "1,440 minutes", "86400s", "P1D", "1-00:00:00"],
    1.5 * DAY: ["1.5 days", "36h", "1 day, 12 hours", "1d12h", "一天半", "1天12小时", "P1DT12H"],
    2 * DAY: ["2天", "两天", "two days", "48 h", "四十八小时"],
    7 * DAY: ["1 week", "一周", "1w", "P1W"],
}


@pytest.mark.parametrize(("seconds", "text"), [(s, t) for s, texts in WRITTEN.items() for t in texts])
def test_one_duration(seconds: float, text: str) -> None:
    assert parse_duration(f" {text} ") == pytest.approx(seconds)
    assert durations_in(f"最长 {text}。") == pytest.approx((seconds,))


@pytest.mark.parametrize(
    "text",
    ["", "12", "12 GPUs", "soon", "0h", "-5 hours", "12:00", "1h 30", "12 hours or so", "PT", "P1.2.3D", "h", "five"],
)
def test_no_duration(text: str) -> None:
    assert parse_duration(text) is None


@pytest.mark.parametrize(
    ("text", "seconds"), [("12", 12 * HOUR), ("1.5", 1.5 * HOUR), ("0", None), ("x", None), ("20m", 1200)]
)
def test_a_bare_number_is_hours_where_that_is_allowed(text: str, seconds: float | None) -> None:
    assert parse_duration(text, bare_hours=True) == seconds


SENTENCES = [
    ("${MaxTime} = 12 hours", [12 * HOUR]),
    ("最长 24 小时；首步成功超时：20 分钟", [24 * HOUR, 20 * MINUTE]),
    ("最长24小时", [24 * HOUR]),
    ("8-10 hours", [8 * HOUR, 10 * HOUR]),
    ("8 到 10 小时", [8 * HOUR, 10 * HOUR]),
    ("between 10 and 12 hours", [10 * HOUR, 12 * HOUR]),
    ("in a second run with 8 GPUs, 500 steps, step2m, v1.2h3", []),
    ("-5 hours", []),
    ("", []),
]


@pytest.mark.parametrize(("text", "seconds"), SENTENCES)
def test_durations_in_a_sentence(text: str, seconds: list[float]) -> None:
    assert list(durations_in(text)) == seconds


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (5, "5 s"),
        (59.6, "1 min"),
        (65, "1 min 5 s"),
        (3605, "1 h"),
        (3900, "1 h 5 min"),
        (86400, "1 d"),
        (90061, "1 d 1 h"),
    ],
)
def test_shown_for_people(seconds: float, text: str) -> None:
    assert show_duration(seconds) == text


@given(st.integers(1, 10**7))
def test_what_is_shown_is_read_again(seconds: int) -> None:
    again = parse_duration(show_duration(seconds))
    assert again is not None
    assert again <= seconds < again * 1.1 + 60


@given(st.text(alphabet="0123456789.,:-PTDHMS天小时分半一十and hours~", max_size=40))
def test_any_text_gives_positive_durations_or_none(text: str) -> None:
    assert all(seconds > 0 for seconds in durations_in(text))
    assert (parse_duration(text) or 1) > 0
