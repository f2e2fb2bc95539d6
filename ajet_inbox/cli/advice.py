"""What to do next about a run, in one sentence."""

from __future__ import annotations

from ajet_inbox.app.client.states import RunState
from ajet_inbox.core.admission import DUPLICATE, RESULT_DIR_IN_USE
from ajet_inbox.core.lifecycle import Outcome, State

_REJECTED = {
    DUPLICATE: "Let the first do, or submit this one with another --name or --key.",
    RESULT_DIR_IN_USE: "Give it another exp_result_dir, or submit it when that run has ended.",
}
_MEND = "Mend the blueprint, try it with 'ajet-inbox check FILE', and submit it again."
_ENDED = {
    Outcome.FAILED: "'ajet-inbox logs {run}' shows how it ended, 'ajet-inbox retry {run}' runs it again.",
    Outcome.CANCELLED: "'ajet-inbox retry {run}' runs it again.",
    Outcome.LOST: "Look after what it left on its host; 'ajet-inbox retry {run}' runs it again.",
}


def advice(state: RunState) -> str | None:
    """The next step; None where nothing is to be done."""
    if state.attach_command and state.state is not State.FINISHED:
        return f"'ajet-inbox logs {state.run} -f' follows its console, 'ajet-inbox attach {state.run}' its terminal."
    if state.outcome is Outcome.REJECTED:
        return _REJECTED.get(state.reason.code, _MEND) if state.reason else _MEND
    sentence = _ENDED.get(state.outcome) if state.outcome else None
    return sentence.format(run=state.run) if sentence else None
