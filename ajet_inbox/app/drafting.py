"""Drafts from what was found to files that stand: the same for the command `draft` and for dropped tasks."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec
from jinja2 import TemplateError
from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.app.client.reading import read_from
from ajet_inbox.app.gathering import Place as Judge
from ajet_inbox.app.placing import placed_run
from ajet_inbox.core import journal
from ajet_inbox.core.blueprint import Level, Problem
from ajet_inbox.core.drafting.asked import Asked
from ajet_inbox.core.drafting.config import MAX_BYTES
from ajet_inbox.core.drafting.draft import Base, Draft, Place, Wish, misread
from ajet_inbox.core.drafting.errors import DraftError
from ajet_inbox.core.drafting.make import drafts
from ajet_inbox.core.drafting.parent import Parent, read_result
from ajet_inbox.core.drafting.sweep import FILE, sweep_of
from ajet_inbox.core.drafting.tell import corrections
from ajet_inbox.core.lifecycle import InvalidTransition
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.reading.parse import read_blueprint
from ajet_inbox.core.reading.resolve import join
from ajet_inbox.core.run import Run, fold
from ajet_inbox.edge.drafts import render_blueprint
from ajet_inbox.edge.files import Unreadable, read_regular, write_atomic
from ajet_inbox.edge.journal import segments
from ajet_inbox.edge.workplace import find

_RESULT_BYTES = 8 << 20


class Page(Struct, frozen=True, kw_only=True):
    """A draft, the text of its blueprint, and where the trial log of its parent is."""

    draft: Draft
    text: str
    trial_log: str | None = None


class Written(Struct, frozen=True, kw_only=True):
    """A draft that stands, and what `check` says of it here and now."""

    draft: Draft
    problems: tuple[Problem, ...]


# ---- what it is made from -----------------------------------------------------------------------------------------


def base_from(path: Path) -> Base:
    """The yaml at `path` as a base.

    Raises:
        DraftError: it cannot be read.
    """
    data = read_regular(path.resolve(), MAX_BYTES)
    if isinstance(data, Unreadable):
        raise DraftError(f"The base cannot be read: {data.message}.", "Name another one with --yaml.")
    try:
        return Base(path=str(path.resolve()), text=data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DraftError(f"{path} is not text in UTF-8.", "Save it as UTF-8.") from error


def parent_from(home: HomePaths, name: str) -> tuple[Parent, Base | None]:
    """A finished run to go on from, and its yaml.

    Raises:
        DraftError: it is not finished, was no experiment, or its record cannot be read.
    """
    paths = home.run(name)
    run = _run(home, name)
    result = read_regular(paths.root / "result.json", _RESULT_BYTES)
    told = None if isinstance(result, Unreadable) else read_result(result)
    if run is None or not run.settled or told is None:
        raise DraftError(f"{name} is not finished, or its result cannot be read.", f"See 'ajet-inbox show {name}'.")
    blueprint = placed_run(run, paths)
    if blueprint.launch_command is None or blueprint.codebase_dir is None or blueprint.venv_exe is None:
        raise DraftError(f"The blueprint of {name} has nothing to go on from.", "Write a new one from a task.")
    parent = Parent(run=name, blueprint=blueprint, result=told, trial_log=str(paths.root / "trial_log.md"))
    return parent, base_from(Path(blueprint.yaml_path)) if blueprint.yaml_path else None


def _run(home: HomePaths, name: str) -> Run | None:
    try:
        return fold(name, journal.join(segments(home.run(name))))
    except (OSError, journal.Unreadable, InvalidTransition):
        return None


def surroundings(asked: Asked, folder: Path, environ: Mapping[str, str]) -> tuple[Asked, Place]:
    """What is found where the task says that its code is, else in `folder`; and the task with that as a whole path."""
    if asked.codebase_dir is None:
        return asked, find(folder, environ)
    code = os.path.expanduser(join(asked.codebase_dir, str(folder)))  # noqa: PTH111, Path raises for unknown users
    return replace(asked, codebase_dir=code), find(Path(code), environ)


# ---- pages and files ----------------------------------------------------------------------------------------------


def compose(asked: Asked, wish: Wish, place: Place, templates: Path | None) -> tuple[Page, ...]:
    """The drafts as pages, each of which reads back to what it means.

    Raises:
        DraftError: they cannot be made so, or one would not be read as it is meant.
    """
    return tuple(_page(draft, wish, templates) for draft in drafts(asked, wish, place))


def _page(draft: Draft, wish: Wish, templates: Path | None) -> Page:
    try:
        text = render_blueprint(draft, wish.language, templates)
    except TemplateError as error:
        raise DraftError(f"A template in {templates} is wrong: {error}.", "Correct or remove it.") from error
    if trouble := next(misread(draft, read_blueprint(text, name=draft.name)), None):
        raise DraftError(f"The blueprint would not be read as it is meant. {trouble}", "Choose a plainer path or name.")
    return Page(draft=draft, text=text, trial_log=wish.parent.trial_log if wish.parent else None)


def write(wish: Wish, pages: Sequence[Page]) -> None:
    """Write all drafts of a wish, or none.

    Raises:
        DraftError: something lies there already.
        OSError: they could not be written.
    """
    folder = Path(wish.folder)
    make_folder(folder)
    try:
        for page in pages:
            write_page(page)
        if wish.axes:
            sweep = msgspec.json.encode(sweep_of(wish, [page.draft for page in pages]))
            write_atomic(folder / FILE, msgspec.json.format(sweep, indent=2) + b"\n")
    except OSError:
        shutil.rmtree(folder, ignore_errors=True)
        raise


def make_folder(folder: Path) -> None:
    """Make the folder for drafts, which must be new.

    Raises:
        DraftError: something lies there already.
        OSError: it could not be made.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError as error:
        raise DraftError(f"{folder} is there already, and nothing is overwritten.", "Choose another --name.") from error


def write_page(page: Page) -> None:
    """Write one draft into its folder.

    Raises:
        OSError: it could not be written.
    """
    draft = page.draft
    Path(draft.folder).mkdir(exist_ok=True)
    if draft.yaml_path is not None and draft.config is not None:
        write_atomic(Path(draft.yaml_path), draft.config)
    write_atomic(Path(draft.blueprint_path), page.text)  # last: a folder with a blueprint in it is complete


def checked(draft: Draft, judge: Judge) -> Written:
    """What `check` says of a draft as it lies there. Takes some seconds where paths do not answer."""
    return Written(draft=draft, problems=read_from(Path(draft.folder), judge).problems)


def write_judged(page: Page, wish: Wish, judge: Judge, templates: Path | None) -> None:
    """Write one draft, with what `check` says of it in its todo list: nobody is there whom it could be told to.

    Raises:
        DraftError: with that it would not be read as it is meant.
        OSError: it could not be written.
    """
    write_page(page)
    found = [each for each in checked(page.draft, judge).problems if each.level is not Level.INFO]
    if found:
        todo = (*corrections(found, wish.language), *page.draft.todo)
        write_page(_page(replace(page.draft, todo=todo), wish, templates))
