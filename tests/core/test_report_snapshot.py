"""state.json, receipts, and what a queued run waits for."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
from msgspec.structs import replace

from ajet_inbox.core import journal
from ajet_inbox.core.attempt import Exit
from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.fleet import Blocked, Fleet
from ajet_inbox.core.journal import Drop, Owner, Reason, Seen
from ajet_inbox.core.lifecycle import Outcome, State, Step
from ajet_inbox.core.run import Run, extend
from ajet_inbox.core.slots import Slot
from ajet_inbox.core.telling.snapshot import Live, receipt, snapshot, waits_for
from ajet_inbox.core.training.evals import Eval

NOW = datetime(2026, 3, 4, 5, 6, 7, 890_123, tzinfo=UTC)
ME = Owner(host="gpu-1", boot_id="b", pid_ns=1, pid=10, started=5, nonce="n")
FIELDS = (
    "schema run name key drop_sha256 state blocked outcome reason attempt slot host priority submitted_at started_at"
    " finished_at step total_steps eta metrics exit_code attach_command capture_command"
)


def queued(name: str = "exp", **fields: object) -> Run:
    drop = Drop(
        id="d1", name=f"{name}.md", kind=DropKind.FILE, sha256="ab" * 32, key="k", after=fields.pop("after", ())
    )
    run = Run(name=name, state=State.QUEUED, submitted_at=NOW, drop=drop, blueprint=Blueprint(), gpus=2)
    return replace(run, **fields)


def running(run: Run, limit_s: float | None = None) -> Run:
    entries = (
        journal.Claimed(at=NOW, owner=ME, act="run"),
        journal.Allocated(at=NOW, slot="a", gpus=("GPU-1", "GPU-2")),
        journal.Starting(at=NOW, attempt=1, id="d1-1", session="s", limit_s=limit_s),
        journal.Launched(at=NOW, pid=7, boot_id="b", started_at=NOW),
    )
    return extend(run, entries)


def ended(run: Run, end: Exit | None) -> Run:
    seen = Seen(observable=True, step=7, total_steps=9)
    reason = Reason(code="exit_code", text="It said --api-key abc and ended.")
    return extend(
        run,
        (
            journal.Exited(at=NOW, exit=end, seen=seen),
            journal.Finished(at=NOW, via=Step.CONCLUDE, outcome=Outcome.FAILED, reason=reason),
        ),
    )


def test_the_fields_are_those_of_the_contract_in_every_state() -> None:
    end = Exit(attempt_id="d1-1", exit_code=3, ended_at=NOW)
    for run in (queued(), running(queued()), ended(running(queued()), end)):
        told = snapshot(run)
        assert " ".join(told) == FIELDS
        assert json.loads(json.dumps(told)) == told


def test_a_queued_run_belongs_to_nobody_and_says_what_it_waits_for() -> None:
    told = snapshot(queued(), blocked="paused: The queue is paused.")
    assert (told["state"], told["host"], told["attempt"], told["slot"]) == ("queued", None, None, None)
    assert told["blocked"] == "paused: The queue is paused."
    assert told["submitted_at"] == "2026-03-04T05:06:07.890+00:00"
    assert told["started_at"] is told["finished_at"] is told["outcome"] is told["reason"] is None


def test_a_running_run_shows_what_is_seen_of_it() -> None:
    newest = Eval(global_steps=5, dataset="d", values={"mean_reward": float("nan"), "task_pass_rate@1": 0.5})
    live = Live(at=NOW, step=6, eta_s=60, metrics=newest, attach_command="tmux attach", capture_command="tmux capture")
    told = snapshot(running(queued()), live=live, blocked="stale: It waits.")
    assert (told["state"], told["host"], told["slot"], told["attempt"]) == ("running", "gpu-1", "a", 1)
    assert (told["step"], told["total_steps"], told["blocked"]) == (6, None, None)
    assert told["eta"] == "2026-03-04T05:07:07.890+00:00"
    assert told["metrics"] == {"dataset": "d", "global_steps": 5, "mean_reward": None, "task_pass_rate@1": 0.5}
    assert (told["attach_command"], told["capture_command"]) == ("tmux attach", "tmux capture")


@pytest.mark.parametrize(
    ("limit_s", "eta_s", "eta"),
    [
        (None, 60, "2026-03-04T05:07:07.890+00:00"),
        (45, 60, "2026-03-04T05:06:52.890+00:00"),
        (90, 60, "2026-03-04T05:07:07.890+00:00"),
        (45, None, None),
    ],
)
def test_a_run_ends_with_its_steps_or_its_time(limit_s: float | None, eta_s: float | None, eta: str | None) -> None:
    assert snapshot(running(queued(), limit_s), live=Live(at=NOW, eta_s=eta_s))["eta"] == eta


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (Exit(attempt_id="d1-1", exit_code=0, ended_at=NOW), 0),
        (Exit(attempt_id="d1-1", exit_code=None, signal=9, ended_at=NOW), -9),
        (Exit(attempt_id="d1-1", ended_at=NOW), None),
        (None, None),
    ],
)
def test_a_finished_run_tells_how_it_ended(end: Exit | None, code: int | None) -> None:
    told = snapshot(ended(running(queued()), end))
    assert (told["state"], told["outcome"], told["exit_code"]) == ("finished", "failed", code)
    assert told["reason"] == {"code": "exit_code", "text": "It said --api-key *** and ended."}
    assert (told["step"], told["total_steps"], told["attach_command"]) == (7, 9, None)


def test_a_receipt_leads_to_the_flag() -> None:
    assert receipt(queued(), "/home/outbox/exp") == {
        "run": "exp",
        "run_dir": "/home/outbox/exp",
        "finish_flag": "/home/outbox/exp/finish.flag",
        "state": "queued",
        "outcome": None,
    }


SMALL, LARGE = Slot(name="s", host="gpu-1", gpus=("GPU-0",)), Slot(name="a", host="gpu-1", gpus=("GPU-1", "GPU-2"))
BLOCK = Blocked(code="path_missing", why="/data is not there.", since=NOW, again_at=NOW + timedelta(seconds=10))
OTHER = running(queued("other"))
FLEETS = [
    (Fleet(me=ME, paused=True, slots=(LARGE,)), queued(), "paused: The queue is paused."),
    (Fleet(me=ME, slots=(LARGE,)), queued(after=("one", "two")), "after: It runs after one, two."),
    (Fleet(me=ME, slots=(LARGE,), blocked={"exp": BLOCK}), queued(), "path_missing: /data is not there."),
    (Fleet(me=ME, slots=(LARGE,), arriving=frozenset({"x"})), queued(), "judging: Drops are still being judged: 1."),
    (Fleet(me=ME, slots=(SMALL,)), queued(), "no_slot: There is no slot with 2 GPUs or more here."),
    (
        Fleet(me=ME, slots=(SMALL, LARGE), runs={"other": OTHER}),
        queued(),
        "no_free_slot: No slot with 2 GPUs or more is free: a runs other.",
    ),
    (
        Fleet(me=ME, slots=(replace(LARGE, down="memory stays taken"),)),
        queued(),
        "no_free_slot: No slot with 2 GPUs or more is free: a is down (memory stays taken).",
    ),
    (
        Fleet(me=ME, slots=(LARGE,), runs={"other": OTHER}),
        replace(queued(), gpus=0),
        "no_free_slot: No slot is free: a runs other.",
    ),
    (
        Fleet(me=ME, slots=(LARGE,), runs={"other": OTHER}),
        replace(queued(), gpus=1),
        "no_free_slot: No slot with a GPU is free: a runs other.",
    ),
    (Fleet(me=ME), replace(queued(), gpus=0), "no_slot: There is no slot here."),
    (Fleet(me=ME, slots=(LARGE,)), queued(), "others_first: Other runs go first."),
    (Fleet(me=ME, slots=(LARGE,), looking={"exp": "a"}), queued(), None),
    (Fleet(me=ME, slots=(LARGE,), paused=True), running(queued()), None),
]


@pytest.mark.parametrize(("fleet", "run", "sentence"), FLEETS)
def test_what_a_run_waits_for(fleet: Fleet, run: Run, sentence: str | None) -> None:
    assert waits_for(fleet, run) == sentence
