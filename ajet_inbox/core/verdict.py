"""What an attempt's end means for its run: finished, how and why, or launched again (contract section 4)."""

from __future__ import annotations

import signal
from collections.abc import Callable
from datetime import datetime

from ajet_inbox.core import retry
from ajet_inbox.core.attempt import Cause, Exit, Stage
from ajet_inbox.core.blueprint import Mode
from ajet_inbox.core.fleet import Policy
from ajet_inbox.core.journal import Finished, Reason, Retrying, StopCause, Stopping
from ajet_inbox.core.lifecycle import Outcome, Step
from ajet_inbox.core.retry import Ground
from ajet_inbox.core.run import Attempt, Run

Verdict = Finished | Retrying
_STOPPED_AS: dict[str, Outcome] = {StopCause.CANCELLED: Outcome.CANCELLED, StopCause.PLATEAU: Outcome.PLATEAUED}
_Rule = Callable[[Run, Attempt, Policy, datetime], Verdict | None]


def conclude(run: Run, policy: Policy, now: datetime) -> Verdict:
    """The verdict on a run whose newest attempt is gone: the first rule that knows one decides."""
    attempt = run.current
    if attempt is None:
        return _without_attempt(run, now)
    return next(verdict for rule in _RULES if (verdict := rule(run, attempt, policy, now)) is not None)


def _without_attempt(run: Run, now: datetime) -> Finished:
    if run.stop is not None:
        return _by_stop(run.stop, now)
    reason = run.prepare_failed or Reason(code="not_started", text="It ended before its command began.")
    return _finished(Outcome.FAILED, reason.code, reason.text, now)


def _by_stop(stop: Stopping, now: datetime) -> Finished:
    outcome = _STOPPED_AS.get(stop.cause, Outcome.FAILED)
    return Finished(at=now, via=Step.CONCLUDE, outcome=outcome, reason=stop.reason, by=stop.by)


