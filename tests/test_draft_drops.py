"""Drafting a dropped task, from any point at which an earlier life may have ended."""

from __future__ import annotations

import asyncio
import re
import shutil
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ajet_inbox.app.task_drops import Drafter
from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.events import Drafted
from ajet_inbox.core.journal import Drop
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.reading.parse import read_blueprint
from ajet_inbox.core.run import Run
from ajet_inbox.core.settings import Draft, Settings

AT = datetime(2026, 1, 1, tzinfo=UTC)
RUN = Run(
    name="lr",
    submitted_at=AT,
    drop=Drop(id="0123456789ab", name="lr.task.md", kind=DropKind.TASK),
    blueprint=Blueprint(),
)


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    home = HomePaths(tmp_path)
    home.inbox.mkdir()
    home.run("lr").drop.mkdir(parents=True)
    (home.run("lr").drop / "lr.task.md").write_text("Study the learning rate.")
    return home


def dropped(home: HomePaths) -> Drafted:
    """The draft stands, and was submitted."""
    return Drafted(run="lr", place=str(home.run("lr").draft), dropped_as="lr_draft")


def draft(home: HomePaths, *, is_dropped: bool = False, is_over: bool = False) -> Drafted:
    """What comes of it where drafts are submitted."""

    async def act() -> Drafted:
        drafter = Drafter(home, Settings(draft=Draft(auto_submit=True)), {})
        return await drafter.draft(RUN, is_over=lambda: is_over, is_dropped=lambda key: is_dropped)

    return asyncio.run(act())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_is_drafted_and_dropped_once_whoever_asks_again(home: HomePaths) -> None:
    assert draft(home) == dropped(home)
    first = (home.inbox / "lr_draft" / "blueprint.md").stat()
    assert draft(home) == dropped(home)
    assert names(home.inbox) == ["lr_draft"]
    assert (home.inbox / "lr_draft" / "blueprint.md").stat() == first
    assert "key: draft-0123456789ab" in (home.inbox / "lr_draft" / ".ready").read_text()


def test_what_became_a_run_is_not_dropped_again(home: HomePaths) -> None:
    home.run("lr").draft.mkdir()
    assert draft(home, is_dropped=True) == dropped(home)
    assert names(home.inbox) == names(home.run("lr").draft) == []


def test_half_a_draft_is_made_anew(home: HomePaths) -> None:
    home.run("lr").draft.mkdir()
    (home.run("lr").draft / "half.yaml").touch()
    draft(home)
    assert names(home.run("lr").draft) == ["blueprint.md", "lr.yaml"]


def test_the_interpreter_is_that_of_the_code(home: HomePaths) -> None:
    for place in (home.root, home.root / "code"):
        (place / "venv" / "bin").mkdir(parents=True)
        (place / "venv" / "bin" / "python").symlink_to(sys.executable)
    for written in (str(home.root / "code"), "./code"):
        (home.run("lr").drop / "lr.task.md").write_text(f"Study lr.\n[exp_codebase_dir]: {written}\n")
        draft(home)
        blueprint = read_blueprint((home.run("lr").draft / "blueprint.md").read_text()).blueprint
        assert blueprint.codebase_dir == str(home.root / "code")
        assert blueprint.venv_exe == str(home.root / "code" / "venv" / "bin" / "python")
        shutil.rmtree(home.inbox / "lr_draft")


def test_what_the_check_says_is_to_do(home: HomePaths) -> None:
    draft(home)
    text = (home.run("lr").draft / "blueprint.md").read_text()
    assert f"- [ ] The check says (error): {home.root}/venv/bin/python does not exist" in text
    assert text.count("The check says") == len(set(re.findall(r"The check says .*", text)))


def test_what_is_over_is_not_dropped(home: HomePaths) -> None:
    draft(home, is_over=True)
    assert names(home.inbox) == []


def test_a_draft_that_cannot_be_dropped_is_told_of_and_not_written_again(home: HomePaths) -> None:
    home.inbox.rmdir()
    trouble = draft(home).trouble
    assert trouble is not None
    assert (trouble.code, "could not be dropped" in trouble.text) == ("not_drafted", True)
