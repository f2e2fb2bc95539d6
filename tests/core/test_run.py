"""A run is the fold of its journal, whoever held it and whatever was torn."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from ajet_inbox.core import journal
from ajet_inbox.core.journal import AnyEntry, Claimed, Owner, Unreadable, decode, encode, join
from ajet_inbox.core.lifecycle import InvalidTransition, State
from ajet_inbox.core.run import fold
from tests.core.lives import submitted

AT = datetime(2026, 1, 1, tzinfo=UTC)


def owner(name: str) -> Owner:
    return Owner(host=name, boot_id="b", pid_ns=1, pid=1, started=1, nonce=name)


def claimed(name: str, **counts: int) -> Claimed:
    return Claimed(at=AT, owner=owner(name), act="run", counts={key[1:]: value for key, value in counts.items()})


ACCEPTED: tuple[AnyEntry, ...] = (
    claimed("a"),
    submitted(AT, 1),
    journal.Accepted(at=AT),
    journal.Relinquished(at=AT),
)


def starting(number: int) -> journal.Starting:
    return journal.Starting(at=AT, attempt=number, id=f"id-{number}", session="s")


def test_an_accepted_run_belongs_to_nobody() -> None:
    run = fold("r", ACCEPTED)
    assert run is not None
    assert (run.state, run.holder, run.epoch) == (State.QUEUED, None, 1)


def test_a_claim_makes_a_holder_and_an_epoch() -> None:
    run = fold("r", (*ACCEPTED, claimed("b"), journal.Allocated(at=AT, slot="s0", gpus=("g",))))
    assert run is not None
    assert (run.state, run.holder, run.epoch, run.slot) == (State.PREPARING, owner("b"), 2, "s0")


def test_the_current_attempt_is_none_until_the_next_is_announced() -> None:
    life = (
        *ACCEPTED,
        claimed("b"),
        journal.Allocated(at=AT, slot="s0"),
        starting(1),
        journal.Exited(at=AT, why="gone"),
        journal.Retrying(at=AT, due_at=AT, reason=journal.Reason(code="lost", text="gone")),
        journal.Due(at=AT),
    )
    run = fold("r", life)
    assert run is not None
    assert run.attempt is not None
    assert (run.state, run.current, run.attempt.number) == (State.PREPARING, None, 1)
    again = fold("r", (*life, starting(2)))
    assert again is not None
    assert again.current is not None
    assert (again.current.number, again.attempts[0].why_gone) == (2, "gone")


def test_a_journal_cannot_break_the_table() -> None:
    with pytest.raises(InvalidTransition, match="run r"):
        fold("r", (*ACCEPTED, journal.Launched(at=AT, pid=1, boot_id="b", started_at=AT)))


def test_nothing_submitted_is_no_run() -> None:
    assert fold("r", (claimed("a"),)) is None


# --- bytes -----------------------------------------------------------------------------------------------------------


def test_entries_read_back() -> None:
    assert decode(encode(ACCEPTED)) == ACCEPTED


def test_a_torn_last_line_was_never_durable() -> None:
    whole, torn = encode(ACCEPTED), encode((starting(1),))
    for cut in range(len(torn) - 1):
        assert decode(whole + torn[:cut]) == ACCEPTED


def test_a_line_torn_by_a_crash_does_not_hide_what_follows() -> None:
    torn = encode((starting(1),))[:20]
    assert decode(encode(ACCEPTED) + torn + b"\n" + encode((starting(2),))) == (*ACCEPTED, starting(2))


def test_an_entry_of_a_newer_version_is_not_guessed_at() -> None:
    with pytest.raises(Unreadable, match="teleported"):
        decode(b'{"event":"teleported","at":"2026-01-01T00:00:00Z"}\n')


def test_a_later_holder_says_how_much_of_the_earlier_segments_counts() -> None:
    """A watcher that was thought dead and writes on changes nothing."""
    first = encode((claimed("b"), journal.Allocated(at=AT, slot="s0")))
    late = encode((starting(1),))
    segments = {
        1: encode(ACCEPTED),
        2: first + late,
        3: encode((claimed("c", _1=len(encode(ACCEPTED)), _2=len(first)),)),
    }
    run = fold("r", join(segments))
    assert run is not None
    assert (run.state, run.attempts, run.holder) == (State.PREPARING, (), owner("c"))


def test_times_keep_their_offset() -> None:
    entry = journal.Accepted(at=datetime.fromisoformat("2026-01-01T12:00:00+08:00"))
    (read,) = decode(encode((entry,)))
    assert read.at == entry.at
    assert read.at.utcoffset() == timedelta(hours=8)
