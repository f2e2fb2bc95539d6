"""Blueprints written from task descriptions."""

from __future__ import annotations

import asyncio
import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
from msgspec import Struct

from ajet_inbox.app.client.dropping import Dropped, drop
from ajet_inbox.app.client.reading import patient_place
from ajet_inbox.app.client.states import find as find_run
from ajet_inbox.app.drafting import (
    Page,
    Written,
    base_from,
    checked,
    compose,
    make_folder,
    parent_from,
    surroundings,
    write,
)
from ajet_inbox.app.errors import NoHome, UsageError, UserError
from ajet_inbox.app.gathering import Place as Judge
from ajet_inbox.app.home import VARIABLE
from ajet_inbox.cli.base import Command, Session, json_option, pass_session
from ajet_inbox.cli.output import one_line, print_json, say, warn
from ajet_inbox.core.blueprint import errors
from ajet_inbox.core.drafting.asked import Asked, read_task
from ajet_inbox.core.drafting.draft import Base, Draft, Place, Wish
from ajet_inbox.core.drafting.errors import DraftError
from ajet_inbox.core.drafting.parent import Parent
from ajet_inbox.core.drafting.settings import read_axis, read_setting
from ajet_inbox.core.drafting.sweep import FILE
from ajet_inbox.core.drafting.text import headline, is_name, name_for
from ajet_inbox.core.drops import ReadyMark
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.reading.parse import decode
from ajet_inbox.core.reading.resolve import join
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge.files import Unreadable, move_aside, read_regular
from ajet_inbox.edge.neutral import UnsafeFolderError
from ajet_inbox.edge.settings import load

_TASK_BYTES = 1 << 20


class _Options(Struct, frozen=True, kw_only=True):
    """The command line as given."""

    task: tuple[str, ...]
    base: Path | None
    settings: tuple[str, ...]
    sweeps: tuple[str, ...]
    zipped: bool
    parent: str | None
    by_agent: bool
    submit: bool
    name: str | None
    out: Path
    asks: bool


@click.command(cls=Command)
@click.argument("task", nargs=-1)
@click.option("--yaml", "base", metavar="BASE", type=click.Path(exists=True, dir_okay=False, path_type=Path),
              help="The yaml that the draft's own is made from.")  # fmt: skip
@click.option("--set", "settings", metavar="KEY=VALUE", multiple=True,
              help="Set a key of the yaml; the end of its name will do.")  # fmt: skip
@click.option("--sweep", "sweeps", metavar="KEY=V1,V2,...", multiple=True,
              help="One draft for each value; several sweeps make a grid.")  # fmt: skip
@click.option("--zip", "zipped", is_flag=True, help="Sweeps change together: the first values, the second, and so on.")
@click.option("--from", "parent", metavar="RUN", help="Draft the next experiment after this finished run.")
@click.option("--agent", "by_agent", is_flag=True, help="Let the coding agent of the settings write it.")
@click.option("--drop", "submit", is_flag=True, help="Submit what was drafted.")
@click.option("--name", help="What the draft is called; else after the task.")
@click.option("--out", metavar="DIR", default=".", type=click.Path(file_okay=False, path_type=Path),
              help="Where its folder is made; the folder you are in, if not given.")  # fmt: skip
@json_option
@pass_session
def draft(session: Session, /, as_json: bool, **given: Any) -> None:
    """Write blueprints from a task description.

    TASK is a text, a file that holds one, or - for standard input. The draft is a folder with blueprint.md and its
    yaml. Nothing is overwritten. What 'check' says of it is told; with --agent it must pass.
    """
    asks = not as_json and sys.stdin.isatty() and sys.stdout.isatty()
    options = _Options(asks=asks, **given)
    try:
        _draft(session, options, as_json=as_json)
    except DraftError as error:
        raise UserError(str(error), error.advice) from error
    except UnsafeFolderError as error:
        raise UserError(f"{error}.", "Then draft again.") from error


def _draft(session: Session, options: _Options, *, as_json: bool) -> None:
    home = _home(session, needed=options.by_agent or options.submit or options.parent is not None)
    settings = load(home.config) if home else Settings()
    _refuse(options, settings)
    asked, wish, place = _wish(home, settings, options)
    templates = home.root / settings.templates_dir if home and settings.templates_dir else None
    pages = compose(asked, wish, place, templates)
    judge = patient_place(home)
    if options.by_agent and home:
        _write_by_agent(home, judge, pages[0], templates, options.out)
    else:
        write(wish, pages)
    written = [checked(page.draft, judge) for page in pages]
    dropped = [drop(home, Path(page.draft.folder), ReadyMark()) for page in pages] if home and options.submit else []
    if as_json:
        print_json(_document(wish, written, dropped))
    else:
        _tell(wish, written, dropped)


# ---- what is wished for -------------------------------------------------------------------------------------------


def _home(session: Session, *, needed: bool) -> HomePaths | None:
    """A draft can be written anywhere; only some of it needs a home."""
    try:
        return session.home
    except NoHome:
        if needed or session.home_given or os.environ.get(VARIABLE):
            raise
        return None


def _refuse(options: _Options, settings: Settings) -> None:
    if options.by_agent and options.sweeps:
        raise UsageError("A coding agent writes one draft, not a sweep.", "Leave out --agent or --sweep.")
    if options.zipped and not options.sweeps:
        raise UsageError("--zip is for sweeps.", "Add --sweep, or leave it out.")
    if options.by_agent and settings.draft.agent.command is None:
        raise UsageError("The settings name no coding agent.", "Set draft.agent.command in ajet-inbox.yaml.")
    if options.parent and options.base:
        raise UsageError("--from brings a yaml of its own.", "Leave out --yaml.")


