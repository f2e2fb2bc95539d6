"""What an end means: a table of ends and verdicts."""

from __future__ import annotations

from datetime import timedelta

import pytest
from msgspec.structs import replace

from ajet_inbox.core import journal
from ajet_inbox.core.attempt import Cause, Exit, Stage
from ajet_inbox.core.blueprint import Blueprint, Mode
from ajet_inbox.core.fleet import Policy
from ajet_inbox.core.journal import Finished, Reason, Retrying, Seen, StopCause, Stopping
from ajet_inbox.core.lifecycle import Outcome, State, Step
from ajet_inbox.core.run import Run, fold
from ajet_inbox.core.verdict import conclude
from tests.core.lives import submitted
from tests.core.test_run import ACCEPTED, AT, claimed, starting

LATER = AT + timedelta(hours=1)
POLICY = Policy(backoff_s=10.0)


def exit_(code: int | None = None, **more: object) -> Exit:
    return Exit(attempt_id="id-1", exit_code=code, started_at=AT, ended_at=LATER, **more)  # type: ignore[arg-type]


def ended(
    end: Exit | None, seen: Seen | None = None, *, mode: Mode = Mode.GENERIC, stop: StopCause | None = None,
    retry: str | None = None, max_time_s: float | None = 86400.0,
) -> Run:  # fmt: skip
    drop = replace(submitted(AT, 1), blueprint=Blueprint(mode=mode, retry=retry, max_time_s=max_time_s))
    stopping = Stopping(at=AT, cause=stop, reason=Reason(code=stop, text="Because."), by="me") if stop else None
    life = (
        ACCEPTED[0],
        drop,
        *ACCEPTED[2:],
        claimed("b"),
        journal.Allocated(at=AT, slot="s0"),
        starting(1),
        journal.Launched(at=AT, pid=1, boot_id="b", started_at=AT),
        *((stopping,) if stopping else ()),
        journal.Exited(at=LATER, exit=end, seen=seen or Seen()),
    )
    run = fold("r", life)
    assert run is not None
    assert run.state is State.EXITED
    return run


def training(end: Exit | None, seen: Seen | None = None, stop: StopCause | None = None) -> Run:
    return ended(end, seen, mode=Mode.CLASSIC, stop=stop)


SHUTDOWN = "completed_shutdown_failed"
OUT = exit_(143, cause=Cause.MAX_TIME)
STOPPED = exit_(143, cause=Cause.STOPPED)
UNTOLD = exit_(143, cause=Cause.STOPPED, stop_reason="cancelled: By me.")
TRAINED = Seen(observable=True, step=40, total_steps=40, evals=3, last_eval_step=40)
STEP_0 = Seen(observable=True, evals=1, last_eval_step=0)
HALF = Seen(observable=True, step=20, total_steps=40, evals=2, last_eval_step=20)

ENDS = [
    ("exit 0", ended(exit_(0)), Outcome.SUCCEEDED, "completed"),
    ("exit 3", ended(exit_(3)), Outcome.FAILED, "exit_code"),
    ("a signal", ended(exit_(137, signal=9)), Outcome.FAILED, "signal"),
    ("prepare failed", ended(exit_(2, stage=Stage.PREPARE)), Outcome.FAILED, "prepare_failed"),
    ("never began", ended(exit_(cause=Cause.NOT_STARTED, error="No tmux.")), Outcome.FAILED, "launch_failed"),
    ("nobody knows", ended(None), Outcome.LOST, "lost"),
    ("supervisor died, no status", ended(exit_(adopted=True)), Outcome.LOST, "lost"),
    ("training with steps", training(exit_(0), TRAINED), Outcome.SUCCEEDED, "completed"),
    ("nothing observable", training(exit_(0)), Outcome.SUCCEEDED, "completed"),
    ("only step 0", training(exit_(0), STEP_0), Outcome.FAILED, "no_training_step"),
    ("all data, bad shutdown", training(exit_(1), TRAINED), Outcome.SUCCEEDED, SHUTDOWN),
    ("half the data", training(exit_(1), HALF), Outcome.FAILED, "exit_code"),
    ("generic out of time", ended(OUT), Outcome.FAILED, "max_time"),
    ("training out of time", training(OUT, HALF), Outcome.TIMED_OUT, "max_time"),
    ("out of time, no evaluation", training(OUT, Seen(observable=True, step=3)), Outcome.TIMED_OUT, "no_evaluation"),
    ("out of time, nothing observable", training(OUT), Outcome.TIMED_OUT, "no_evaluation"),
    ("out of time, no step", training(OUT, STEP_0), Outcome.FAILED, "no_training_step"),
    ("cancelled", ended(STOPPED, stop=StopCause.CANCELLED), Outcome.CANCELLED, "cancelled"),
    ("cancelled, ended by itself before", ended(exit_(0), stop=StopCause.CANCELLED), Outcome.SUCCEEDED, "completed"),
    ("stopped, not recorded", ended(UNTOLD), Outcome.CANCELLED, "cancelled"),
    ("host shut down", ended(STOPPED), Outcome.FAILED, "terminated"),
    ("plateau", training(STOPPED, HALF, StopCause.PLATEAU), Outcome.PLATEAUED, "plateau"),
    ("first step", training(STOPPED, stop=StopCause.FIRST_STEP), Outcome.FAILED, "first_step"),
]  # fmt: skip


