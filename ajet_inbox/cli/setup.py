"""Homes: making, watching, checking and restoring them."""

from __future__ import annotations

from pathlib import Path

import click

from ajet_inbox.app.client.states import find, read_all
from ajet_inbox.app.errors import Code, UsageError, UserError
from ajet_inbox.cli.base import Command, Session, json_option, pass_session
from ajet_inbox.cli.output import one_line, print_json, say, warn
from ajet_inbox.core.journal import Unreadable, join
from ajet_inbox.core.lifecycle import InvalidTransition
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import fold
from ajet_inbox.core.settings import Settings
from ajet_inbox.core.settings.write import commented, rows
from ajet_inbox.edge import neutral
from ajet_inbox.edge.files import create_exclusive
from ajet_inbox.edge.journal import segments
from ajet_inbox.edge.settings import load


@click.command(cls=Command)
@click.argument("folder", metavar="[DIR]", default=".", type=click.Path(file_okay=False, path_type=Path))
@json_option
def init(folder: Path, as_json: bool) -> None:
    """Make a home.

    DIR, or the folder you are in, gets an inbox, an outbox and a commented ajet-inbox.yaml. What is there stays.
    """
    home = HomePaths(folder.resolve())
    for box in (home.inbox, home.outbox):
        box.mkdir(parents=True, exist_ok=True)
    is_new = create_exclusive(home.config, commented())
    if as_json:
        print_json({"home": home.root, "inbox": home.inbox, "outbox": home.outbox, "settings_written": is_new})
        return
    say(f"{home.root} is a home. Its settings are in {home.config}{'' if is_new else ', which was there already'}.")
    say(f"Next: 'ajet-inbox --home {home.root} watch' in one terminal, and drop a blueprint into {home.inbox}.")


@click.command(cls=Command)
@click.option("--drain", is_flag=True, help="End when no drop waits and every run but held ones is finished.")
@click.option("--once", is_flag=True, help="Take what is in the inbox now, run it, and end.")
@pass_session
def watch(session: Session, drain: bool, once: bool) -> None:
    """Take drops and run them.

    Ending it, by Ctrl-C or any other way, never touches an experiment: the next watcher goes on where it stopped.
    """
    home = session.home
    load(home.config)  # a mistake in it is told here, by the process that the caller sees
    flags = [name for name, given in (("drain", drain), ("once", once), ("debug", session.debug)) if given]
    try:
        neutral.reexec(neutral.runtime_dir(home.root), "ajet-watch", "ajet_inbox.app", [str(home.root), *flags])
    except neutral.UnsafeFolderError as error:
        raise UserError(f"{error}.", "Then start the watcher again.") from error


@click.command(cls=Command)
@json_option
@pass_session
def doctor(session: Session, as_json: bool) -> int:
    """Check the home and this machine.

    It prints a line for each check, and the settings that are not the defaults; all of them with --json. The exit code
    is 1 where a check is bad.
    """
    from ajet_inbox.app.doctor import examine_home

    home = session.home
    found = examine_home(home)
    settings = _values(found.settings) if found.settings else None
    if as_json:
        print_json({"home": home.root, "ok": found.is_well, "checks": found.findings, "settings": settings})
    else:
        for key, value in sorted((settings or {}).items() - _values(Settings()).items()):
            say(one_line(f"set {key}: {value}"))
        for finding in found.findings:
            say(one_line(f"{finding.health:<4} {finding.check}: {finding.text}"))
    return Code.FINE if found.is_well else Code.NO


def _values(settings: Settings) -> dict[str, str]:
    return {row.key: row.value for row in rows(settings) if row.value}


@click.command(cls=Command)
@click.argument("run", required=False)
@click.option("--all", "every", is_flag=True, help="Those of every run.")
@json_option
@pass_session
def render(session: Session, run: str | None, every: bool, as_json: bool) -> int:
    """Write the pages and results of runs anew.

    They are made from the journal and what lies in the run folder; exp_result_dir is not touched.
    """
    if every == bool(run):
        raise UsageError("Name one run, or say --all.")
    home = session.home
    settings = load(home.config)
    names = [state.run for state in read_all(home).states] if run is None else [find(home, run).run]
    results = [{"run": name, "error": _render(home, name, settings)} for name in names]
    if as_json:
        print_json(results)
    else:
        for result in results:
            (warn if result["error"] else say)(f"{result['run']}: {result['error'] or 'written'}")
    return Code.NO if any(result["error"] for result in results) else Code.FINE


def _render(home: HomePaths, name: str, settings: Settings) -> str | None:
    """What went wrong with one run, which does not stop the others."""
    from ajet_inbox.app.publish import render_again

    try:
        entries = join(segments(home.run(name)))
        run = fold(name, entries)
        if run is None:
            return "its journal is empty."
        render_again(home, run, entries, settings)
    except OSError as error:
        return f"it could not be written: {error.strerror or error}."
    except (Unreadable, InvalidTransition) as error:
        return f"its journal cannot be read: {error}."
    return None