def _wish(home: HomePaths | None, settings: Settings, options: _Options) -> tuple[Asked, Wish, Place]:
    asked, place = surroundings(read_task(_task(options)), Path.cwd(), os.environ)
    parent, base = _parent(home, options.parent)
    base = base or _base(options, asked, place)
    name = _name(options, asked)
    wish = Wish(
        name=name,
        folder=str(options.out.resolve() / name),
        language=settings.language,
        base=base,
        settings=tuple(map(read_setting, options.settings)),
        axes=tuple(map(read_axis, options.sweeps)),
        zipped=options.zipped,
        parent=parent,
    )
    return asked, wish, place


def _task(options: _Options) -> str:
    """The task's text, which may be missing only where a run says what to go on from."""
    text = " ".join(options.task)
    if len(options.task) == 1:
        text = _from_elsewhere(text)
    if not text.strip() and options.parent is None:
        if not options.asks:
            raise UsageError("There is no task.", "Say what the experiment is for, in a text or a file.")
        text = click.prompt("What is the experiment for?")
    return text


def _from_elsewhere(text: str) -> str:
    if text == "-":
        return decode(sys.stdin.buffer.read(_TASK_BYTES))[0]
    try:
        is_file = Path(text).is_file()
    except (OSError, ValueError):  # too long for a name, or with a zero byte: a text
        is_file = False
    if not is_file:
        return text
    data = read_regular(Path(text).resolve(), _TASK_BYTES)
    if isinstance(data, Unreadable):
        raise UserError(f"The task cannot be read: {data.message}.")
    return decode(data)[0]


def _parent(home: HomePaths | None, run: str | None) -> tuple[Parent | None, Base | None]:
    if run is None or home is None:
        return None, None
    return parent_from(home, find_run(home, run).run)


def _base(options: _Options, asked: Asked, place: Place) -> Base | None:
    """The yaml that is named, by option or task; on a terminal those that were found are offered."""
    if options.base:
        return base_from(options.base)
    if asked.yaml_path:
        return base_from(Path(join(asked.yaml_path, asked.codebase_dir or place.folder)))
    if options.parent or not options.asks or not place.yamls:
        return None
    for number, path in enumerate(place.yamls, 1):
        say(f"{number}: {path}")
    chosen = click.prompt("Which yaml is the base? 0 for none", type=click.IntRange(0, len(place.yamls)), default=1)
    return base_from(Path(place.yamls[chosen - 1])) if chosen else None


def _name(options: _Options, asked: Asked) -> str:
    default = name_for(headline(asked.text)) if asked.text.strip() else f"{str(options.parent)[:70]}_next"
    name = options.name
    if name is None:
        name = click.prompt("Its name", default=default) if options.asks else default
    if not is_name(name):
        raise UsageError(f"A draft cannot be called {name!r}.", "Use letters, digits, _ and -, at most 80.")
    return str(name)


# ---- the coding agent ---------------------------------------------------------------------------------------------


def _write_by_agent(home: HomePaths, judge: Judge, page: Page, templates: Path | None, out: Path) -> None:
    from ajet_inbox.app.coding_agent import Workshop, new_id, terminals, write_by_agent

    tmux, runtime = terminals(home.root)
    shop_id = new_id()
    shop = Workshop(
        id=shop_id,
        tmux=tmux,
        runtime=runtime,
        records=runtime / shop_id,
        judge=judge,
        environment=dict(os.environ),
        templates=templates,
        beside=(out.resolve(),),
    )
    folder = Path(page.draft.folder)
    make_folder(folder)
    warn("The coding agent is at work.")
    try:
        asyncio.run(write_by_agent(page, shop))
    except BaseException as error:  # Ctrl-C too: what was not finished must not look like a draft
        kept = move_aside(folder, "refused")
        if not isinstance(error, DraftError):
            raise
        raise DraftError(str(error), f"What it wrote is in {kept}, what it said in {shop.records}.") from error
    shutil.rmtree(shop.records, ignore_errors=True)


# ---- what is told -------------------------------------------------------------------------------------------------


def _document(wish: Wish, written: Sequence[Written], dropped: Sequence[Dropped]) -> dict[str, Any]:
    return {
        "name": wish.name,
        "folder": wish.folder,
        "sweep": f"{wish.folder}/{FILE}" if wish.axes else None,
        "drafts": [_told(each.draft, each) for each in written],
        "dropped": [{"name": each.name, "drop_sha256": each.sha256} for each in dropped],
    }


def _told(draft: Draft, written: Written) -> dict[str, Any]:
    return {
        "name": draft.name,
        "blueprint": draft.blueprint_path,
        "yaml": draft.yaml_path,
        "result_dir": draft.result_dir,
        "settings": {each.key: each.plain_value for each in draft.settings},
        "ok": not errors(written.problems),
        "problems": written.problems,
    }


def _tell(wish: Wish, written: Sequence[Written], dropped: Sequence[Dropped]) -> None:
    for each in written:
        for problem in each.problems:
            warn(one_line(f"{each.draft.name}: {problem.level}: {problem.message} {problem.hint}"))
        say(f"Drafted {each.draft.blueprint_path}.")
    for sent in dropped:
        say(f"Dropped {sent.name}.")
    if not dropped:
        first = "Correct what is wrong" if any(errors(each.problems) for each in written) else "Read it"
        say(
            f"{first}, then submit it: 'ajet-inbox submit "
            + (f"{wish.folder}/*/'." if wish.axes else f"{wish.folder}'.")
        )