@pytest.mark.parametrize(("run", "outcome", "code"), [end[1:] for end in ENDS], ids=[end[0] for end in ENDS])
def test_verdict(run: Run, outcome: Outcome, code: str) -> None:
    verdict = conclude(run, POLICY, LATER)
    assert isinstance(verdict, Finished)
    assert (verdict.outcome, verdict.reason.code) == (outcome, code)
    assert verdict.reason.text.endswith(".")


def resumed(end: Exit, *attempts: Seen, mode: Mode = Mode.CLASSIC) -> str:
    """What is told of a run whose attempts were seen to do this, one after another."""
    run = ended(end, attempts[-1], mode=mode)
    made = tuple(replace(run.attempts[0], seen=seen) for seen in attempts)
    verdict = conclude(replace(run, attempts=made), POLICY, LATER)
    assert isinstance(verdict, Finished)
    assert verdict.outcome is Outcome.SUCCEEDED
    return verdict.reason.text


def steps(first: int | None, last: int | None) -> Seen:
    return Seen(observable=bool(last), first_step=first, step=last, total_steps=last, last_eval_step=last)


EXIT_0 = "The command ended by itself with exit 0"
RESUMED = [
    ("from the beginning", (steps(1, 60),), ""),
    ("one step more", (steps(61, 61),), "; resumed at step 60; 1 new step"),
    ("half of it", (steps(31, 60),), "; resumed at step 30; 30 new steps"),
    ("its own checkpoint", (steps(1, 30), steps(21, 60)), ""),
    ("both", (steps(21, 30), steps(31, 60)), "; resumed at step 20; 40 new steps"),
    ("nothing at first", (steps(None, None), steps(60, 60)), "; resumed at step 59; 1 new step"),
    ("nothing at last", (steps(21, 30), steps(None, None)), "; resumed at step 20; 10 new steps"),
    ("written by an older version", (steps(None, 30), steps(21, 60)), ""),
]  # fmt: skip


@pytest.mark.parametrize(("attempts", "told"), [each[1:] for each in RESUMED], ids=[each[0] for each in RESUMED])
def test_a_success_that_resumed_says_so(attempts: tuple[Seen, ...], told: str) -> None:
    assert resumed(exit_(0), *attempts) == f"{EXIT_0}{told}."


def test_a_failed_shutdown_tells_of_the_resumption_too() -> None:
    assert resumed(exit_(1), steps(61, 61)).endswith("only the shutdown failed; resumed at step 60; 1 new step.")


def test_steps_of_a_generic_program_tell_nothing_of_it() -> None:
    assert resumed(exit_(0), steps(100, 200), mode=Mode.GENERIC) == f"{EXIT_0}."


def test_who_cancelled_is_kept() -> None:
    verdict = conclude(ended(STOPPED, stop=StopCause.CANCELLED), POLICY, LATER)
    assert isinstance(verdict, Finished)
    assert (verdict.by, verdict.via) == ("me", Step.CONCLUDE)


AGAIN = [
    ("a number, after an error", ended(exit_(3), retry="2"), True),
    ("none, after an error", ended(exit_(3), retry="none"), False),
    ("safe, after an error", ended(exit_(3), retry="safe"), False),
    ("safe, after a loss", ended(None, retry="safe"), True),
    ("default generic, after a loss", ended(None), False),
    ("resume with a checkpoint", training(None, Seen(checkpoint=True)), True),
    ("resume without a checkpoint", training(None), False),
    ("safe, after a shutdown", ended(STOPPED, retry="safe"), True),
    ("no time left", ended(exit_(3), retry="2", max_time_s=60.0), False),
]


@pytest.mark.parametrize(("run", "again"), [each[1:] for each in AGAIN], ids=[each[0] for each in AGAIN])
def test_another_attempt(run: Run, again: bool) -> None:
    verdict = conclude(run, POLICY, LATER)
    assert isinstance(verdict, Retrying) is again
    if isinstance(verdict, Retrying):
        assert verdict.due_at == LATER + timedelta(seconds=10)


def test_a_number_of_retries_is_not_exceeded() -> None:
    run = ended(exit_(3), retry="2")
    assert isinstance(conclude(replace(run, attempts=run.attempts * 3), POLICY, LATER), Finished)
    assert isinstance(conclude(replace(run, attempts=run.attempts * 2), POLICY, LATER), Retrying)
