"""Waiting for runs, and following their consoles."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.app.client.console import follow_console, last_lines
from ajet_inbox.app.client.waiting import by_key, by_name, wait
from ajet_inbox.app.errors import NoSuchRun, UserError
from ajet_inbox.app.identity import myself
from ajet_inbox.cli.terminal import Harmless
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge import intake
from ajet_inbox.edge.intake import Arrival
from tests.cli_home import (
    AT,
    add_run,
    console,
    end,
    finished,
    let_watch,
    live_sign,
    make_home,
    queued,
    running,
)

Until = Callable[..., object]
LIMITS = (1 << 20, 1 << 20)


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return make_home(tmp_path / "home")


# ---- waiting ------------------------------------------------------------------------------------------------------


def wait_quietly(home: HomePaths, *finders: Callable[[], str | None], timeout_s: float = 10.0):
    calls: list[str] = []
    waited = wait(
        home,
        finders,
        timeout_s=timeout_s,
        on_end=lambda state: calls.append(state.run),
        on_no_watcher=lambda: calls.append("nobody"),
    )
    return waited, calls


def later(act: Callable[[], object]) -> threading.Timer:
    timer = threading.Timer(0.3, act)
    timer.start()
    return timer


def test_a_run_has_ended_when_its_flag_stands_and_the_flag_says_how(home: HomePaths) -> None:
    add_run(home, "a", *running())
    add_run(home, "b", *finished(Outcome.FAILED))
    end(home, "b", Outcome.FAILED)
    timer = later(lambda: end(home, "a", Outcome.PLATEAUED))
    waited, calls = wait_quietly(home, by_name(home, "a"), by_name(home, "b"))
    timer.join()
    assert [(state.run, state.outcome) for state in waited.ended] == [
        ("b", Outcome.FAILED),
        ("a", Outcome.PLATEAUED),
    ]
    assert calls == ["b", "nobody", "a"]


def test_finished_without_its_flag_is_not_ended(home: HomePaths) -> None:
    add_run(home, "a", *finished(Outcome.SUCCEEDED))
    waited, _ = wait_quietly(home, by_name(home, "a"), timeout_s=0.3)
    assert (waited.ended, len(waited.left)) == ((), 1)


def test_a_key_may_be_waited_for_before_its_run_exists(home: HomePaths) -> None:
    let_watch(home)
    add_run(home, "other", *queued(), key="o")

    def appear() -> None:
        add_run(home, "wanted", *finished(Outcome.SUCCEEDED), key="k")
        end(home, "wanted", Outcome.SUCCEEDED)

    timer = later(appear)
    waited, calls = wait_quietly(home, by_key(home, "k"))
    timer.join()
    assert waited.ended[0].run == "wanted"
    assert calls == ["wanted"]


def test_of_several_with_a_key_the_first_counts(home: HomePaths) -> None:
    add_run(home, "a-dup", *finished(Outcome.REJECTED), key="k", at=AT + timedelta(hours=1))
    add_run(home, "first", *finished(Outcome.SUCCEEDED), key="k")
    assert by_key(home, "k")() == "first"


def test_a_run_that_is_removed_is_not_waited_for_for_ever(home: HomePaths) -> None:
    add_run(home, "a", *queued())
    timer = later(lambda: home.run("a").root.rename(home.root / "gone"))
    with pytest.raises(NoSuchRun):
        wait_quietly(home, by_name(home, "a"))
    timer.join()


@pytest.mark.parametrize("text", ["", "outcome: [", "outcome: superb", "- x", "!!python/object/apply:os.getcwd []"])
def test_a_flag_that_says_nothing_is_not_guessed_from(home: HomePaths, text: str) -> None:
    add_run(home, "a", *running())
    home.run("a").flag.write_text(text)
    with pytest.raises(UserError, match="does not say"):
        wait_quietly(home, by_name(home, "a"))


# ---- the console --------------------------------------------------------------------------------------------------


def test_the_console_is_followed_over_attempts_to_the_end(home: HomePaths) -> None:
    add_run(home, "a", *running())
    console(home, "a", 1, b"one\n")
    pieces = follow_console(home, "a", None)
    assert next(pieces) == b"one\n"
    console(home, "a", 1, b"more\n")
    console(home, "a", 2, b"two\n")
    assert (next(pieces), next(pieces)) == (b"more\n", b"two\n")
    console(home, "a", 2, b"last")
    end(home, "a", Outcome.FAILED)
    assert list(pieces) == [b"last"]


def test_one_attempt_is_followed_to_its_own_end(home: HomePaths) -> None:
    add_run(home, "a", *running())
    console(home, "a", 1, b"one\n")
    console(home, "a", 2, b"two\n")
    (home.run("a").attempt(1) / "exit.json").touch()
    assert list(follow_console(home, "a", 1)) == [b"one\n"]


def test_the_last_lines_are_those_that_a_terminal_shows(home: HomePaths) -> None:
    add_run(home, "a", *running())
    assert last_lines(home.run("a"), 3) == []
    console(home, "a", 1, b"x" * (1 << 20) + b"\n\x1b[31mred\x1b[0m\n10%\r20%\nend\n")
    assert last_lines(home.run("a"), 3) == ["red", "20%", "end"]


HOSTILE = [
    ("\x1b[31mred\x1b[0m", "\x1b[31mred\x1b[0m"),
    ("\x1b[2J\x1b[Hgone", "gone"),
    ("\x1b]0;title\x07x", "x"),
    ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
    ("\x1bP$q\x1b\\a\x1b(0b\x1bcc", "abc"),
    ("bell\x07 back\x08 c1\x9b31m", "bell back c131m"),
    ("bar 1\rbar 2\n你好\t", "bar 1\rbar 2\n你好\t"),
    ("\x1b[", "["),
]


@pytest.mark.parametrize(("text", "shown"), HOSTILE)
def test_a_console_can_colour_a_terminal_and_nothing_else(text: str, shown: str) -> None:
    harmless = Harmless()
    assert harmless.feed(text.encode()) + harmless.end() == shown


@given(st.lists(st.sampled_from([text for text, _ in HOSTILE] + ["\x1b", "[", "m", "]", "x"])), st.data())
def test_where_a_console_is_cut_makes_no_difference(parts: list[str], data: st.DataObject) -> None:
    whole = "".join(parts).encode()
    cuts = sorted(data.draw(st.lists(st.integers(0, len(whole)), max_size=6)))
    once, pieces = Harmless(), Harmless()
    expected = once.feed(whole) + once.end()
    got = "".join(pieces.feed(whole[a:b]) for a, b in zip([0, *cuts], [*cuts, len(whole)], strict=True)) + pieces.end()
    assert got == expected


@given(st.binary(max_size=200))
def test_no_bytes_leave_a_command_to_the_terminal(data: bytes) -> None:
    harmless = Harmless()
    shown = harmless.feed(data) + harmless.end()
    for at, character in enumerate(shown):
        if character == "\x1b":
            rest = shown[at + 1 :].partition("m")
            assert rest[1]
            assert set(rest[0]) <= set("[0123456789;:")
        else:
            assert character.isprintable() or character in "\n\r\t" or ord(character) > 0x9F


def test_a_live_sign_is_what_watchers_write() -> None:
    assert live_sign().host == myself().host


def test_a_name_is_waited_for_while_its_drop_is_on_its_way(home: HomePaths) -> None:
    """`submit`, then `wait`: the watcher may not have made a run of it yet."""
    (home.inbox / "new one.md").write_text("# a blueprint")
    finder = by_name(home, "new_one")
    assert finder() is None
    intake.claim(home, myself(), "0123456789ab", Arrival(name="new one.md", kind=DropKind.FILE, submitted_at=AT))
    assert finder() is None, "it has been taken out of the inbox and is no run yet"
    add_run(home, "new_one")
    assert finder() == "new_one"
    with pytest.raises(NoSuchRun):
        by_name(home, "another")
