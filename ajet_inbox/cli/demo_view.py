"""The runs of the demo as they go on: bars on a terminal, else a line for each change."""

from __future__ import annotations

import subprocess
import sys
import time
from datetime import UTC, datetime

from rich.live import Live
from rich.markdown import Markdown
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from ajet_inbox.app.client.states import RunState, read_all
from ajet_inbox.cli.output import one_line, say
from ajet_inbox.cli.tables import print_rich
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.reading.durations import show_duration

_LOOK_S = 0.2
_BAR_COLUMNS = 24
_LINES_EVERY = 10  # steps
_MEASURE = "task_pass_rate@1"
_STYLES = {Outcome.SUCCEEDED: "green", Outcome.FAILED: "red", Outcome.REJECTED: "yellow"}


def follow(home: HomePaths, watcher: subprocess.Popen[bytes], deadline: float) -> bool:
    """Show the runs until the watcher ends; False where it has not by `deadline`, a moment of the monotonic clock."""
    show = _bars if sys.stdout.isatty() else _lines
    return show(home, watcher, deadline)


def _bars(home: HomePaths, watcher: subprocess.Popen[bytes], deadline: float) -> bool:
    say("")
    with Live(auto_refresh=False) as live:
        while (lives := watcher.poll() is None) and time.monotonic() < deadline:
            live.update(_table(_runs(home)), refresh=True)
            time.sleep(_LOOK_S)
        live.update(_table(_runs(home)), refresh=True)
    return not lives


def _lines(home: HomePaths, watcher: subprocess.Popen[bytes], deadline: float) -> bool:
    told: set[tuple[object, ...]] = set()
    while True:
        lives = watcher.poll() is None
        for run in _runs(home):
            change = (run.run, run.state, (run.step or 0) // _LINES_EVERY)
            if change not in told:
                told.add(change)
                say(_line(run))
        if not lives or time.monotonic() >= deadline:
            return not lives
        time.sleep(_LOOK_S)


def _runs(home: HomePaths) -> list[RunState]:
    """In the order in which they were dropped, so that no line jumps."""
    return sorted(read_all(home).states, key=lambda run: run.submitted_at or datetime.now(UTC))


def _table(runs: list[RunState]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for heading in ("RUN", "STATE", "PROGRESS", "STEP", _MEASURE.upper(), "ENDS IN"):
        table.add_column(heading)
    for run in runs:
        word = run.outcome or run.state
        bar = ProgressBar(total=run.total_steps or 1, completed=run.step or 0, width=_BAR_COLUMNS)
        state = Text(word, style=_STYLES.get(run.outcome, "") if run.outcome else "cyan")
        table.add_row(run.run, state, bar, _step(run), _rate(run), _ends_in(run))
    return table


def _line(run: RunState) -> str:
    facts = {"step": _step(run), _MEASURE: _rate(run), "ends in": _ends_in(run)}
    known = [f"{name} {value}" for name, value in facts.items() if value]
    told = [f"{run.run}: {run.outcome or run.state}", *known, *([run.reason.text] if run.reason else [])]
    return f"{datetime.now().astimezone():%H:%M:%S}  {one_line(', '.join(told))}"


def _step(run: RunState) -> str:
    return f"{run.step}/{run.total_steps or '?'}" if run.step else ""


def _rate(run: RunState) -> str:
    rate = (run.metrics or {}).get(_MEASURE)
    return f"{rate:.3f}" if isinstance(rate, float) else ""


def _ends_in(run: RunState) -> str:
    left = (run.eta - datetime.now(UTC)).total_seconds() if run.eta and not run.finished_at else 0
    return show_duration(round(left)) if left >= 1 else ""


def show_excerpt(result: str) -> None:
    """Print the verdict of a result page and the first table of its evaluations."""
    _, verdict, *blocks = result.split("\n\n")
    scores = [block for block in blocks if block.startswith("| Measure")]
    text = "\n\n".join([verdict, *scores[:1]])
    if sys.stdout.isatty():
        print_rich(Markdown(text))
    else:
        say(text)
