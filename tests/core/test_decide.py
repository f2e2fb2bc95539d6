"""Decisions one by one, on a world that performs exactly what is decided (tests/core/lives.py)."""

from __future__ import annotations

import pytest

from ajet_inbox.core import effects as do
from ajet_inbox.core import events as saw
from ajet_inbox.core import journal
from ajet_inbox.core.admission import is_superseded
from ajet_inbox.core.blueprint import Kind, Problem
from ajet_inbox.core.journal import StopCause
from ajet_inbox.core.lifecycle import Outcome, State
from tests.core.lives import Disk, Watcher, submitted

MISSING = Problem(code="codebase_absent", kind=Kind.WORLD, message="/mnt/code does not exist.")


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def watcher(disk: Disk) -> Watcher:
    return Watcher("host", disk, slots=1, gpus=0)


def drop(watcher: Watcher, *numbers: int, **what: object) -> None:
    """Drops that arrived together, judged one after the other."""
    drops = [submitted(watcher.now, number, **what) for number in numbers]  # type: ignore[arg-type]
    watcher.tell(saw.Arriving(drop_ids=tuple(each.drop.id for each in drops)))
    for number, each in zip(numbers, drops, strict=True):
        watcher.tell(saw.DropRead(submitted=each, name=f"r{number}"))


def settle(watcher: Watcher) -> None:
    """Perform everything that is decided, until nothing is left to do."""
    while lanes := watcher.busy():
        watcher.perform(lanes[0])


def ask(watcher: Watcher, name: str, what: saw.Ask, **more: object) -> None:
    watcher.tell(saw.Asked(request_id="q", run=name, ask=what, by="me@here", **more))  # type: ignore[arg-type]


def states(disk: Disk) -> dict[str, State]:
    return {name: disk.run(name).state for name in disk.segments}


