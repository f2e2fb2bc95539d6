"""What a report says of a run, from its journal."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from ajet_inbox.core import journal
from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.lifecycle import Outcome, State
from ajet_inbox.core.run import fold
from ajet_inbox.core.settings import Language
from ajet_inbox.core.telling.markup import code, fence, inline, visible
from ajet_inbox.core.telling.report import tail_lines
from ajet_inbox.core.telling.scores import Score, score_tables
from ajet_inbox.core.telling.story import moments
from ajet_inbox.core.telling.trials import End
from ajet_inbox.core.telling.words import REASONS_ZH, WORDS, duration, number, reason_text, say, word
from ajet_inbox.core.training.evals import Eval
from tests.journals import JOURNALS, life, tell, told

ENDS = {
    "succeeded": (Outcome.SUCCEEDED, 0, [End.EXIT]),
    "succeeded_again": (Outcome.SUCCEEDED, 0, [End.EXIT, End.EXIT]),
    "plateaued": (Outcome.PLATEAUED, 143, [End.STOPPED]),
    "timed_out": (Outcome.TIMED_OUT, 143, [End.MAX_TIME]),
    "failed": (Outcome.FAILED, 1, [End.EXIT]),
    "failed_prepare": (Outcome.FAILED, None, []),
    "rejected": (Outcome.REJECTED, None, []),
    "cancelled": (Outcome.CANCELLED, -9, [End.STOPPED]),
    "cancelled_queued": (Outcome.CANCELLED, None, []),
    "lost": (Outcome.LOST, None, [End.UNKNOWN]),
    "lost_gaps": (Outcome.LOST, None, [End.UNKNOWN]),
}


def test_the_samples_hold_every_outcome() -> None:
    assert sorted(ENDS) == JOURNALS
    assert {outcome for outcome, _, _ in ENDS.values()} == set(Outcome)


@pytest.mark.parametrize("name", JOURNALS)
def test_how_it_ended(name: str) -> None:
    report = told(name)
    assert (report.outcome, report.exit_code, [attempt.end for attempt in report.attempts]) == ENDS[name]
    assert report.reason is not None


@pytest.mark.parametrize("name", JOURNALS)
def test_a_journal_cut_off_anywhere_can_be_told(name: str) -> None:
    _, entries = life(name)
    for length in range(len(entries)):
        run = fold(name, entries[:length])
        if run is not None:
            assert tell(run, entries[:length]).state is run.state


def test_attempts_say_what_was_seen_and_decided() -> None:
    first, second = told("succeeded_again").attempts
    assert (first.seen.step, first.seen.nan_steps, first.running_s, first.first_step_s) == (12, 1, 298.5, None)
    assert first.decision is not None
    assert first.decision.text == "The command ended with exit 1."
    assert str(first.again_at) == "2026-03-04 22:05:16+08:00"
    assert (second.running_s, second.first_step_s, second.again_at) == (3280.5, 401.5, None)
    assert second.decision is not None
    assert second.decision.code == "completed"


def test_where_the_time_went() -> None:
    times = told("succeeded_again").times
    assert (times.waiting_s, times.running_s, times.backoff_s, times.total_s) == (5, 298.5 + 3280.5, 11, 3600)
    held = told("failed").times
    assert (held.waiting_s, held.running_s) == (200 + 29, 27.5)


def test_what_cannot_be_known_is_unknown() -> None:
    times = told("lost_gaps").times
    assert (times.started_at, times.waiting_s, times.running_s) == (None, None, None)
    assert times.total_s == 700
    assert told("lost").times.running_s is None


def test_stops_notes_and_leftovers_are_told() -> None:
    cancelled = told("cancelled").attempts[0]
    assert cancelled.stop is not None
    assert (cancelled.stop.cause, cancelled.stop.by) == ("cancelled", "ann@desk")
    assert cancelled.leftovers == ("VLLM::Engine (4200): alive",)
    succeeded = told("succeeded").attempts[0]
    assert succeeded.notes == ("--autokill was replaced by --skip-check-avail-gpu.",)
    assert succeeded.leftovers == ("raylet (4100): terminated",)


def test_an_attempt_under_way_has_not_ended() -> None:
    _, entries = life("timed_out")
    until_launched = entries[:8]
    run = fold("timed_out", until_launched)
    assert run is not None
    report = tell(run, until_launched)
    assert report.state is State.RUNNING
    assert (report.outcome, report.attempts[0].end, report.times.running_s) == (None, End.GOING, None)


def test_who_publishes_after_the_end_changes_nothing() -> None:
    run, entries = life("succeeded")
    adopted = journal.Claimed(at=entries[-1].at, owner=entries[0].owner, act="adopt")  # type: ignore[union-attr]
    assert tell(run, (*entries, adopted)) == tell(run, entries)


def test_a_long_story_keeps_its_end() -> None:
    run, entries = life("failed")
    index = next(i for i, entry in enumerate(entries) if isinstance(entry, journal.FirstStep | journal.Launched))
    notes = tuple(journal.Noted(at=entries[index].at, code="n", text=str(i)) for i in range(300))
    report = tell(run, (*entries[: index + 1], *notes, *entries[index + 1 :]))
    assert (len(report.story), report.story[-1].what, report.story_left_out > 100) == (200, "finished", True)


# ---- secrets and bounds ------------------------------------------------------------------------------------------


def test_no_secret_is_in_a_report_but_the_names_of_the_run_stay() -> None:
    run, entries = life("failed")
    secret = "sk-abcdefghijklmnop1234"
    blueprint = replace(
        run.blueprint, purpose=f"use {secret}", notes=secret, env={"MY_TOKEN": "x y"}, prepare_command=f"a {secret}"
    )
    drop = replace(run.drop, name=f"{secret}.md", key=secret)
    report = tell(replace(run, blueprint=blueprint, drop=drop), entries)
    assert (report.name, report.key) == (f"{secret}.md", secret)
    assert report.purpose == "use ***"
    assert report.command.environment == ("MY_TOKEN=***",)
    assert report.command.launch_command is not None
    assert report.command.launch_command.startswith("SWANLAB_API_KEY=*** ")
    assert secret not in repr(replace(report, name="", key=None))


def test_a_long_text_is_cut_and_says_so() -> None:
    run, entries = life("rejected")
    report = tell(replace(run, blueprint=Blueprint(purpose="x" * 1_000_000)), entries)
    assert report.purpose == "x" * 20_000 + " [... +980000]"


TAILS = [
    (b"", ()),
    (b"\n\n", ()),
    (b"one\ntwo\n", ("one", "two")),
    (b"\x1b[31mred\x1b[0m\r\n50%\r100%\n", ("red", "100%")),
    (b"\xff\xfe bad", ("\ufffd\ufffd bad",)),
    (b"password=abc", ("password=***",)),
    (b"y" * 500, ("y" * 400 + " [... +100]",)),
]


@pytest.mark.parametrize(("console", "lines"), TAILS)
def test_the_last_lines_of_a_console(console: bytes, lines: tuple[str, ...]) -> None:
    assert tail_lines(console) == lines


def test_only_the_last_lines_are_shown_and_only_of_what_failed() -> None:
    console = b"".join(b"%d\n" % i for i in range(100_000))
    assert tail_lines(console) == tuple(str(i) for i in range(99_960, 100_000))
    run, entries = life("succeeded")
    assert tell(run, entries, console=console).console_tail == ()


# ---- scores ------------------------------------------------------------------------------------------------------


def test_a_table_for_each_dataset() -> None:
    nan = math.nan
    evals = [
        Eval(global_steps=0, dataset="a", values={"task_pass_rate@1": 0.25, "std_reward": 0.1, "total_tasks": 9}),
        Eval(global_steps=0, dataset=None, values={"mean_reward": nan}),
        Eval(global_steps=5, dataset="a", values={"task_pass_rate@1": 0.75, "mean_reward": 1.0}),
        Eval(global_steps=9, dataset="a", values={"task_pass_rate@1": 0.5, "mean_reward": nan}),
    ]
    a, unnamed = score_tables(evals)
    assert (a.dataset, a.columns) == ("a", ("task_pass_rate@1", "std_reward", "mean_reward"))
    assert [(row.step, row.values[:2]) for row in a.rows] == [(0, (0.25, 0.1)), (5, (0.75, None)), (9, (0.5, None))]
    assert a.scores == (
        Score(measure="task_pass_rate@1", first=0.25, best=0.75, best_step=5, last=0.5, gain=0.25),
        Score(measure="mean_reward", first=1.0, best=1.0, best_step=5, last=1.0, gain=None),
    )
    assert unnamed.scores == (
        Score(measure="mean_reward", first=None, best=None, best_step=None, last=None, gain=None),
    )
    assert score_tables([]) == ()


def test_measures_stand_in_the_order_of_their_tries() -> None:
    names = ("mean_reward", "task_pass_rate@16", "task_pass_rate@4-all-pass", "task_pass_rate@4", "std_reward")
    evals = [
        Eval(global_steps=0, values=dict.fromkeys(names, 0.5)),
        Eval(global_steps=1, values={"task_pass_rate@2": 1}),
    ]
    (table,) = score_tables(evals)
    rates = ["task_pass_rate@2", "task_pass_rate@4", "task_pass_rate@4-all-pass", "task_pass_rate@16"]
    assert table.columns == (*rates, "mean_reward", "std_reward")


def test_a_long_table_keeps_its_end_and_scores_it_all() -> None:
    evals = [Eval(global_steps=i, values={"mean_reward": float(-i)}) for i in range(100)]
    (table,) = score_tables(evals)
    assert (len(table.rows), table.left_out, table.rows[0].step) == (60, 40, 40)
    assert (table.scores[0].best, table.scores[0].gain) == (0.0, -99.0)


# ---- words and markup --------------------------------------------------------------------------------------------


def test_every_state_end_and_moment_has_words_in_both_languages() -> None:
    needed = [*State, *Outcome, *(f"end.{end}" for end in End), *(f"stop.{cause}" for cause in journal.StopCause)]
    needed += [f"moment.{moment.what}" for name in JOURNALS for moment in moments(life(name)[1])]
    assert [key for key in needed if key not in WORDS] == []
    assert all(english and chinese for english, chinese in WORDS.values())
    assert word("new_state", Language.ZH) == "new_state"


@pytest.mark.parametrize("language", list(Language))
@pytest.mark.parametrize("name", JOURNALS)
def test_every_moment_can_be_said(name: str, language: Language) -> None:
    for moment in moments(life(name)[1]):
        assert "{" not in say(f"moment.{moment.what}", moment.about, language)


def test_a_sentence_is_never_read_as_a_pattern() -> None:
    assert say("moment.noted", {"text": "{why} {0.__class__}"}, Language.EN) == "{why} {0.__class__}"


DURATIONS = [
    (None, "unknown", "未知"),
    (0.0, "0.00 s", "0.00 秒"),
    (59.5, "59.50 s", "59.50 秒"),
    (63, "1 min 03 s", "1 分 03 秒"),
    (3600, "1 h 00 min", "1 小时 00 分"),
    (90_061, "1 d 01 h", "1 天 01 小时"),
]


@pytest.mark.parametrize(("seconds", "english", "chinese"), DURATIONS)
def test_durations(seconds: float | None, english: str, chinese: str) -> None:
    assert (duration(seconds, Language.EN), duration(seconds, Language.ZH)) == (english, chinese)


def test_numbers_and_reasons() -> None:
    assert [number(n) for n in (0.25, -3.0, 123456.789, math.nan, math.inf)] == [
        "0.2500",
        "-3.0000",
        "123457",
        "nan",
        "inf",
    ]
    known, new = journal.Reason(code="completed", text="Done."), journal.Reason(code="new", text="Done.")
    assert reason_text(known, Language.ZH) == f"{REASONS_ZH['completed']}（Done.）"
    assert reason_text(new, Language.ZH) == reason_text(known, Language.EN) == "Done."
    assert reason_text(None, Language.EN) == "unknown"


MARKUP = [
    (inline("a|b\n# c"), r"a\|b # c"),
    (inline("<script>x</script>"), r"\<script\>x\</script\>"),
    (inline("snake_case _em_ *b* `c` [l](u)"), r"snake_case \_em\_ \*b\* \`c\` \[l\](u)"),
    (inline("{{7*7}} \x1b[31m\u202eevil\u3000空"), r"{{7\*7}} \\x1b\[31m\\u202eevil 空"),
    (inline("# h") + inline("- l") + inline("1. l") + inline("---") + inline("="), r"\# h\- l1\. l\---\="),
    (
        inline("-3.5") + inline("+0.1") + inline("#3") + inline("2026-03-04") + inline("1.5 s"),
        "-3.5+0.1#32026-03-041.5 s",
    ),
    (code("a`b"), "``a`b``"),
    (code("`a"), "`` `a ``"),
    (code(""), ""),
    (fence("a\n```\nb"), "````text\na\n```\nb\n````"),
    (visible("tab\there\nnext\x00 \u200b"), "tab\there\nnext\\x00 \\u200b"),
]


@pytest.mark.parametrize(("made", "expected"), MARKUP)
def test_markup(made: str, expected: str) -> None:
    assert made == expected


@given(st.text())
def test_nothing_leaves_its_fence_its_line_or_its_cell(text: str) -> None:
    block = fence(text).split("\n")
    assert [number for number, line in enumerate(block) if line.startswith(block[-1])] == [0, len(block) - 1]
    assert len(inline(text).splitlines()) <= 1
    assert "|" not in inline(text).replace(r"\\", "").replace(r"\|", "")
    assert len(code(text).splitlines()) <= 1
