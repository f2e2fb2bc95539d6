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
from ajet_inbox.app.heartbeat import Sign
from ajet_inbox.app.identity import host_name
from ajet_inbox.cli.answers import paused_since
from ajet_inbox.cli.output import clock, lasting, one_line
from ajet_inbox.cli.tables import Cell, table
from ajet_inbox.core.lifecycle import Outcome, State

_FINISHED_SHOWN = 10
_WIDE = 90  # columns; on a narrower terminal the slot and the time are left out, and the step is in the note
_START = "start one with 'ajet-inbox watch'"
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


def status_view(seen: Overview, columns: int, *, wraps: bool, every: bool = False) -> Group:
    """The overview for people, `columns` wide; of the finished runs only the last ones unless `every`."""
    notes = [Text(one_line(line), style=style) for line, style in _notes(seen)]
    runs = list(seen.runs.states) if every else _shown(seen)
    hidden = len(seen.runs.states) - len(runs)
    return Group(
        *notes,
        _runs_table(seen, runs, columns, wraps=wraps) if runs else Text("No runs yet."),
        *([Text(f"And {hidden} more that are finished: 'ajet-inbox status --all' shows them.")] if hidden else []),
    )


def _notes(seen: Overview) -> Iterator[tuple[str, str]]:
    for watcher in seen.watchers:
        yield from _watcher_notes(watcher.sign) if watcher.alive else _gone_notes(watcher.sign)
    if host_name() not in {watcher.sign.host for watcher in seen.watchers}:
        yield f"No watcher is running here: {_START}.", "yellow"
    if seen.inbox_missing:
        yield "The inbox is missing: nothing can be dropped until it is there again.", "red"
    if seen.paused:
        yield paused_since(seen.paused), "yellow"
    if seen.strangers:
        yield f"In the inbox, but no drops: {', '.join(seen.strangers)}.", "yellow"
    if seen.runs.unreadable:
        yield f"Cannot be read: {', '.join(seen.runs.unreadable)}.", "red"


def _watcher_notes(sign: Sign) -> Iterator[tuple[str, str]]:
    free = sum(slot.run is None and slot.down is None for slot in sign.slots)
    yield f"Watcher on {sign.host}: {len(sign.slots)} slot{'' if len(sign.slots) == 1 else 's'}, {free} free.", ""
    if sign.slots_trouble:
        yield sign.slots_trouble, "red"


def _gone_notes(sign: Sign) -> Iterator[tuple[str, str]]:
    advice = f": {_START}" if sign.host == host_name() else ""
    yield f"The watcher on {sign.host} is gone, last seen {clock(sign.at)}{advice}.", "yellow"


def _shown(seen: Overview) -> list[RunState]:
    """All that are not finished, and the last ones that are."""
    finished = [run for run in seen.runs.states if run.state is State.FINISHED]
    return [run for run in seen.runs.states if run.state is not State.FINISHED] + finished[:_FINISHED_SHOWN]


def _runs_table(seen: Overview, runs: list[RunState], columns: int, *, wraps: bool) -> Table:
    if columns < _WIDE:
        notes = [_joined(f"step {_step(r)}" if r.step is not None else "", _note(seen, r)) for r in runs]
        narrow = [(r.run, _state(r), note) for r, note in zip(runs, notes, strict=True)]
        return table(("RUN", "STATE", "NOTE"), narrow, wraps=wraps)
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
    waits = run.state in (State.QUEUED, State.HELD)
    return _joined(f"priority {run.priority}" if waits and run.priority else "", _news(seen, run))


def _joined(*notes: str) -> str:
    return "; ".join(note for note in notes if note)


def _news(seen: Overview, run: RunState) -> str:
    if seen.is_silent(run):
        return f"{run.host} is silent: this is what was known last"
    if run.state is State.QUEUED:
        return run.blocked or ("about to go" if any(w.alive for w in seen.watchers) else "waits for a watcher")
    if run.reason and run.outcome is not Outcome.SUCCEEDED:
        return run.reason.text
    return f"ends about {clock(run.eta)}" if run.eta and not run.finished_at else ""
