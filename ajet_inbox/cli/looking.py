"""Looking at runs, as they are and as they go on. Nothing here changes anything."""

from __future__ import annotations

import contextlib
import os
import shlex
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import click
import msgspec

from ajet_inbox.app.client.console import follow_console, last_lines, read_console
from ajet_inbox.app.client.overview import overview
from ajet_inbox.app.client.states import RunState, find
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.errors import Code, UsageError, UserError
from ajet_inbox.app.identity import host_name
from ajet_inbox.cli.advice import advice
from ajet_inbox.cli.base import Command, Session, json_option, pass_session
from ajet_inbox.cli.output import harmless, print_json, say, say_cut, say_wrapped
from ajet_inbox.cli.story import (
    facts,
    files,
    has_changed,
    is_over,
    problem_lines,
    problems,
    step_lines,
    steps,
)
from ajet_inbox.core import journal
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.training.metrics import read_metrics
from ajet_inbox.edge.files import Unreadable, tail_from
from ajet_inbox.edge.journal import segments

_REFRESH_S = 1.0
_PEEK_POLL_S = 0.2
_PEEK_LINES = 50
_LONGEST_LINE = 200
_LAST_STEPS = 20
_INDENT = 10  # as wide as the names of facts
_METRICS_BYTES = 64 << 20


@click.command(cls=Command)
@click.option("--watch", "is_live", is_flag=True, help="Show it anew every second, until Ctrl-C.")
@click.option("--all", "every", is_flag=True, help="Show all finished runs, not only the last ten.")
@json_option
@pass_session
def status(session: Session, is_live: bool, every: bool, as_json: bool) -> None:
    """Show the runs, the queue and the watchers."""
    home, watchers = session.home, Watchers(session.home)
    if is_live and (as_json or not sys.stdout.isatty()):
        raise UsageError("--watch needs a terminal.", "Without it, 'ajet-inbox status --json' can be called again.")
    from ajet_inbox.cli.status import status_document, status_view
    from ajet_inbox.cli.tables import print_rich, width

    if is_live:
        _watch_status(home, watchers, every=every)
    elif as_json:
        print_json(status_document(overview(home, watchers)))
    else:
        print_rich(status_view(overview(home, watchers), width(), wraps=sys.stdout.isatty(), every=every))


def _watch_status(home: HomePaths, watchers: Watchers, *, every: bool) -> None:
    from rich.live import Live

    from ajet_inbox.cli.status import status_view
    from ajet_inbox.cli.tables import width

    with Live(auto_refresh=False, screen=True) as live:
        while True:
            live.update(status_view(overview(home, watchers), width(), wraps=True, every=every), refresh=True)
            time.sleep(_REFRESH_S)


@click.command(cls=Command)
@click.argument("run")
@json_option
@pass_session
def show(session: Session, run: str, as_json: bool) -> None:
    """Tell all that is known about a run."""
    home = session.home
    state, places, entries = find(home, run), files(home, run), _entries(home, run)
    story, found = steps(entries), problems(entries)
    if as_json:
        print_json({**msgspec.to_builtins(state), "problems": found, "files": places, "journal": story})
        return
    for line in (*facts(state), *problem_lines(found), *_pointers(home, state, places)):
        say_wrapped(line, _INDENT)
    for line in step_lines(story, _LAST_STEPS):
        say_wrapped(line, _INDENT)


def _pointers(home: HomePaths, state: RunState, places: dict[str, str]) -> Iterator[str]:
    """Where to go from here."""
    yield f"folder    {home.run(state.run).root}"
    yield f"files     {', '.join(places)}"
    if step := advice(state):
        yield f"next      {step}"


def _entries(home: HomePaths, run: str) -> tuple[journal.AnyEntry, ...]:
    try:
        return journal.join(segments(home.run(run)))
    except journal.Unreadable as error:
        raise UserError(f"The journal of {run} was written by another version.", str(error)) from error


@click.command(cls=Command)
@click.argument("run")
@click.option(
    "--after", type=click.FloatRange(min=0), default=0.0, metavar="SECONDS", help="Wait so long for a change."
)
@json_option
@pass_session
def peek(session: Session, run: str, after: float, as_json: bool) -> int:
    """Wait a little for a run to change, then say where it stands.

    It returns as soon as the state changes, with the last 50 console lines, of which long ones are cut. The exit code
    is 0 while the run goes on, 10 when it is finished.
    """
    home = session.home
    state = _changed(home, find(home, run), after)
    lines = last_lines(home.run(run), _PEEK_LINES)
    if as_json:
        print_json({**msgspec.to_builtins(state), "console": lines})
    else:
        for line in facts(state):
            say_wrapped(line, _INDENT)
        for line in lines:
            say_cut(line, _LONGEST_LINE)
    return Code.FINISHED if is_over(state) else Code.FINE


