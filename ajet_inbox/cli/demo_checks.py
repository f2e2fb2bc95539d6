"""What must be so at the end of the demo, and what is not."""

from __future__ import annotations

import csv
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import yaml
from msgspec import Struct

from ajet_inbox.app.client.states import read
from ajet_inbox.core.attempt import STARTED, Started
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import FLAG, HomePaths
from ajet_inbox.edge import processes
from ajet_inbox.edge.files import list_names

_MEASURE = "task_pass_rate@1"


class Part(Struct, frozen=True, kw_only=True):
    """One blueprint of the demo: how it must end, and where its results go."""

    run: str
    about: str
    outcome: Outcome
    exit_code: int | None
    result_dir: str


PARTS = (
    Part(
        run="good",
        about="trains a small policy with GRPO",
        outcome=Outcome.SUCCEEDED,
        exit_code=0,
        result_dir="addition",
    ),
    Part(
        run="failing",
        about="needs a module that does not exist",
        outcome=Outcome.FAILED,
        exit_code=1,
        result_dir="missing_module",
    ),
    Part(
        run="invalid",
        about="has no launch command",
        outcome=Outcome.REJECTED,
        exit_code=None,
        result_dir="not_ready",
    ),
)


class Stage(Struct, frozen=True, kw_only=True):
    """The folders of one demo."""

    root: Path

    @property
    def home(self) -> HomePaths:
        """Where the watcher works."""
        return HomePaths(self.root / "home")

    @property
    def codebase(self) -> Path:
        """The copy of the example that is trained in."""
        return self.root / "codebase"

    @property
    def results(self) -> Path:
        """Where the blueprints want their results."""
        return self.root / "results"

    @property
    def log(self) -> Path:
        """What the watcher logs."""
        return self.root / "watcher.log"

    @property
    def places(self) -> dict[str, str]:
        """What is written in place of the templates' names."""
        return {"{CODEBASE}": str(self.codebase), "{PYTHON}": sys.executable, "{RESULTS}": str(self.results)}


def complaints(stage: Stage, watcher_code: int | None) -> Iterator[str]:
    """What is not as it should be, a sentence each. `watcher_code` is None where the watcher has not ended."""
    if watcher_code != 0:
        code = "did not end" if watcher_code is None else f"ended with exit {watcher_code}"
        yield f"The watcher {code}; see {stage.log}."
    for part in PARTS:
        yield from _wrong_end(stage, part)
        for folder in (stage.home.run(part.run).root, stage.results / part.result_dir):
            yield from _wrong_flag(folder, part)
    yield from _not_learned(stage)
    yield from (f"Attempt {attempt_id} still runs." for attempt_id in living(stage))


def _wrong_end(stage: Stage, part: Part) -> Iterator[str]:
    state = read(stage.home, part.run)
    if state is None:
        yield f"There is no run {part.run}."
    elif (state.outcome, state.exit_code) != (part.outcome, part.exit_code):
        yield f"{part.run} is {state.outcome or state.state} with exit code {state.exit_code}, not {part.outcome}."


def _wrong_flag(folder: Path, part: Part) -> Iterator[str]:
    if FLAG not in list_names(folder):
        yield f"There is no {FLAG} in {folder}."
        return
    told = yaml.safe_load((folder / FLAG).read_bytes())
    if told["outcome"] != part.outcome:
        yield f"The {FLAG} in {folder} says {told['outcome']}."
    if told["result_sha256"] != hashlib.sha256((folder / "result.md").read_bytes()).hexdigest():
        yield f"The {FLAG} in {folder} does not belong to the result beside it."


def _not_learned(stage: Stage) -> Iterator[str]:
    """By what was delivered."""
    table = stage.results / PARTS[0].result_dir / "metrics.csv"
    lines = table.read_text(encoding="utf-8").splitlines() if table.is_file() else []
    rates = [float(row[_MEASURE]) for row in csv.DictReader(lines)]
    if len(rates) < 2:
        yield f"{table} holds {len(rates)} evaluations."
    elif rates[-1] <= rates[0]:
        yield f"The training did not help: {_MEASURE} was {rates[0]} and is {rates[-1]}."


def living(stage: Stage) -> list[str]:
    """The attempts of which something still runs: the experiment, or its supervisor."""
    begun = [
        msgspec.json.decode(path.read_bytes(), type=Started)
        for path in stage.home.outbox.glob(f"*/attempts/*/{STARTED}")
    ]
    return [
        each.attempt_id
        for each in begun
        if processes.tagged(each.attempt_id) or processes.alive(each.keeper_pid, each.keeper_start_time)
    ]
