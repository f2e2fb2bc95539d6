"""What `status` shows: the watchers, and a line for each run."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rich.console import Group
from rich.table import Table
from rich.text import Text

from ajet_inbox.app.client.overview import Overview
from ajet_inbox.app.client.states import RunState
from ajet_inbox.app.client.watchers import Watcher
from ajet_inbox.cli.answers import paused_since
from ajet_inbox.cli.output import clock, lasting, one_line
from ajet_inbox.cli.tables import Cell, table
from ajet_inbox.core.lifecycle import Outcome, State

_FINISHED_SHOWN = 10
_WIDE = 90  # columns; on a narrower terminal the slot, the step and the time are left out
_STYLES: dict[str, str] = {
    State.RUNNING: "green",
    State.STOPPING: "yellow",
    State.UNREACHABLE: "red",
    Outcome.SUCCEEDED: "green",
    Outcome.PLATEAUED: "green",
    Outcome.TIMED_OUT: "green",
    Outcome.FAILED: "red",
    Outcome.LOST: "red",
    Outcome.REJECTED: "yellow",
    Outcome.CANCELLED: "yellow",
}


def status_document(seen: Overview) -> dict[str, Any]:
    """The overview for programs."""
    return {
        "home": seen.home,
        "inbox_missing": seen.inbox_missing,
        "paused": seen.paused,
        "strangers": seen.strangers,
        "watchers": [_watcher_document(watcher) for watcher in seen.watchers],
        "runs": seen.runs.states,
        "unreadable": seen.runs.unreadable,
    }


def _watcher_document(watcher: Watcher) -> dict[str, Any]:
    sign = watcher.sign
    return {
        "host": sign.host,
        "alive": watcher.alive,
        "pid": sign.pid,
        "version": sign.version,
        "at": sign.at,
        "slots": sign.slots,
        "slots_trouble": sign.slots_trouble,
    }


def status_view(seen: Overview, columns: int, *, wraps: bool) -> Group:
    """The overview for people, `columns` wide."""
    notes = [Text(one_line(line), style=style) for line, style in _notes(seen)]
    runs = _shown(seen)
    return Group(*notes, _runs_table(seen, runs, columns, wraps=wraps) if runs else Text("No runs yet."))


def _notes(seen: Overview) -> Iterator[tuple[str, str]]:
    for watcher in seen.watchers:
        if watcher.alive:
            slots = watcher.sign.slots
            free = sum(slot.run is None and slot.down is None for slot in slots)
            yield f"Watcher on {watcher.sign.host}: {len(slots)} slots, {free} free.", ""
            if watcher.sign.slots_trouble:
                yield watcher.sign.slots_trouble, "red"
        else:
            yield f"The watcher on {watcher.sign.host} is gone, last seen {clock(watcher.sign.at)}.", "yellow"
    if not seen.is_watched_here:
        yield "No watcher is running here: start one with 'ajet-inbox watch'.", "yellow"
    if seen.inbox_missing:
        yield "The inbox is missing: nothing can be dropped until it is there again.", "red"
    if seen.paused:
        yield paused_since(seen.paused), "yellow"
    if seen.strangers:
        yield f"In the inbox, but no drops: {', '.join(seen.strangers)}.", "yellow"
    if seen.runs.unreadable:
        yield f"Cannot be read: {', '.join(seen.runs.unreadable)}.", "red"


def _shown(seen: Overview) -> list[RunState]:
    """All that are not finished, and the last ones that are."""
    finished = [run for run in seen.runs.states if run.state is State.FINISHED]
    return [run for run in seen.runs.states if run.state is not State.FINISHED] + finished[:_FINISHED_SHOWN]


def _runs_table(seen: Overview, runs: list[RunState], columns: int, *, wraps: bool) -> Table:
    if columns < _WIDE:
        return table(("RUN", "STATE", "NOTE"), [(r.run, _state(r), _note(seen, r)) for r in runs], wraps=wraps)
    rows = [(r.run, _state(r), r.slot or "-", _step(r), _time(r), _note(seen, r)) for r in runs]
    return table(("RUN", "STATE", "SLOT", "STEP", "TIME", "NOTE"), rows, wraps=wraps)


def _state(run: RunState) -> Cell:
    word = run.outcome or run.state
    return word, _STYLES.get(word, "")


def _step(run: RunState) -> str:
    if run.step is None:
        return "-"
    return f"{run.step}/{run.total_steps}" if run.total_steps else str(run.step)


def _time(run: RunState) -> str:
    """How long it has been at work, or waits."""
    return lasting(run.started_at or (None if run.finished_at else run.submitted_at), run.finished_at)


def _note(seen: Overview, run: RunState) -> str:
    if seen.is_silent(run):
        return f"{run.host} is silent: this is what was known last"
    if run.state is State.QUEUED:
        return run.blocked or ("about to go" if any(w.alive for w in seen.watchers) else "waits for a watcher")
    if run.reason and run.outcome is not Outcome.SUCCEEDED:
        return run.reason.text
    return f"ends about {clock(run.eta)}" if run.eta and not run.finished_at else ""
