"""How the answers to requests are told."""

from __future__ import annotations

from typing import Any

from ajet_inbox.app.client.asking import Answer, Pause
from ajet_inbox.app.client.states import RunState
from ajet_inbox.app.errors import Code
from ajet_inbox.cli.output import clock, one_or_all, print_json, say, warn
from ajet_inbox.core.lifecycle import Outcome, State

# Which exit code an outcome is (contract section 4).
OUTCOME_CODES: dict[Outcome, Code] = {
    Outcome.SUCCEEDED: Code.FINE,
    Outcome.PLATEAUED: Code.FINE,
    Outcome.TIMED_OUT: Code.FINE,
    Outcome.FAILED: Code.NO,
    Outcome.REJECTED: Code.REJECTED,
    Outcome.CANCELLED: Code.CANCELLED,
    Outcome.LOST: Code.LOST,
}


def tell_answers(answers: tuple[Answer, ...], as_json: bool) -> int:
    """Print what became of requests; the exit code is 1 where one was refused."""
    if as_json:
        print_json(one_or_all([_document(answer) for answer in answers]))
    else:
        for answer in answers:
            (warn if answer.refused else say)(_sentence(answer))
    return Code.NO if any(answer.refused for answer in answers) else Code.FINE


def where(state: RunState) -> str:
    """Where a run stands, as a sentence: `x is running`, `x ended: failed (reason)`."""
    if state.state is not State.FINISHED:
        waits = state.state in (State.QUEUED, State.HELD)
        return f"{state.run} is {state.state}{f', priority {state.priority}' if waits and state.priority else ''}."
    return f"{state.run} {state.outcome or 'finished'}: {state.reason.text if state.reason else 'no reason is known.'}"


def paused_since(pause: Pause) -> str:
    """Who paused the queue, and how it goes on."""
    return f"The queue is paused since {clock(pause.at)} by {pause.by or 'somebody'}; 'ajet-inbox resume' ends it."


def _document(answer: Answer) -> dict[str, Any]:
    state = answer.state
    return {
        "run": state.run,
        "pending": answer.pending,
        "refused": answer.refused,
        "state": state.state,
        "outcome": state.outcome,
        "reason": state.reason,
        "priority": state.priority,
    }


def _sentence(answer: Answer) -> str:
    if answer.refused:
        return answer.refused
    if answer.pending:
        return f"Asked; {where(answer.state)} It will be done as soon as a watcher that can do it lives."
    return where(answer.state)
