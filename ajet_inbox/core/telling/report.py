"""All that trial log, results and pages show of a run, from its journal and what it left behind.

What is not known is None here and "unknown" there, never left out. Secrets are masked in everything but the names by
which programs know the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from msgspec import Struct
from msgspec.structs import asdict, replace

from ajet_inbox.core.blueprint import Blueprint, Problem
from ajet_inbox.core.journal import AnyEntry, Reason
from ajet_inbox.core.lifecycle import Outcome, State
from ajet_inbox.core.paths import RunPaths
from ajet_inbox.core.run import Run
from ajet_inbox.core.schedule import USABLE
from ajet_inbox.core.telling.scores import ScoreTable, score_tables
from ajet_inbox.core.telling.secrets import mask, mask_value
from ajet_inbox.core.telling.snapshot import exit_code
from ajet_inbox.core.telling.story import Moment, moments, seconds, time_in_states, total
from ajet_inbox.core.telling.trials import Trial, trials
from ajet_inbox.core.training.console import clean
from ajet_inbox.core.training.metrics import Metrics

SCHEMA = 1

_TAIL_BYTES = 64 * 1024
_TAIL_LINES = 40
_LINE_LENGTH = 400
_TEXT_LENGTH = 20_000
_MOMENTS = 200
_WAITING = (State.SUBMITTED, State.QUEUED, State.HELD)


class Command(Struct, frozen=True, kw_only=True):
    """What was run. `environment` holds NAME=VALUE lines."""

    mode: str
    codebase_dir: str | None
    venv_exe: str | None
    yaml_path: str | None
    launch_command: str | None
    prepare_command: str | None
    cleanup_command: str | None
    services: tuple[str, ...]
    environment: tuple[str, ...]


class Times(Struct, frozen=True, kw_only=True):
    """When, and for how many seconds. `running_s` counts attempts, `max_time_s` is what they were allowed."""

    submitted_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    waiting_s: float | None
    running_s: float | None
    backoff_s: float | None
    total_s: float | None
    max_time_s: float | None


class Places(Struct, frozen=True, kw_only=True):
    """Where things lie."""

    run_dir: str
    drop: str
    journal: str
    attempts: str
    result_dir: str | None


class Report(Struct, frozen=True, kw_only=True):
    """Everything that is shown of a run. `outcome` and `reason` are None while it is not finished."""

    schema: int = SCHEMA
    run: str
    name: str
    key: str | None
    drop_sha256: str | None
    title: str | None
    purpose: str | None
    notes: str | None
    parent: str | None
    retry_of: str | None
    state: State
    outcome: Outcome | None
    reason: Reason | None
    ended_by: str | None
    exit_code: int | None
    host: str | None
    slot: str | None
    gpus: tuple[str, ...]
    command: Command
    times: Times
    problems: tuple[Problem, ...]
    attempts: tuple[Trial, ...]
    scores: tuple[ScoreTable, ...]
    metrics: dict[str, Any]
    story: tuple[Moment, ...]
    story_left_out: int
    console_tail: tuple[str, ...]
    places: Places

    @property
    def lacking(self) -> str:
        """The word for a time that there is not."""
        if self.outcome is None:
            return "not_yet"
        return "unknown" if self.attempts else "never"


def report(run: Run, entries: Sequence[AnyEntry], *, metrics: Metrics, console_tail: bytes, paths: RunPaths) -> Report:
    """The report of a run. `entries` is its whole journal, `console_tail` the end of its newest attempt's console."""
    told = tuple(moments(entries))
    b = run.blueprint
    return _masked_report(
        Report(
            run=run.name,
            name=run.drop.name,
            key=run.drop.key,
            drop_sha256=run.drop.sha256,
            title=b.title,
            purpose=b.purpose,
            notes=b.notes,
            parent=b.parent,
            retry_of=run.drop.retry_of,
            state=run.state,
            outcome=run.outcome,
            reason=run.reason,
            ended_by=run.ended_by,
            exit_code=exit_code(run.attempt),
            host=run.holder.host if run.holder else None,
            slot=run.slot,
            gpus=run.slot_gpus,
            command=_command(b),
            times=_times(run, entries),
            problems=run.problems,
            attempts=trials(run, entries, paths),
            scores=score_tables(metrics.evals),
            metrics=metrics.as_dict(),
            story=told[-_MOMENTS:],
            story_left_out=max(0, len(told) - _MOMENTS),
            console_tail=() if run.outcome in USABLE else tail_lines(console_tail),
            places=_places(run, paths),
        )
    )


def tail_lines(console: bytes) -> tuple[str, ...]:
    """The last lines of a console as a terminal would leave them, without secrets, none over 400 characters."""
    text = console[-_TAIL_BYTES:].decode(errors="replace")
    # Masked as one text: a private key goes over many lines, and a cut line may hide that it is one.
    shown = mask("\n".join(clean(line) for line in text.split("\n"))).rstrip()
    return tuple(_bounded(line, _LINE_LENGTH) for line in shown.split("\n")[-_TAIL_LINES:]) if shown else ()


def _command(b: Blueprint) -> Command:
    return Command(
        mode=b.mode.value,
        codebase_dir=b.codebase_dir,
        venv_exe=b.venv_exe,
        yaml_path=b.yaml_path,
        launch_command=b.launch_command,
        prepare_command=b.prepare_command,
        cleanup_command=b.cleanup_command,
        services=tuple(f"{service.name}: {service.command}" for service in b.services),
        environment=tuple(f"{name}={mask_value(name, value)}" for name, value in b.env.items()),
    )


def _times(run: Run, entries: Iterable[AnyEntry]) -> Times:
    spent = time_in_states(entries)
    return Times(
        submitted_at=run.submitted_at,
        started_at=run.started_at,
        finished_at=run.finished_at,
        waiting_s=total(spent.get(state, 0.0) for state in _WAITING),
        running_s=total(seconds(attempt.started_at, attempt.ended_at) for attempt in run.attempts),
        backoff_s=spent.get(State.BACKOFF, 0.0),
        total_s=seconds(run.submitted_at, run.finished_at),
        max_time_s=run.blueprint.max_time_s,
    )


def _places(run: Run, paths: RunPaths) -> Places:
    return Places(
        run_dir=str(paths.root),
        drop=str(paths.drop),
        journal=str(paths.journal),
        attempts=str(paths.attempt(1).parent),
        result_dir=run.result_dir,
    )


# ---- without secrets, within bounds -------------------------------------------------------------------------------


def _masked_report(told: Report) -> Report:
    shown: Report = _masked(told)
    # These name the run for programs, which compare them byte for byte.
    return replace(shown, run=told.run, name=told.name, key=told.key, drop_sha256=told.drop_sha256)


def _masked(value: Any) -> Any:
    """`value` with every text in it masked and bounded, however deep."""
    match value:
        case StrEnum():
            return value
        case str():
            return _short(value)
        case tuple() | list():
            return type(value)(_masked(item) for item in value)
        case dict():
            return {key: _masked(item) for key, item in value.items()}
        case Struct():
            return type(value)(**{name: _masked(item) for name, item in asdict(value).items()})
        case _:
            return value


def _short(text: str) -> str:
    # Cut twice, so that no secret goes over the cut that shows: what half a secret looks like, no rule knows.
    return _bounded(mask(text[: 2 * _TEXT_LENGTH]), _TEXT_LENGTH, len(text))


def _bounded(text: str, length: int, whole: int = 0) -> str:
    """At most `length` characters of `text`, and how many of the `whole` are missing."""
    missing = max(whole, len(text)) - length
    return f"{text[:length]} [... +{missing}]" if missing > 0 else text
