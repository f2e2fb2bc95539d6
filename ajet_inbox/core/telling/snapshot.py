"""What programs are told of a run: state.json, the receipt of its drop, and what it waits for (contract section 3)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from msgspec import Struct

from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.journal import Reason, Seen
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import FLAG
from ajet_inbox.core.run import Attempt, Run
from ajet_inbox.core.schedule import is_elsewhere, pending_after
from ajet_inbox.core.slots import Slot
from ajet_inbox.core.telling.secrets import mask
from ajet_inbox.core.training.evals import Eval

SCHEMA = 1


class Live(Struct, frozen=True, kw_only=True):
    """What was seen of an attempt at the time `at`. `eta_s`: seconds until its last planned step, from then.

    `metrics` is its newest evaluation. The two commands show its terminal; None where it has none any more.
    """

    at: datetime
    step: int | None = None
    total_steps: int | None = None
    eta_s: float | None = None
    metrics: Eval | None = None
    attach_command: str | None = None
    capture_command: str | None = None


def snapshot(run: Run, *, live: Live | None = None, blocked: str | None = None) -> dict[str, object]:
    """state.json. `blocked` is what `waits_for` says of a queued run; without `live` the journal tells the steps."""
    attempt = run.attempt
    seen = attempt.seen if attempt else Seen()
    return {
        "schema": SCHEMA,
        "run": run.name,
        "name": run.drop.name,
        "key": run.drop.key,
        "drop_sha256": run.drop.sha256,
        "state": run.state.value,
        "blocked": mask(blocked) if blocked and run.state is State.QUEUED else None,
        "outcome": run.outcome.value if run.outcome else None,
        "reason": reason_given(run.reason),
        "attempt": attempt.number if attempt else None,
        "slot": run.slot,
        "host": run.holder.host if run.holder else None,
        "priority": run.priority,
        "submitted_at": iso(run.submitted_at),
        "started_at": iso(run.started_at),
        "finished_at": iso(run.finished_at),
        "step": live.step if live and live.step is not None else seen.step,
        "total_steps": live.total_steps if live and live.total_steps is not None else seen.total_steps,
        "eta": _eta(live, attempt),
        "metrics": live.metrics.as_dict() if live and live.metrics else None,
        "exit_code": exit_code(attempt),
        "attach_command": live.attach_command if live else None,
        "capture_command": live.capture_command if live else None,
    }


def receipt(run: Run, run_dir: str) -> dict[str, object]:
    """What became of a drop, for whoever knows nothing but the hash of its bytes."""
    return {
        "run": run.name,
        "run_dir": run_dir,
        "finish_flag": f"{run_dir}/{FLAG}",
        "state": run.state.value,
        "outcome": run.outcome.value if run.outcome else None,
    }


def iso(when: datetime | None) -> str | None:
    """A time as programs are told it: ISO 8601 with offset, to the millisecond."""
    return when.isoformat(timespec="milliseconds") if when else None


def reason_given(reason: Reason | None) -> dict[str, str] | None:
    """A reason as programs are told it, without secrets."""
    return {"code": reason.code, "text": mask(reason.text)} if reason else None


def exit_code(attempt: Attempt | None) -> int | None:
    """How the command ended: its exit code, or -N where signal N ended it; None where that is not known."""
    if attempt is None or attempt.exit is None:
        return None
    return -attempt.exit.signal if attempt.exit.signal is not None else attempt.exit.exit_code


def _eta(live: Live | None, attempt: Attempt | None) -> str | None:
    """When all planned steps are done, or the time is over, whichever comes sooner."""
    if live is None or live.eta_s is None:
        return None
    done = live.at + timedelta(seconds=live.eta_s)
    return iso(min(done, _limit(attempt) or done))


def _limit(attempt: Attempt | None) -> datetime | None:
    """When the attempt is ended if it has not ended by itself."""
    if attempt is None or attempt.started_at is None or attempt.limit_s is None:
        return None
    return attempt.started_at + timedelta(seconds=attempt.limit_s)


# ---- what a queued run waits for ----------------------------------------------------------------------------------


def waits_for(fleet: Fleet, run: Run) -> str | None:
    """What a queued run waits for, as this watcher sees it: `code: One sentence.` None where it is about to go.

    What keeps every run waiting is said first: of a paused queue nobody looks at the paths of a run.
    """
    if run.state is not State.QUEUED:
        return None
    reason = next(_hindrances(fleet, run), None)
    return f"{reason.code}: {reason.text}" if reason else None


def _hindrances(fleet: Fleet, run: Run) -> Iterator[Reason]:
    if fleet.paused:
        yield Reason(code="paused", text="The queue is paused.")
    if names := pending_after(fleet, run):
        yield Reason(code="after", text=f"It runs after {', '.join(names)}.")
    if is_elsewhere(fleet, run):
        yield Reason(code="other_host", text=f"It is for the host {run.blueprint.host}.")
    if blocked := fleet.blocked.get(run.name):
        yield Reason(code=blocked.code, text=blocked.why)
    if fleet.arriving:
        yield Reason(code="judging", text=f"Drops are still being judged: {len(fleet.arriving)}.")
    if run.name not in fleet.looking and run.name not in fleet.taking:
        yield from _slot_hindrance(fleet, run)


def _slot_hindrance(fleet: Fleet, run: Run) -> Iterator[Reason]:
    fitting = [slot for slot in fleet.slots if slot.holds(run.gpus)]
    if not fitting:
        yield Reason(code="no_slot", text=f"There is no slot{_size(run.gpus)} here.")
    elif not any(slot in fitting for slot in fleet.free_slots()):
        uses = ", ".join(_use(slot, fleet.occupied()) for slot in fitting)
        yield Reason(code="no_free_slot", text=f"No slot{_size(run.gpus)} is free: {uses}.")
    else:
        yield Reason(code="others_first", text="Other runs go first.")


def _size(gpus: int) -> str:
    """What is asked of a slot; nothing where any will do."""
    match gpus:
        case 0:
            return ""
        case 1:
            return " with a GPU"
        case _:
            return f" with {gpus} GPUs or more"


def _use(slot: Slot, occupied: dict[str, str]) -> str:
    if slot.name in occupied:
        return f"{slot.name} runs {occupied[slot.name]}"
    return f"{slot.name} is down ({slot.down})"
