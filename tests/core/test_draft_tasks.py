"""What is decided about a dropped task, on a world that performs exactly what is decided (tests/core/lives.py)."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ajet_inbox.core import effects as do
from ajet_inbox.core import events as saw
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.journal import Reason
from ajet_inbox.core.lifecycle import Outcome, State
from tests.core.lives import Disk, Watcher, submitted


@pytest.fixture
def disk() -> Disk:
    return Disk()


@pytest.fixture
def watcher(disk: Disk) -> Watcher:
    """One with a task that it has just begun to draft."""
    watcher = Watcher("host", disk, slots=1, gpus=0)
    dropped = submitted(watcher.now, 1)
    task = replace(dropped, drop=replace(dropped.drop, name="r1.task.md", kind=DropKind.TASK))
    watcher.tell(saw.Arriving(drop_ids=(task.drop.id,)))
    watcher.tell(saw.DropRead(submitted=task, name="r1"))
    settle(watcher)
    return watcher


def settle(watcher: Watcher) -> list[do.Effect]:
    """Perform everything that is decided; what it was."""
    done: list[do.Effect] = []
    while lanes := watcher.busy():
        done.append(watcher.lanes[lanes[0]][0])
        watcher.perform(lanes[0])
    return done


def test_a_task_is_kept_by_who_admits_it_and_takes_no_slot(watcher: Watcher, disk: Disk) -> None:
    run = disk.run("r1")
    assert (run.state, run.slot, watcher.fleet.mine(run)) == (State.SUBMITTED, None, True)
    assert watcher.fleet.occupied() == {}
    assert watcher.fleet.admitting == {}


@pytest.mark.parametrize(
    ("trouble", "outcome", "code"),
    [
        (None, Outcome.SUCCEEDED, "drafted"),
        (Reason(code="not_drafted", text="No."), Outcome.FAILED, "not_drafted"),
    ],
)
def test_its_end(watcher: Watcher, disk: Disk, trouble: Reason | None, outcome: Outcome, code: str) -> None:
    watcher.tell(saw.Drafted(run="r1", trouble=trouble))
    settle(watcher)
    run = disk.run("r1")
    assert (run.outcome, run.reason and run.reason.code, run.settled, disk.flags["r1"]) == (outcome, code, True, 1)


def test_what_was_dropped_is_said(watcher: Watcher, disk: Disk) -> None:
    watcher.tell(saw.Drafted(run="r1", dropped_as="r1_draft"))
    settle(watcher)
    reason = disk.run("r1").reason
    assert reason is not None
    assert "dropped as r1_draft" in reason.text


@pytest.mark.parametrize("event", [saw.ActFailed(run="r1"), None])
def test_it_is_drafted_again_after_trouble_and_in_the_next_life(watcher: Watcher, event: saw.Event | None) -> None:
    if event is None:
        watcher.start()
    else:
        watcher.tell(event)
    assert do.Draft(run="r1") in settle(watcher)


def test_a_cancelled_task_is_not_concluded_again(watcher: Watcher, disk: Disk) -> None:
    watcher.tell(saw.Asked(request_id="q", run="r1", ask=saw.Ask.CANCEL, by="me@here"))
    watcher.tell(saw.Drafted(run="r1"))
    settle(watcher)
    assert (disk.run("r1").outcome, disk.flags["r1"]) == (Outcome.CANCELLED, 1)
