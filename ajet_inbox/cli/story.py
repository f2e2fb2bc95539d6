"""What `show` and `peek` tell of one run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec.structs import replace

from ajet_inbox.app.client.states import RunState
from ajet_inbox.cli.output import clock, lasting
from ajet_inbox.core.attempt import Exit
from ajet_inbox.core.blueprint import Level, Problem
from ajet_inbox.core.journal import AnyEntry, Claimed, Exited, Submitted
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import FLAG, HomePaths
from ajet_inbox.core.reading.durations import show_duration
from ajet_inbox.core.telling.secrets import mask
from ajet_inbox.edge.files import list_names

# Known from the line itself, or of no use to people.
_UNTOLD = frozenset({"event", "at", "via", "boot_id", "started_at", "id", "session"})
# How watchers hand a run to each other is of no use to people.
_SILENT = frozenset({"claimed", "relinquished"})
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
    if state.priority:
        yield f"priority  {state.priority}"
    if state.exit_code is not None:
        yield f"exit code {state.exit_code}"
    if state.attempt:
        yield f"attempt   {state.attempt}, slot {state.slot or '-'}, host {state.host or '-'}"
    yield from _times(state)
    if state.step is not None:
        yield f"step      {state.step}{f' of {state.total_steps}' if state.total_steps else ''}"
    for key, value in (state.metrics or {}).items():
        yield f"metric    {key} {_number(value)}"


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


def step_lines(story: list[dict[str, Any]], count: int) -> list[str]:
    """The last `count` of `steps` that people want to know, a line each."""
    told = [step for step in story if step["event"] not in _SILENT]
    return [f"{clock(step['at'])}  {step['event']:<14} {step['text']}".rstrip() for step in told[-count:]]


def problems(entries: tuple[AnyEntry, ...]) -> tuple[Problem, ...]:
    """What the check said of the drop, without secrets."""
    found = next((entry.problems for entry in entries if isinstance(entry, Submitted)), ())
    return tuple(replace(problem, message=mask(problem.message), hint=mask(problem.hint)) for problem in found)


def problem_lines(found: tuple[Problem, ...]) -> Iterator[str]:
    """What is wrong or doubtful, a line each; what is only worth knowing is left to the trial log."""
    for problem in found:
        if problem.level is not Level.INFO:
            line = f"line {problem.line}: " if problem.line else ""
            yield f"{problem.level:<9} {line}{problem.message} {problem.hint}".rstrip()


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
            limit_s = told.pop("limit_s", None)
            told["limit"] = None if limit_s is None else show_duration(limit_s)
            words = [f"{key} {_value(value)}" for key, value in told.items() if _is_told(key, value)]
            return ", ".join([*words, *([reason["text"]] if reason else [])])


def _is_told(key: str, value: Any) -> bool:
    return key not in _UNTOLD and value not in (None, "", (), [], {}) and not isinstance(value, dict)


def _value(value: Any) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list | tuple) else str(value)


def has_changed(before: RunState, now: RunState) -> bool:
    """Whether a run has moved on: another state or another attempt."""
    return (before.state, before.attempt, before.outcome) != (now.state, now.attempt, now.outcome)


def is_over(state: RunState) -> bool:
    """Whether nothing more will happen to it."""
    return state.state is State.FINISHED
