"""The queue: who waits, who goes first, and where runs go."""

from __future__ import annotations

import click

from ajet_inbox.app.client.asking import ask
from ajet_inbox.app.client.asking import pause as pause_queue
from ajet_inbox.app.client.asking import resume as resume_queue
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.errors import NoWatcher
from ajet_inbox.cli.answers import paused_since, tell_answers
from ajet_inbox.cli.base import Command, Session, json_option, pass_session
from ajet_inbox.cli.output import print_json, say
from ajet_inbox.core.events import Ask


@click.command(cls=Command)
@click.argument("run", nargs=-1, required=True)
@json_option
@pass_session
def hold(session: Session, run: tuple[str, ...], as_json: bool) -> int:
    """Keep queued runs from starting.

    They wait until 'ajet-inbox release'.
    """
    return tell_answers(ask(session.home, run, Ask.HOLD), as_json)


@click.command(cls=Command)
@click.argument("run", nargs=-1, required=True)
@json_option
@pass_session
def release(session: Session, run: tuple[str, ...], as_json: bool) -> int:
    """Let held runs start."""
    return tell_answers(ask(session.home, run, Ask.RELEASE), as_json)


@click.command(cls=Command, context_settings={"ignore_unknown_options": True})
@click.argument("run")
@click.argument("priority", metavar="N", type=int)
@json_option
@pass_session
def prioritize(session: Session, run: str, priority: int, as_json: bool) -> int:
    """Move a run in the queue.

    The run with the highest number goes first; it may be negative, and is 0 where nobody gave one.
    """
    return tell_answers(ask(session.home, [run], Ask.PRIORITIZE, priority=priority), as_json)


@click.command(cls=Command)
@json_option
@pass_session
def pause(session: Session, as_json: bool) -> None:
    """Keep all queued runs from starting, on every host.

    Running ones go on.
    """
    standing = pause_queue(session.home)
    if as_json:
        print_json({"paused": True, "by": standing.by, "at": standing.at})
    else:
        say(paused_since(standing))


@click.command(cls=Command)
@json_option
@pass_session
def resume(session: Session, as_json: bool) -> None:
    """Let queued runs start again."""
    was_paused = resume_queue(session.home)
    if as_json:
        print_json({"paused": False, "was_paused": was_paused})
    else:
        say("Queued runs start again." if was_paused else "The queue was not paused.")


@click.command(cls=Command)
@json_option
@pass_session
def slots(session: Session, as_json: bool) -> None:
    """List the slots of the living watchers."""
    signs = [watcher.sign for watcher in Watchers(session.home).look() if watcher.alive]
    if not signs:
        raise NoWatcher(
            "No watcher lives here, and only watchers know their slots.", "Start one with 'ajet-inbox watch'."
        )
    rows = [(sign.host, slot) for sign in signs for slot in sign.slots]
    if as_json:
        print_json([{"name": s.name, "host": host, "gpus": s.gpus, "run": s.run, "down": s.down} for host, s in rows])
        return
    from ajet_inbox.cli.tables import print_table

    print_table(
        ("SLOT", "HOST", "GPUS", "RUN"),
        [(s.name, host, str(len(s.gpus)), s.run or (f"down: {s.down}" if s.down else "free")) for host, s in rows],
    )
