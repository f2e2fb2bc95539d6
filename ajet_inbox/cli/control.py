"""Runs under way: waiting for them, and ending them."""

from __future__ import annotations

import sys

import click

from ajet_inbox.app.client.asking import ask
from ajet_inbox.app.client.states import RunState, find, is_running, read
from ajet_inbox.app.client.waiting import Finder, Waited, by_key, by_name
from ajet_inbox.app.client.waiting import wait as wait_for
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.errors import Code, UsageError, UserError
from ajet_inbox.cli.answers import OUTCOME_CODES, tell_answers, where
from ajet_inbox.cli.base import Command, Session, json_option, pass_session
from ajet_inbox.cli.output import one_or_all, print_json, say, warn
from ajet_inbox.core.events import Ask
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import HomePaths


@click.command(cls=Command)
@click.argument("run", nargs=-1)
@click.option("--key", multiple=True, help="Wait for the run with this key, which need not exist yet.")
@click.option("--timeout", type=click.FloatRange(min=0), metavar="SECONDS", help="Give up after this time (exit 124).")
@json_option
@pass_session
def wait(session: Session, run: tuple[str, ...], key: tuple[str, ...], timeout: float | None, as_json: bool) -> int:
    """Wait until runs have ended; the exit code says how.

    0 succeeded, plateaued or timed_out; 1 failed; 3 rejected; 4 cancelled; 5 lost. Of several the highest.
    """
    if not run and not key:
        raise UsageError("There is nothing to wait for.", "Name a run, or a key with --key.")
    home = session.home
    finders = [by_name(home, name) for name in dict.fromkeys(run)] + [by_key(home, k) for k in dict.fromkeys(key)]
    return wait_and_tell(home, finders, timeout, as_json)


def wait_and_tell(home: HomePaths, finders: list[Finder], timeout_s: float | None, as_json: bool) -> int:
    """Wait for runs and print how each ended, as it ends; the exit code for all of them."""
    waited = wait_for(
        home,
        finders,
        timeout_s=timeout_s,
        on_end=lambda state: None if as_json else say(where(state)),
        on_no_watcher=lambda: warn("No watcher lives here: waiting all the same. Start one with 'ajet-inbox watch'."),
    )
    unfinished = _unfinished(home, waited)
    if as_json:
        print_json(one_or_all([*waited.ended, *unfinished]))
    codes = [OUTCOME_CODES[state.outcome] for state in waited.ended if state.outcome]
    if waited.left:
        warn(f"Time is over: {len(waited.left)} of {len(finders)} have not ended.")
        codes.append(Code.TIMEOUT)
    return max(codes)


def _unfinished(home: HomePaths, waited: Waited) -> list[RunState | None]:
    """Where the others stand; None for one that does not exist yet."""
    names = [finder() for finder in waited.left]
    return [read(home, name) if name else None for name in names]


@click.command(cls=Command)
@click.argument("run", nargs=-1, required=True)
@click.option("--reason", default="", help="Why; needed where a run is running.")
@json_option
@pass_session
def cancel(session: Session, run: tuple[str, ...], reason: str, as_json: bool) -> int:
    """End runs, or take them out of the queue for good."""
    home = session.home
    running = [state for state in (find(home, name) for name in run) if is_running(state)]
    if running and not reason:
        _confirm(running)
    return tell_answers(ask(home, run, Ask.CANCEL, reason=reason), as_json)


def _confirm(running: list[RunState]) -> None:
    """A slip of the hand must not end nine hours of training.

    Raises:
        UsageError: nobody is there to say yes.
        UserError: the answer is no.
    """
    names = ", ".join(state.run for state in running)
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise UsageError(f"{names} would be ended while running.", "Say why with --reason.")
    if not click.confirm(f"End {names} while running?", err=True):
        raise UserError("Nothing was cancelled.")


@click.command(cls=Command)
@click.argument("run")
@click.option("--reason", default="", help="Why it is given up.")
@json_option
@pass_session
def lost(session: Session, run: str, reason: str, as_json: bool) -> int:
    """Give up a run whose host will not come back.

    It gets its finish.flag, with the outcome lost; nothing is claimed about how it ended.
    """
    home = session.home
    state = find(home, run)
    unheard = state.state is State.UNREACHABLE or state.host not in Watchers(home).living()
    if is_running(state) and not unheard:
        # It would go on running while its GPUs count as free.
        raise UserError(f"{run} is {state.state} and its host shows life.", f"'ajet-inbox cancel {run}' ends it.")
    return tell_answers(ask(home, [run], Ask.LOST, reason=reason), as_json)
