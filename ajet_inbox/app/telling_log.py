"""What the watcher's log says of runs: a line for each change of state, with the run's name."""

from __future__ import annotations

from collections.abc import Iterator

from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.run import Run
from ajet_inbox.core.telling.secrets import mask


def changes(before: Fleet, now: Fleet) -> Iterator[str]:
    """A line for each run that `before` did not know, or knew in another state."""
    for name, run in now.runs.items():
        known = before.runs.get(name)
        if known is None or known.state is not run.state:
            yield f"{name}: {_standing(run)}"
    for name in before.runs.keys() - now.runs.keys():
        if before.runs[name].state is not State.FINISHED:  # else its end was told, and now its results stand
            yield f"{name}: {_end_elsewhere(now, name)}"


def _standing(run: Run) -> str:
    if run.outcome:
        return f"{run.outcome}{_because(run)}"
    attempt = f", attempt {run.current.number}" if run.current else ""
    slot = f" on {run.slot}" if run.slot else ""
    return f"{run.state}{attempt}{slot}{_because(run)}"


def _because(run: Run) -> str:
    """Why it ended or is being ended; nothing where that is not so."""
    stop = run.stop if run.state is State.STOPPING else None  # it is kept, also over later attempts
    reason = stop.reason if stop else run.reason
    return f" ({reason.code}): {mask(reason.text)}" if reason else ""


def _end_elsewhere(now: Fleet, name: str) -> str:
    """How a run left whose end this watcher did not bring about."""
    ended = now.settled.get(name)
    return f"{ended.outcome}, as another watcher found" if ended else "its folder is gone from the outbox"
