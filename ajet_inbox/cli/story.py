"""What `show` and `peek` tell of one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from ajet_inbox.app.client.states import RunState
from ajet_inbox.cli.output import clock, lasting
from ajet_inbox.core.attempt import Exit
from ajet_inbox.core.journal import AnyEntry, Claimed, Exited, Submitted
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import FLAG, HomePaths
from ajet_inbox.core.reading.durations import show_duration
from ajet_inbox.edge.files import list_names

# Known from the line itself, or of no use to people.
_UNTOLD = frozenset({"event", "at", "via", "boot_id", "started_at"})
_FILES = (FLAG, "result.md", "result.json", "trial_log.md", "metrics.csv", "plots", "index.html", "drop", "attempts")


def facts(state: RunState) -> Iterator[str]:
    """Where a run stands, a line a fact; what is not known yet is left out."""
    outcome = f", {state.outcome}" if state.outcome else ""
    yield f"run       {state.run}"
    yield f"state     {state.state}{outcome}"
    if state.reason:
        yield f"reason    {state.reason.text} ({state.reason.code})"
    if state.blocked:
        yield f"waits for {state.blocked}"
    if state.exit_code is not None:
        yield f"exit code {state.exit_code}"
    if state.attempt:
        yield f"attempt   {state.attempt}, slot {state.slot or '-'}, host {state.host or '-'}"
    yield from _times(state)
    if state.step is not None:
        yield f"step      {state.step}{f' of {state.total_steps}' if state.total_steps else ''}"
    if state.metrics:
        yield f"metrics   {', '.join(f'{key} {_number(value)}' for key, value in state.metrics.items())}"


def _times(state: RunState) -> Iterator[str]:
    yield f"submitted {clock(state.submitted_at)}"
    if state.started_at:
        yield f"started   {clock(state.started_at)}, {lasting(state.started_at, state.finished_at)} of work"
    if state.finished_at:
        yield f"finished  {clock(state.finished_at)}"
    elif state.eta:
        yield f"ends      about {clock(state.eta)}"


def _number(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def files(home: HomePaths, name: str) -> dict[str, str]:
    """What there is in the run folder, by name."""
    root = home.run(name).root
    return {name: str(root / name) for name in _FILES if name in list_names(root)}


def steps(entries: tuple[AnyEntry, ...]) -> list[dict[str, Any]]:
    """The journal as readable entries: what happened, when, and in a few words what is told with it."""
    return [{"at": entry.at, "event": _event(entry), "text": _words(entry)} for entry in entries]


def step_line(step: dict[str, Any]) -> str:
    """One of `steps` as a line."""
    return f"{clock(step['at'])}  {step['event']:<14} {step['text']}".rstrip()


def _event(entry: AnyEntry) -> str:
    return str(msgspec.to_builtins(entry)["event"])


def _words(entry: AnyEntry) -> str:
    match entry:
        case Claimed():
            return f"by {entry.owner.host} to {entry.act}"
        case Submitted():
            return entry.drop.name
        case Exited(exit=Exit(exit_code=int(code))):
            return f"exit code {code}"
        case _:
            told = msgspec.to_builtins(entry)
            reason = told.pop("reason", None)
            words = [f"{key} {_value(key, value)}" for key, value in told.items() if _is_told(key, value)]
            return ", ".join([*words, *([reason["text"]] if reason else [])])


def _is_told(key: str, value: Any) -> bool:
    return key not in _UNTOLD and value not in (None, "", (), [], {}) and not isinstance(value, dict)


def _value(key: str, value: Any) -> str:
    if key == "limit_s":
        return show_duration(value)
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def has_changed(before: RunState, now: RunState) -> bool:
    """Whether a run has moved on: another state or another attempt."""
    return (before.state, before.attempt, before.outcome) != (now.state, now.attempt, now.outcome)


def is_over(state: RunState) -> bool:
    """Whether nothing more will happen to it."""
    return state.state is State.FINISHED
