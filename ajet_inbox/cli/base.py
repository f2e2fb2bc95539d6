"""What all commands share: the home, `--json`, `--debug`, and being imported only when called."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from ajet_inbox.core.paths import HomePaths

# Each group of commands is a module of this package. The summaries are here, so that --help imports none of them.
GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "demo": (
        "Trying it out",
        {
            "demo": "Run three small experiments, to see how it works.",
        },
    ),
    "inbox": (
        "Dropping",
        {
            "submit": "Put blueprints into the inbox.",
            "check": "Say what would be run, and what is wrong with it.",
            "retry": "Drop what a run was dropped as once more, as a new run.",
        },
    ),
    "draft": (
        "Drafting",
        {
            "draft": "Write blueprints from a task description.",
        },
    ),
    "looking": (
        "Looking",
        {
            "status": "Show the runs, the queue and the watchers.",
            "show": "Tell all that is known about a run.",
            "peek": "Wait a little for a run to change, then say where it stands.",
            "logs": "Print the console of a run.",
            "attach": "Look at a running run in its tmux session.",
            "metrics": "Print the evaluations in a file.",
        },
    ),
    "control": (
        "Deciding",
        {
            "wait": "Wait until runs have ended; the exit code says how.",
            "cancel": "End runs, or take them out of the queue for good.",
            "lost": "Give up a run whose host will not come back.",
        },
    ),
    "queue": (
        "The queue",
        {
            "hold": "Keep queued runs from starting.",
            "release": "Let held runs start.",
            "prioritize": "Move a run in the queue.",
            "pause": "Keep all queued runs from starting, on every host.",
            "resume": "Let queued runs start again.",
            "slots": "List the slots of the living watchers.",
        },
    ),
    "setup": (
        "Setting up",
        {
            "init": "Make a home.",
            "watch": "Take drops and run them.",
            "doctor": "Check the home and this machine.",
            "render": "Write the pages and results of runs anew.",
        },
    ),
}
COMMANDS = {name: module for module, (_, names) in GROUPS.items() for name in names}


@dataclass
class Session:
    """What the options say that every command has."""

    home_given: str | None = None
    debug: bool = False

    @property
    def home(self) -> HomePaths:
        """The home that is meant.

        Raises:
            NoHome: there is none.
        """
        from ajet_inbox.app.home import find_home

        return find_home(self.home_given, os.environ, Path.cwd())


def _keep(attribute: str) -> Callable[[click.Context, click.Parameter, Any], None]:
    def keep(context: click.Context, _: click.Parameter, value: Any) -> None:
        if value:
            setattr(context.ensure_object(Session), attribute, value)

    return keep


def _common() -> list[click.Parameter]:
    """Accepted before and after a command's name: people put them in either place."""
    return [
        click.Option(
            ["--home"],
            metavar="DIR",
            expose_value=False,
            callback=_keep("home_given"),
            help="The home; else $AJET_INBOX_HOME, else the nearest one upward from here.",
        ),
        click.Option(
            ["--debug"], is_flag=True, expose_value=False, callback=_keep("debug"), help="Show tracebacks and details."
        ),
    ]


class Command(click.Command):
    """A command with the common options."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _common()


class LazyGroup(click.Group):
    """Knows its commands by name and summary, and imports the one that is called."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _common()

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in the order of --help."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(importlib.import_module(f"ajet_inbox.cli.{COMMANDS[cmd_name]}"), cmd_name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """As click's own, but a mistyped name is answered with the nearest one."""
        from difflib import get_close_matches

        if args and args[0] not in COMMANDS and (near := get_close_matches(args[0], COMMANDS, n=1)):
            ctx.fail(f"There is no command {args[0]!r}. Did you mean {near[0]}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The commands by group."""
        for title, summaries in GROUPS.values():
            with formatter.section(title):
                formatter.write_dl(list(summaries.items()))


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document, and nothing else.")
pass_session = click.make_pass_decorator(Session, ensure=True)