def _changed(home: HomePaths, before: RunState, after_s: float) -> RunState:
    deadline = time.monotonic() + after_s
    state = before
    while not is_over(state) and not has_changed(before, state) and (left := deadline - time.monotonic()) > 0:
        time.sleep(min(_PEEK_POLL_S, left))
        state = find(home, before.run)
    return state


@click.command(cls=Command)
@click.argument("run")
@click.option("-f", "--follow", is_flag=True, help="Go on as it grows, over all attempts, until the run has ended.")
@click.option("--attempt", type=click.IntRange(min=1), metavar="N", help="That of this attempt, not of the newest.")
@pass_session
def logs(session: Session, run: str, follow: bool, attempt: int | None) -> None:
    """Print the console of a run.

    On a terminal all but colours is taken out; through a pipe every byte is passed on.
    """
    from ajet_inbox.cli.terminal import Harmless

    home = session.home
    pieces = follow_console(home, run, attempt) if follow else read_console(home, run, attempt)
    if not sys.stdout.isatty():
        for piece in pieces:
            sys.stdout.buffer.write(piece)
            sys.stdout.buffer.flush()
        return
    text = Harmless()
    for piece in pieces:
        click.echo(text.feed(piece), nl=False)
    click.echo(text.end(), nl=False)


@click.command(cls=Command)
@click.argument("run")
@click.option("--write", is_flag=True, help="Let what you type reach the experiment.")
@pass_session
def attach(session: Session, run: str, write: bool) -> None:
    """Look at a running run in its tmux session.

    It is read-only unless --write. Leave it with Ctrl-b d. Without a terminal the command is printed.
    """
    state = find(session.home, run)
    if state.attach_command is None:
        raise UserError(f"{run} is {state.state}: it has no tmux session.", f"See 'ajet-inbox logs {run}'.")
    words = _attach_words(state.attach_command, write=write)
    if state.host not in (None, host_name()):
        say(f"It is on another host: ssh -t {shlex.quote(state.host or '')} {shlex.quote(_for_a_shell(words))}")
    elif sys.stdin.isatty() and sys.stdout.isatty():
        os.execvp(words[0], words)  # noqa: S606  (replaced by tmux, which wants the terminal for itself)
    else:
        say(_for_a_shell(words))


def _for_a_shell(words: list[str]) -> str:
    """As it is typed. An open `=` is quoted too, for zsh looks up a program at it."""
    quoted = map(shlex.quote, words)
    return " ".join(f"'{word}'" if word.startswith("=") else word for word in quoted)


def _attach_words(command: str, *, write: bool) -> list[str]:
    """The command to attach, read-only or not.

    Raises:
        UserError: it is not what we write: nothing else is executed.
    """
    with contextlib.suppress(ValueError):  # what no shell could read is not ours either
        match shlex.split(command):
            case ["env", "-u", "TMUX", "tmux", "-u", "-S", _, "attach-session", "-r", "-t", _] as words:
                return [word for word in words if word != "-r"] if write else words
    raise UserError("The command to attach is not one of ours, so it is not executed.", "Look into state.json.")


@click.command(cls=Command)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@json_option
def metrics(file: Path, as_json: bool) -> int:
    """Print the evaluations in a file.

    FILE is a validation file of any version, or a console log. The exit code is 1 where there are none.
    """
    found = read_metrics(_tail(file))
    if as_json:
        print_json(found.as_dict())
    else:
        from ajet_inbox.cli.tables import print_table

        names = list(dict.fromkeys(name for e in found.evals for name in e.as_dict()))
        rows = [[_shown(e.as_dict().get(name)) for name in names] for e in found.evals]
        if rows:
            print_table(names, rows)
        else:
            say(f"No evaluations in {file}.")
    return Code.FINE if found.evals else Code.NO


def _tail(file: Path) -> str:
    """The end of a file that may be of any size: the last run in it is what counts."""
    tail = tail_from(file, max(0, file.stat().st_size - _METRICS_BYTES), _METRICS_BYTES)
    if isinstance(tail, Unreadable):
        raise UserError(f"{tail.message}.")
    return tail.data.decode(errors="replace")


def _shown(value: object) -> str:
    if value is None:
        return "-"
    return f"{value:.4g}" if isinstance(value, float) else harmless(str(value))