def _stopped(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict | None:
    """Somebody or a policy ended it, and it had not ended by itself before that."""
    if run.stop is None or run.stop.cause is StopCause.MAX_TIME or _ended_by_itself(attempt):
        return None
    return _by_stop(run.stop, now)


def _terminated(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict | None:
    """The supervisor was told to end, and the journal does not know of it: the watcher died between the two, or the
    host was shut down, which tells no reason."""
    if attempt.exit is None or attempt.exit.cause is not Cause.STOPPED or run.stop is not None:
        return None
    if attempt.exit.stop_reason:
        cause, _, text = attempt.exit.stop_reason.partition(": ")
        outcome = _STOPPED_AS.get(cause, Outcome.FAILED)
        return _finished(outcome, cause, text or "It was asked to end.", now)
    reason = Reason(code="terminated", text="It was told to end by the host, as at a shutdown.")
    return retry.again(run, Ground.GONE, policy, reason, now) or _finished(
        Outcome.FAILED, reason.code, reason.text, now
    )


def _out_of_time(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict | None:
    by_watcher = run.stop is not None and run.stop.cause is StopCause.MAX_TIME and not _ended_by_itself(attempt)
    by_supervisor = attempt.exit is not None and attempt.exit.cause is Cause.MAX_TIME
    if not (by_watcher or by_supervisor):
        return None
    if run.blueprint.mode is Mode.GENERIC:
        return _finished(Outcome.FAILED, "max_time", "It was still running at its time limit.", now)
    if attempt.seen.observable and not attempt.seen.step:
        return _finished(Outcome.FAILED, "no_training_step", "Its time limit passed without a training step.", now)
    if not attempt.seen.last_eval_step:
        return _finished(
            Outcome.TIMED_OUT, "no_evaluation", "It ran until its time limit; no evaluation after step 0.", now
        )
    return _finished(Outcome.TIMED_OUT, "max_time", "It ran until its time limit, as planned.", now)


def _gone(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict | None:
    """Nobody can know how it ended."""
    if attempt.exit is not None and (attempt.exit.exit_code is not None or attempt.exit.signal is not None):
        return None
    if attempt.exit is not None and attempt.exit.cause is Cause.NOT_STARTED:
        return None
    reason = Reason(code="lost", text=attempt.why_gone or "It is gone, and how it ended cannot be known.")
    return retry.again(run, Ground.GONE, policy, reason, now) or _finished(Outcome.LOST, reason.code, reason.text, now)


def _never_began(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict | None:
    if attempt.exit is None or attempt.exit.cause is not Cause.NOT_STARTED:
        return None
    return _finished(Outcome.FAILED, "launch_failed", attempt.exit.error or "The command could not be started.", now)


def _ended_well(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict | None:
    if attempt.exit is None or attempt.exit.exit_code != 0:
        return None
    if run.blueprint.mode is not Mode.GENERIC and attempt.seen.observable and not attempt.seen.step:
        text = "The command ended with exit 0, but no training step was seen."
        return _finished(Outcome.FAILED, "no_training_step", text, now)
    text = f"The command ended by itself with exit 0{_resumed(run)}."
    return _finished(Outcome.SUCCEEDED, "completed", text, now)


def _complete(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict | None:
    """Workers that die after the last step are a known trouble of these trainers: the data is all there."""
    seen = attempt.seen
    if run.blueprint.mode is Mode.GENERIC or not seen.total_steps or (seen.step or 0) < seen.total_steps:
        return None
    if seen.last_eval_step is None or seen.last_eval_step < seen.total_steps:
        return None
    text = f"All {seen.total_steps} steps and the last evaluation are there; only the shutdown failed{_resumed(run)}."
    return _finished(Outcome.SUCCEEDED, "completed_shutdown_failed", text, now)


def _resumed(run: Run) -> str:
    """That most of a training was done before this run: who shares a checkpoint may not know of it."""
    stepped = [attempt.seen for attempt in run.attempts if attempt.seen.step]
    first = stepped[0].first_step if stepped else None
    if run.blueprint.mode is Mode.GENERIC or not first or first == 1:
        return ""
    new = max(seen.step or 0 for seen in stepped) - first + 1
    return f"; resumed at step {first - 1}; {new} new step{'' if new == 1 else 's'}"


def _failed(run: Run, attempt: Attempt, policy: Policy, now: datetime) -> Verdict:
    reason = _failure(attempt.exit)
    return retry.again(run, Ground.FAILED, policy, reason, now) or Finished(
        at=now, via=Step.CONCLUDE, outcome=Outcome.FAILED, reason=reason
    )


_RULES: tuple[_Rule, ...] = (
    _stopped,
    _terminated,
    _out_of_time,
    _never_began,
    _gone,
    _ended_well,
    _complete,
    _failed,
)


def _ended_by_itself(attempt: Attempt) -> bool:
    """Whether the command's own end came before the supervisor could end it."""
    return attempt.exit is not None and attempt.exit.cause is None and not attempt.exit.adopted


def _failure(exit_: Exit | None) -> Reason:
    if exit_ is not None and exit_.signal is not None:
        return Reason(code="signal", text=f"The command was ended by {_signal_name(exit_.signal)}.")
    code = exit_.exit_code if exit_ is not None else None
    if exit_ is not None and exit_.stage is Stage.PREPARE:
        return Reason(code="prepare_failed", text=f"The prepare command ended with exit {code}.")
    return Reason(code="exit_code", text=f"The command ended with exit {code}{_shell_meaning(code)}.")


def _shell_meaning(code: int | None) -> str:
    """What bash most likely says with this code."""
    known = {126: " (found but not executable)", 127: " (command not found)"}
    if code is None or code in known:
        return known.get(code or 0, "")
    return f" (ended by {_signal_name(code - 128)})" if 128 < code < 128 + 65 else ""


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _finished(outcome: Outcome, code: str, text: str, now: datetime) -> Finished:
    return Finished(at=now, via=Step.CONCLUDE, outcome=outcome, reason=Reason(code=code, text=text))