def test_a_drop_runs_to_its_flag(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    settle(watcher)
    assert watcher.living() == ["r1"]
    watcher.end("r1", 0)
    settle(watcher)
    run = disk.run("r1")
    assert (run.outcome, run.settled, disk.flags["r1"]) == (Outcome.SUCCEEDED, True, 1)


def test_a_drop_that_cannot_be_read_keeps_nobody_waiting(watcher: Watcher, disk: Disk) -> None:
    first, second = (submitted(watcher.now, number) for number in (1, 2))
    watcher.tell(saw.Arriving(drop_ids=(first.drop.id, second.drop.id)))
    watcher.tell(saw.Delayed(drop_id=first.drop.id))
    watcher.tell(saw.DropRead(submitted=second, name="r2"))
    settle(watcher)
    assert watcher.living() == ["r2"]
    watcher.tell(saw.DropRead(submitted=first, name="r1"))
    settle(watcher)
    assert states(disk)["r1"] is State.QUEUED


def test_higher_priority_goes_first_even_when_judged_last(watcher: Watcher, disk: Disk) -> None:
    first, second = (submitted(watcher.now, n, priority=p) for n, p in ((1, 0), (2, 5)))
    watcher.tell(saw.Arriving(drop_ids=(first.drop.id, second.drop.id)))
    watcher.tell(saw.DropRead(submitted=first, name="r1"))
    settle(watcher)
    assert watcher.living() == [], "nothing starts while drops that came with it are not judged"
    watcher.tell(saw.DropRead(submitted=second, name="r2"))
    settle(watcher)
    assert watcher.living() == ["r2"]


def test_equal_priority_goes_by_arrival_then_by_name(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 10, 9)
    settle(watcher)
    assert watcher.living() == ["r9"], "r9 sorts before r10 as a person would sort"


def test_a_slot_has_one_run_and_several_slots_run_side_by_side(disk: Disk) -> None:
    watcher = Watcher("host", disk, slots=2, gpus=0)
    drop(watcher, 1, 2, 3)
    settle(watcher)
    assert watcher.living() == ["r1", "r2"]
    watcher.end("r1", 0)
    settle(watcher)
    assert watcher.living() == ["r2", "r3"]


def test_a_run_goes_only_where_its_gpus_are(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1, gpus=8)
    drop(watcher, 2)
    settle(watcher)
    assert watcher.living() == ["r2"]
    assert watcher.fleet.blocked["r1"].code == "no_slot"
    watcher.pass_time(1801)
    settle(watcher)
    assert disk.run("r1").outcome is Outcome.REJECTED


def test_what_is_missing_blocks_and_others_go_first(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1, 2)
    while watcher.busy() and not watcher.living():
        lane = watcher.busy()[0]
        watcher.perform(lane, problems=(MISSING,) if lane == "r1" else ())
    assert (watcher.living(), watcher.fleet.blocked["r1"].code) == (["r2"], "codebase_absent")
    watcher.end("r2", 0)
    watcher.pass_time(11)
    settle(watcher)
    assert watcher.living() == ["r1"], "it is looked at again, and the mount is back"


def test_the_same_key_is_a_duplicate_and_names_the_first(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1, key="k")
    settle(watcher)
    watcher.end("r1", 0)
    settle(watcher)
    drop(watcher, 2, key="k")
    settle(watcher)
    run = disk.run("r2")
    assert run.reason is not None
    assert (run.outcome, run.reason.code, "r1" in run.reason.text) == (Outcome.REJECTED, "duplicate", True)


def test_a_run_after_another_waits_and_is_rejected_where_that_one_failed(disk: Disk) -> None:
    watcher = Watcher("host", disk, slots=2, gpus=0)
    drop(watcher, 1)
    drop(watcher, 2, after=("r1",))
    settle(watcher)
    assert states(disk) == {"r1": State.RUNNING, "r2": State.QUEUED}
    watcher.end("r1", 1)
    settle(watcher)
    reason = disk.run("r2").reason
    assert reason is not None
    assert reason.code == "dependency_failed"


def test_cancelling_a_running_run_signals_before_it_writes(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    settle(watcher)
    ask(watcher, "r1", saw.Ask.CANCEL, reason="wrong seed")
    first, second, *_ = watcher.lanes["r1"]
    assert isinstance(first, do.Halt)
    assert isinstance(second, do.Record)
    settle(watcher)
    run = disk.run("r1")
    assert run.reason is not None
    assert (run.outcome, run.ended_by, run.reason.text) == (
        Outcome.CANCELLED,
        "me@here",
        "Cancelled by me@here: wrong seed.",
    )


def test_cancelling_before_the_launch_starts_nothing(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    while disk.segments.get("r1") is None or disk.run("r1").state is not State.PREPARING:
        watcher.perform(watcher.busy()[0])
    ask(watcher, "r1", saw.Ask.CANCEL)
    settle(watcher)
    assert (disk.run("r1").outcome, watcher.machine.starts) == (Outcome.CANCELLED, {})


def test_held_and_released(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    watcher.tell(saw.PauseSeen(paused=True))
    settle(watcher)
    ask(watcher, "r1", saw.Ask.HOLD)
    settle(watcher)
    watcher.tell(saw.PauseSeen(paused=False))
    settle(watcher)
    assert states(disk) == {"r1": State.HELD}
    assert disk.run("r1").holder is None
    ask(watcher, "r1", saw.Ask.RELEASE)
    settle(watcher)
    assert watcher.living() == ["r1"]


def test_a_replacement_cancels_the_queued_run(watcher: Watcher, disk: Disk) -> None:
    watcher.tell(saw.PauseSeen(paused=True))
    drop(watcher, 1)
    settle(watcher)
    drop(watcher, 2, replaces="r1")
    settle(watcher)
    assert disk.run("r1").outcome is Outcome.CANCELLED
    assert disk.run("r2").state is State.QUEUED


@pytest.mark.parametrize("wanted", ["r1", "r1.md", "k"])
@pytest.mark.parametrize("held", [False, True])
def test_a_corrected_blueprint_takes_the_place_of_what_waits(
    watcher: Watcher, disk: Disk, wanted: str, held: bool
) -> None:
    """It names the same result folder, which is no objection, and whose flag is its own from now on."""
    watcher.tell(saw.PauseSeen(paused=True))
    drop(watcher, 1, key="k", result_dir="/out")
    settle(watcher)
    if held:
        ask(watcher, "r1", saw.Ask.HOLD)
        settle(watcher)
    watcher.pass_time(1)
    drop(watcher, 2, replaces=wanted, result_dir="/out")
    while disk.segments.get("r2") is None:
        watcher.perform(watcher.busy()[0])
    assert is_superseded(watcher.fleet, watcher.fleet.runs["r1"])
    assert not is_superseded(watcher.fleet, watcher.fleet.runs["r2"])
    settle(watcher)
    assert disk.run("r1").outcome is Outcome.CANCELLED
    assert disk.run("r2").state is State.QUEUED


def test_what_replaces_nothing_says_so(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1, replaces="nosuch")
    settle(watcher)
    assert [problem.code for problem in disk.run("r1").problems] == ["replaces_nothing"]


def test_a_circle_of_runs_is_rejected(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1, after=("r1",))
    watcher.tell(saw.PauseSeen(paused=True))
    drop(watcher, 2, after=("r3",))
    settle(watcher)
    drop(watcher, 3, after=("r2",))
    settle(watcher)
    codes = {name: run.reason.code if (run := disk.run(name)).reason else None for name in disk.segments}
    assert codes == {"r1": "after_itself", "r2": "dependency_failed", "r3": "after_itself"}


def test_a_run_after_one_that_nobody_dropped_waits_and_is_rejected(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1, after=("nothere",))
    settle(watcher)
    assert watcher.fleet.blocked["r1"].code == "after_unknown"
    watcher.pass_time(1801)
    settle(watcher)
    assert disk.run("r1").outcome is Outcome.REJECTED


def test_a_watcher_that_dies_is_followed_by_one_that_adopts(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    settle(watcher)
    watcher.start()
    settle(watcher)
    assert watcher.fleet.mine(disk.run("r1"))
    watcher.end("r1", 0)
    settle(watcher)
    assert (disk.run("r1").outcome, watcher.machine.starts) == (Outcome.SUCCEEDED, {disk.run("r1").attempts[0].id: 1})


def test_a_run_of_another_host_is_left_alone(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    settle(watcher)
    other = Watcher("elsewhere", disk, slots=1, gpus=0)
    other.tell(saw.Tick())
    ask(other, "r1", saw.Ask.CANCEL)
    assert (other.busy(), watcher.living()) == ([], ["r1"])


def test_a_failed_write_undoes_what_was_only_thought(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    while disk.segments.get("r1") is None or disk.run("r1").state is not State.PREPARING:
        watcher.perform(watcher.busy()[0])
    watcher.perform("r1")  # prepared: the attempt is announced in memory
    assert watcher.fleet.runs["r1"].state is State.STARTING
    watcher.perform("r1", fail=True)  # and cannot be written
    settle(watcher)
    assert watcher.living() == ["r1"]
    assert len(disk.run("r1").attempts) == 1


def test_retries_wait_keep_the_slot_and_are_counted(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1, retry="1")
    drop(watcher, 2)
    settle(watcher)
    watcher.end("r1", 3)
    settle(watcher)
    assert states(disk) == {"r1": State.BACKOFF, "r2": State.QUEUED}
    watcher.pass_time(6)
    settle(watcher)
    assert watcher.living() == ["r1"]
    watcher.end("r1", 3)
    settle(watcher)
    run = disk.run("r1")
    assert (run.outcome, len(run.attempts), watcher.living()) == (Outcome.FAILED, 2, ["r2"])


def test_a_policy_may_stop_only_what_runs(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    settle(watcher)
    reason = journal.Reason(code="plateau", text="Nothing moves.")
    watcher.tell(saw.StopDue(run="r1", attempt=2, cause=StopCause.PLATEAU, reason=reason))
    assert watcher.busy() == [], "another attempt than the one it is at"
    watcher.tell(saw.StopDue(run="r1", attempt=1, cause=StopCause.PLATEAU, reason=reason))
    settle(watcher)
    assert disk.run("r1").outcome is Outcome.PLATEAUED


def test_results_that_cannot_be_delivered_are_told_once_and_tried_again(watcher: Watcher, disk: Disk) -> None:
    drop(watcher, 1)
    settle(watcher)
    watcher.end("r1", 0)
    watcher.perform("r1")  # the end is recorded
    watcher.tell(saw.PublishFailed(run="r1", undelivered="The mount is away."))
    watcher.tell(saw.PublishFailed(run="r1", undelivered="The mount is away."))
    watcher.lanes["r1"].pop(0)  # the publication that failed
    settle(watcher)
    assert sum(isinstance(entry, journal.Noted) for entry in disk.entries("r1")) == 1
    watcher.pass_time(11)
    settle(watcher)
    assert disk.run("r1").settled
