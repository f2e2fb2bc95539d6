"""From the inbox to a run folder: whatever is cut short is gone on with, and nothing is lost."""

from __future__ import annotations

import errno
import shutil
from datetime import UTC, datetime
from pathlib import Path

import pytest
from msgspec.structs import replace

from ajet_inbox.app.identity import myself
from ajet_inbox.core import journal as entries
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.journal import decode
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge import intake, journal
from ajet_inbox.edge.intake import Arrival, Intake
from tests.cli_home import make_home

AT = datetime(2026, 1, 1, tzinfo=UTC)
LIMITS = (1 << 20, 1 << 20)
ME = myself()
DEAD = replace(ME, nonce="dead")


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return make_home(tmp_path / "home")


def drop_file(home: HomePaths, text: str = "# blueprint") -> Arrival:
    path = home.inbox / "a.md"
    path.write_text(text)
    seen = path.lstat()
    signature = (seen.st_ino, seen.st_size, seen.st_mtime_ns)
    return Arrival(name="a.md", kind=DropKind.FILE, submitted_at=AT, signature=signature)


def drop_folder(home: HomePaths) -> Arrival:
    (home.inbox / "a").mkdir()
    for name in ("blueprint.md", "one.yaml", "two.yaml"):
        (home.inbox / "a" / name).write_text(name)
    return Arrival(name="a", kind=DropKind.FOLDER, submitted_at=AT)


def claim(home: HomePaths, arrival: Arrival) -> Intake:
    claimed = intake.claim(home, DEAD, "d" * 12, arrival)
    assert claimed is not None
    return claimed


def adopt(home: HomePaths) -> Intake | None:
    [(name, owner)] = intake.abandoned(home)
    assert owner == DEAD
    return intake.adopt(home, name, ME)


def test_a_copy_that_was_cut_short_is_made_again(home: HomePaths) -> None:
    claimed = claim(home, drop_folder(home))
    (claimed.run / "drop").mkdir(parents=True)
    (claimed.run / "drop" / "one.yaml").write_text("hal")
    adopted = adopt(home)
    assert adopted is not None
    assert intake.secure(home, adopted, LIMITS).blueprint == b"blueprint.md"
    assert (adopted.run / "drop" / "one.yaml").read_text() == "one.yaml"


def test_a_removal_that_was_cut_short_costs_no_file(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    class Dies(Exception):
        pass

    def die_halfway(path: Path, **_: object) -> None:
        if path.name not in ("drop",) and path.exists():
            next(p for p in sorted(path.rglob("*")) if p.is_file()).unlink()
            raise Dies

    claimed = claim(home, drop_folder(home))
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "rmtree", die_halfway)
        with pytest.raises(Dies):
            intake.secure(home, claimed, LIMITS)
    adopted = adopt(home)
    assert adopted is not None
    content = intake.secure(home, adopted, LIMITS)
    assert (content.refused, content.blueprint) == (None, b"blueprint.md")
    assert {path.name for path in (adopted.run / "drop").iterdir()} == {"blueprint.md", "one.yaml", "two.yaml"}


def test_what_a_dead_watcher_wanted_to_say_of_a_run_is_not_said(home: HomePaths) -> None:
    """It was accepted by one that died before the run appeared; who goes on may have to reject it, as its own."""
    claimed = claim(home, drop_file(home))
    intake.secure(home, claimed, LIMITS)
    accepted = [entries.Accepted(at=AT), entries.Relinquished(at=AT)]
    journal.first_segment(claimed.run / "journal", DEAD, accepted, AT)
    adopted = adopt(home)
    assert adopted is not None
    journal.first_segment(adopted.run / "journal", ME, [], AT)
    name = intake.commit(home, adopted, "a")
    [first] = decode(home.run(name).segment(1).read_bytes())
    assert isinstance(first, entries.Claimed)
    assert first.owner == ME


def test_a_drop_that_was_still_being_written_goes_back(home: HomePaths) -> None:
    """The watcher died between its rename and its look at what it had got."""
    claimed = claim(home, drop_file(home, "# blue"))
    with (claimed.taken / "a.md").open("a") as file:
        file.write("print")
    assert adopt(home) is None
    assert (home.inbox / "a.md").read_text() == "# blueprint"
    assert intake.abandoned(home) == []


def test_a_name_too_long_for_a_mark_has_none(home: HomePaths) -> None:
    name = "a" * 252 + ".md"
    (home.inbox / name).write_text("# blueprint")
    taken = claim(home, Arrival(name=name, kind=DropKind.FILE, submitted_at=AT))
    assert intake.secure(home, taken, LIMITS).blueprint == b"# blueprint"


def test_a_drop_that_is_gone_leaves_nothing_behind(home: HomePaths) -> None:
    arrival = drop_file(home)
    (home.inbox / "a.md").unlink()
    assert intake.claim(home, ME, "d" * 12, arrival) is None
    assert list(home.intake.iterdir()) == []


def test_a_full_disk_leaves_the_drop_and_nothing_else(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    arrival = drop_file(home)
    with monkeypatch.context() as patch:
        patch.setattr(intake, "write_atomic", full)
        for _ in range(3):
            with pytest.raises(OSError, match="No space"):
                intake.claim(home, ME, "d" * 12, arrival)
    assert list(home.intake.iterdir()) == []
    assert intake.claim(home, ME, "d" * 12, arrival) is not None


def test_a_claim_that_moved_nothing_is_swept_away(home: HomePaths) -> None:
    claimed = claim(home, drop_file(home))
    (claimed.taken / "a.md").rename(home.inbox / "a.md")
    assert adopt(home) is None
    assert list(home.intake.iterdir()) == []


def test_an_intake_stands_until_its_run_does(home: HomePaths) -> None:
    claimed = claim(home, drop_file(home))
    intake.secure(home, claimed, LIMITS)
    assert intake.stands(home, claimed)
    intake.commit(home, claimed, "a")
    assert not intake.stands(home, claimed)
