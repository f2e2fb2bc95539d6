"""Blueprints on their way into the inbox."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import click
from msgspec import Struct, structs

from ajet_inbox.app.client.dropping import Dropped, accepted, drop
from ajet_inbox.app.client.reading import patient_place, read_from
from ajet_inbox.app.client.states import RunState, find, read
from ajet_inbox.app.client.waiting import POLL_S, Search
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.errors import Code, NoHome, UsageError, UserError
from ajet_inbox.cli.answers import where
from ajet_inbox.cli.base import Command, Session, json_option, pass_session
from ajet_inbox.cli.control import wait_and_tell
from ajet_inbox.cli.output import one_line, one_or_all, print_json, say, warn
from ajet_inbox.cli.tables import Cell, print_table
from ajet_inbox.core.blueprint import Blueprint, Level, Problem, Reading, errors
from ajet_inbox.core.drops import BLUEPRINT_NAME, DropKind, ReadyMark
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import FLAG, HomePaths
from ajet_inbox.core.settings import Autokill, Settings
from ajet_inbox.core.training.ajet import strip_autokill
from ajet_inbox.edge.files import list_names

ACCEPTED_WITHIN_S = 5.0


class _Sent(Struct, frozen=True, kw_only=True):
    """One drop on its way: `run` is None until a watcher has made one of it."""

    dropped: Dropped
    problems: tuple[Problem, ...]
    search: Search
    run: RunState | None = None


@click.command(cls=Command)
@click.argument("source", metavar="FILE|DIR...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--name", help="What the drop is called; the run is called so too.")
@click.option("--priority", type=int, help="Higher goes first; 0 where it is not given.")
@click.option("--after", multiple=True, metavar="RUN", help="Start only when this run has ended well.")
@click.option("--key", help="A key of your own: a second drop with it is rejected as a duplicate.")
@click.option("--replace", metavar="NAME|KEY", help="Cancel this queued run in favour of the new one.")
@click.option("--wait", "and_wait", is_flag=True, help="Wait until the run has ended, as 'ajet-inbox wait' does.")
@json_option
@pass_session
def submit(
    session: Session,
    source: tuple[Path, ...],
    name: str | None,
    priority: int | None,
    after: tuple[str, ...],
    key: str | None,
    replace: str | None,
    and_wait: bool,
    as_json: bool,
) -> int:
    """Put blueprints into the inbox.

    A folder that holds a blueprint.md is dropped with all its files. What is wrong is told, but the watcher decides.
    """
    if len(source) > 1 and (name or key):
        raise UsageError("--name and --key are for one blueprint.", "Submit them one by one.")
    mark = ReadyMark(key=key, priority=priority, after=after, replace=replace)
    return _submit(session.home, [(path, name) for path in source], mark, and_wait=and_wait, as_json=as_json)


@click.command(cls=Command)
@click.argument("run")
@click.option("--wait", "and_wait", is_flag=True, help="Wait until the new run has ended.")
@json_option
@pass_session
def retry(session: Session, run: str, and_wait: bool, as_json: bool) -> int:
    """Drop what a run was dropped as once more, as a new run."""
    home = session.home
    source, name = _kept_drop(home, find(home, run))
    return _submit(home, [(source, name)], ReadyMark(retry_of=run), and_wait=and_wait, as_json=as_json)


def _kept_drop(home: HomePaths, state: RunState) -> tuple[Path, str]:
    """What was dropped, and what it was called.

    Raises:
        UserError: it was not kept.
    """
    folder, name = home.run(state.run).drop, state.name or f"{state.run}.md"
    names = list_names(folder)
    if BLUEPRINT_NAME in names and name != BLUEPRINT_NAME:
        return folder, name
    if name in names:
        return folder / name, name
    raise UserError(f"What {state.run} was dropped as is not in {folder}.", "Submit its blueprint again.")


# ---- sending ------------------------------------------------------------------------------------------------------


def _submit(
    home: HomePaths, drops: list[tuple[Path, str | None]], mark: ReadyMark, *, and_wait: bool, as_json: bool
) -> int:
    sent = [_send(home, path, mark, name) for path, name in drops]
    for one in sent:
        _tell_problems(one.dropped.name, one.problems)
        if not as_json:
            say(f"Dropped {one.dropped.name} into {home.inbox}.")
    sent = _accepted(home, sent)
    if and_wait:
        return wait_and_tell(home, [one.search for one in sent], None, as_json)
    if as_json:
        print_json(one_or_all([_document(home, one) for one in sent]))
    else:
        _tell_runs(sent)
    rejected = any(one.run and one.run.outcome is Outcome.REJECTED for one in sent)
    return Code.REJECTED if rejected else Code.FINE


def _send(home: HomePaths, path: Path, mark: ReadyMark, name: str | None) -> _Sent:
    dropped = drop(home, path, mark, name)
    problems = () if dropped.kind is DropKind.TASK else read_from(path).problems
    return _Sent(dropped=dropped, problems=problems, search=accepted(home, dropped))


def _accepted(home: HomePaths, sent: list[_Sent]) -> list[_Sent]:
    """The drops with their runs, as far as those appear within a few seconds, where somebody is there to make them."""
    deadline = time.monotonic() + (ACCEPTED_WITHIN_S if Watchers(home).living() else 0.0)
    while True:
        names = [one.search() for one in sent]
        if all(names) or time.monotonic() >= deadline:
            return [_with_run(home, one, name) for one, name in zip(sent, names, strict=True)]
        time.sleep(POLL_S / 4)


def _with_run(home: HomePaths, one: _Sent, name: str | None) -> _Sent:
    run = read(home, name) if name else None
    return _Sent(dropped=one.dropped, problems=one.problems, search=one.search, run=run)


def _document(home: HomePaths, one: _Sent) -> dict[str, Any]:
    folder = home.run(one.run.run) if one.run else None
    return {
        "name": one.dropped.name,
        "key": one.dropped.key,
        "drop_sha256": one.dropped.sha256,
        "problems": one.problems,
        "run": one.run.run if one.run else None,
        "run_dir": folder.root if folder else None,
        "finish_flag": folder.root / FLAG if folder else None,
    }


def _tell_runs(sent: list[_Sent]) -> None:
    for one in sent:
        if one.run:
            say(where(one.run))
    if not all(one.run for one in sent):
        warn("It is not a run yet: 'ajet-inbox status' tells when, and whether a watcher lives.")


# ---- checking -----------------------------------------------------------------------------------------------------


@click.command(cls=Command)
@click.argument("file", metavar="FILE...", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@json_option
@pass_session
def check(session: Session, file: tuple[Path, ...], as_json: bool) -> int:
    """Say what would be run, and what is wrong with it.

    FILE may be a folder that holds a blueprint.md. The exit code is 1 where an error was found.
    """
    place = patient_place(_home(session))
    readings = [(path, read_from(path, place)) for path in file]
    documents = [
        {"file": path, "ok": not errors(r.problems), "blueprint": r.blueprint, "problems": r.problems}
        for path, r in readings
    ]
    if as_json:
        print_json(one_or_all(documents))
    elif len(readings) > 1:
        _tell_table(readings)
    else:
        ((path, reading),) = readings
        _tell_problems(str(path), reading.problems)
        say(f"{path}: {_verdict(reading)}")
        _tell_values(_as_run(reading.blueprint, place.settings))
    return Code.NO if any(errors(reading.problems) for _, reading in readings) else Code.FINE


def _home(session: Session) -> HomePaths | None:
    """The home whose settings count; a blueprint may be checked before there is one."""
    try:
        return session.home
    except NoHome:
        return None


def _verdict(reading: Reading) -> str:
    return "not ok" if errors(reading.problems) else "ok"


def _tell_table(readings: list[tuple[Path, Reading]]) -> None:
    """A row a problem, and one for each file without any."""
    rows: list[tuple[Cell, ...]] = []
    for path, reading in readings:
        rows.append((str(path), (_verdict(reading), _STYLES[_verdict(reading)]), "", "", ""))
        for p in reading.problems:
            line = str(p.line) if p.line else ""
            rows.append(("", (str(p.level), _STYLES[p.level]), line, p.code, f"{p.message} {p.hint}"))
    print_table(("FILE", "", "LINE", "CODE", "PROBLEM"), rows)


_STYLES = {"ok": "green", "not ok": "bold red", Level.ERROR: "red", Level.WARNING: "yellow", Level.INFO: "dim"}


def _tell_problems(file: str, problems: tuple[Problem, ...]) -> None:
    for problem in problems:
        line = f":{problem.line}" if problem.line else ""
        warn(one_line(f"{file}{line}: {problem.level}: {problem.message} {problem.hint}"))


def _as_run(blueprint: Blueprint, settings: Settings) -> Blueprint:
    """With the command that will be run: the watcher takes out what would end other experiments."""
    if blueprint.launch_command is None or settings.security.autokill is not Autokill.STRIP:
        return blueprint
    return structs.replace(blueprint, launch_command=strip_autokill(blueprint.launch_command)[0])


def _tell_values(blueprint: Struct) -> None:
    """What is given, a line a value; a command keeps its lines."""
    for field in blueprint.__struct_fields__:
        value = getattr(blueprint, field)
        if value not in (None, (), {}) and field != "lines":
            text = ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
            say(f"  {field}: " + text.replace("\n", "\n    "))
