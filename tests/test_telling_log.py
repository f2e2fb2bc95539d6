"""What the watcher's log says of runs, and when."""

from __future__ import annotations

from msgspec.structs import replace

from ajet_inbox.app.identity import myself
from ajet_inbox.app.telling_log import changes
from ajet_inbox.core import journal
from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.fleet import Ended, Fleet, with_run, without
from ajet_inbox.core.journal import AnyEntry, Drop, Reason, StopCause
from ajet_inbox.core.lifecycle import Outcome, Step
from ajet_inbox.core.run import Run, apply
from tests.cli_home import AT

EMPTY = Fleet(me=myself())
DROPPED = Run(
    name="exp",
    submitted_at=AT,
    drop=Drop(id="d", name="exp.md", kind=DropKind.FILE, sha256="0" * 64),
    blueprint=Blueprint(),
)
WHY = Reason(code="cancelled", text="By ann: --api-key abc is wrong.")
STOPPED = (
    (journal.Accepted(at=AT), "exp: queued"),
    (journal.Prioritized(at=AT, priority=3, by="ann"), None),
    (journal.Allocated(at=AT, slot="left"), "exp: preparing on left"),
    (journal.Starting(at=AT, attempt=1, id="d-1", session="s"), "exp: starting, attempt 1 on left"),
    (journal.Launched(at=AT, pid=1, boot_id="b", started_at=AT), "exp: running, attempt 1 on left"),
    (journal.FirstStep(at=AT, number=1, source="console"), None),
    (
        journal.Stopping(at=AT, cause=StopCause.CANCELLED, reason=WHY),
        "exp: stopping, attempt 1 on left (cancelled): By ann: --api-key *** is wrong.",
    ),
    (journal.Exited(at=AT), "exp: exited, attempt 1 on left"),
    (
        journal.Finished(at=AT, via=Step.CONCLUDE, outcome=Outcome.CANCELLED, reason=WHY),
        "exp: cancelled (cancelled): By ann: --api-key *** is wrong.",
    ),
    (journal.Published(at=AT), None),
)
REFUSED = Reason(code="duplicate", text="It was dropped before, as e1.")
REJECTED = (
    (
        journal.Finished(at=AT, via=Step.REJECT, outcome=Outcome.REJECTED, reason=REFUSED),
        "exp: rejected (duplicate): It was dropped before, as e1.",
    ),
    (journal.Published(at=AT), None),
)


def tell(life: tuple[tuple[AnyEntry, str | None], ...]) -> None:
    fleet, run = with_run(EMPTY, DROPPED), DROPPED
    for entry, line in life:
        run = apply(run, entry)
        before, fleet = fleet, with_run(fleet, run)
        assert list(changes(before, fleet)) == ([line] if line else [])


def test_each_change_of_state_is_one_line() -> None:
    tell(STOPPED)
    tell(REJECTED)


def test_a_run_that_was_not_known_is_told_where_it_stands() -> None:
    assert list(changes(EMPTY, with_run(EMPTY, DROPPED))) == ["exp: submitted"]
    old = replace(with_run(EMPTY, DROPPED), runs={}, settled={"old": ended()})
    assert list(changes(EMPTY, old)) == []


def test_an_end_that_others_brought_about_is_told() -> None:
    known = with_run(EMPTY, DROPPED)
    assert list(changes(known, without(known, "exp"))) == ["exp: its folder is gone from the outbox"]
    settled = replace(without(known, "exp"), settled={"exp": ended()})
    assert list(changes(known, settled)) == ["exp: failed, as another watcher found"]


def ended() -> Ended:
    return Ended(outcome=Outcome.FAILED, key=None)
