"""Drafting a dropped task, from any point at which an earlier life may have ended."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ajet_inbox.app.task_drops import Drafter
from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.events import Drafted
from ajet_inbox.core.journal import Drop
from ajet_inbox.core.paths import HomePaths
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


def draft(home: HomePaths, *, is_dropped: bool = False, is_over: bool = False) -> Drafted:
    """What comes of it where drafts are submitted."""

    async def act() -> Drafted:
        drafter = Drafter(home, Settings(draft=Draft(auto_submit=True)), {})
        return await drafter.draft(RUN, is_over=lambda: is_over, is_dropped=lambda key: is_dropped)

    return asyncio.run(act())


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_it_is_drafted_and_dropped_once_whoever_asks_again(home: HomePaths) -> None:
    assert draft(home) == Drafted(run="lr", dropped_as="lr_draft")
    first = (home.inbox / "lr_draft" / "blueprint.md").stat()
    assert draft(home) == Drafted(run="lr", dropped_as="lr_draft")
    assert names(home.inbox) == ["lr_draft"]
    assert (home.inbox / "lr_draft" / "blueprint.md").stat() == first
    assert "key: draft-0123456789ab" in (home.inbox / "lr_draft" / ".ready").read_text()


def test_what_became_a_run_is_not_dropped_again(home: HomePaths) -> None:
    home.run("lr").draft.mkdir()
    assert draft(home, is_dropped=True) == Drafted(run="lr", dropped_as="lr_draft")
    assert names(home.inbox) == names(home.run("lr").draft) == []


def test_half_a_draft_is_made_anew(home: HomePaths) -> None:
    home.run("lr").draft.mkdir()
    (home.run("lr").draft / "half.yaml").touch()
    draft(home)
    assert names(home.run("lr").draft) == ["blueprint.md", "lr.yaml"]


def test_what_is_over_is_not_dropped(home: HomePaths) -> None:
    draft(home, is_over=True)
    assert names(home.inbox) == []


def test_a_draft_that_cannot_be_dropped_is_told_of_and_not_written_again(home: HomePaths) -> None:
    home.inbox.rmdir()
    trouble = draft(home).trouble
    assert trouble is not None
    assert (trouble.code, "could not be dropped" in trouble.text) == ("not_drafted", True)
