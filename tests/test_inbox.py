"""What of the inbox is complete, with real files, real copies and renames, and a clock of our own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from ajet_inbox.core.drops import DropKind
from ajet_inbox.edge import files
from ajet_inbox.edge.files import Unreadable, Why, fingerprint
from ajet_inbox.edge.inbox import Complete, Scan
from tests.inbox_watch import SETTLE_S, Watch


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return Watch(folder)


# ---- settling -----------------------------------------------------------------------------------------------------


def test_two_looks_that_see_the_same(watch: Watch) -> None:
    (watch.folder / "a.md").write_text("plan")
    first = watch.scan()
    assert [(s.name, s.kind) for s in first.settling] == [("a.md", DropKind.FILE)]
    assert first.next_look_s == SETTLE_S
    assert watch.scan(after=1.0).next_look_s == SETTLE_S - 1.0
    assert watch.taken(after=1.9) == []
    assert watch.taken(after=0.1) == [("a.md", Complete.SETTLED)]
    assert watch.scan(after=9.0).next_look_s is None


def test_a_slow_write_is_waited_for(watch: Watch) -> None:
    with (watch.folder / "a.md").open("w") as file:
        for number in range(5):
            file.write(f"line {number}\n")
            file.flush()
            assert watch.taken(after=2.0) == []
    assert watch.taken(after=2.9) == []
    assert watch.taken(after=0.1) == [("a.md", Complete.SETTLED)]


def rewrite(path: Path) -> None:
    """Other content, with the same size, inode and time."""
    status = path.stat()
    path.write_text("PLAN")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace(path: Path) -> None:
    """Another inode, with the same content, size and time."""
    status = path.stat()
    twin = path.parent.parent / "twin"
    twin.write_text("plan")
    os.utime(twin, ns=(status.st_atime_ns, status.st_mtime_ns))
    twin.replace(path)


@pytest.mark.parametrize("change", [rewrite, replace, lambda path: os.utime(path, ns=(1, 1)), Path.touch])
def test_any_change_starts_the_wait_anew(watch: Watch, change: Callable[[Path], None]) -> None:
    (watch.folder / "a.md").write_text("plan")
    os.utime(watch.folder / "a.md", ns=(1, 10**18))
    watch.scan()
    change(watch.folder / "a.md")
    assert watch.taken(after=3.0) == []
    assert watch.taken(after=3.0) == [("a.md", Complete.SETTLED)]


def test_a_settled_drop_that_changes_is_not_complete_any_more(watch: Watch) -> None:
    (watch.folder / "a.md").write_text("plan")
    watch.scan()
    assert watch.only(after=3.0).why is Complete.SETTLED
    (watch.folder / "a.md").write_text("another")
    assert watch.taken() == []
    assert watch.only(after=3.0).signature.size == 7


def test_times_from_the_future_and_the_past_mean_nothing(watch: Watch) -> None:
    for name, when in (("future.md", 4e9), ("past.md", 0.0)):
        (watch.folder / name).write_text("plan")
        os.utime(watch.folder / name, (when, when))
    assert watch.taken() == []
    assert len(watch.taken(after=3.0)) == 2


def test_the_wait_begins_when_the_first_look_is_over(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow_look(path: Path, limit: int) -> str | Unreadable:
        watch.now += 2.0
        return fingerprint(path, limit)

    monkeypatch.setattr(files, "fingerprint", slow_look)
    (watch.folder / "a.md").write_text("plan")
    assert watch.taken() == []
    assert watch.taken(after=2.9) == []
    assert watch.taken(after=0.1) == [("a.md", Complete.SETTLED)]


def test_what_has_settled_is_not_read_again(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[Path] = []

    def counted_look(path: Path, limit: int) -> str | Unreadable:
        looks.append(path)
        return fingerprint(path, limit)

    monkeypatch.setattr(files, "fingerprint", counted_look)
    (watch.folder / "a.md").write_text("plan")
    (watch.folder / "exp").mkdir()
    (watch.folder / "exp" / "blueprint.md").write_text("plan")
    for after in (0.0, 1.0, 2.0, 3.0, 3.0):
        watch.scan(after)
    assert len(watch.taken()) == 2
    assert len(looks) == 4


def test_a_filesystem_that_fails_decides_nothing(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    (watch.folder / "a.md").write_text("plan")
    with monkeypatch.context() as patch:
        broken = Unreadable(why=Why.FAILED, message="a.md could not be read: Input/output error")
        patch.setattr(files, "fingerprint", lambda path, limit: broken)
        assert [watch.taken(after=3.0) for _ in range(3)] == [[], [], []]
    assert watch.taken(after=3.0) == []
    assert watch.taken(after=3.0) == [("a.md", Complete.SETTLED)]


def test_a_drop_that_went_and_came_waits_anew(watch: Watch) -> None:
    (watch.folder / "a.md").write_text("plan")
    watch.scan()
    (watch.folder / "a.md").rename(watch.folder.parent / "a.md")
    assert watch.scan(after=1.0) == Scan()
    (watch.folder.parent / "a.md").rename(watch.folder / "a.md")
    assert watch.taken(after=2.0) == []
    assert watch.taken(after=3.0) == [("a.md", Complete.SETTLED)]


def test_a_folder_being_filled(watch: Watch) -> None:
    folder = watch.folder / "exp"
    (folder / "deep" / "er").mkdir(parents=True)
    assert watch.scan() == Scan()
    (folder / "blueprint.md").write_text("plan")
    assert [s.kind for s in watch.scan(after=1.0).settling] == [DropKind.FOLDER]
    (folder / "deep" / "er" / "a.yaml").write_text("x")
    assert watch.taken(after=3.0) == []
    with (folder / "deep" / "er" / "a.yaml").open("a") as file:
        file.write("y")
    assert watch.taken(after=3.0) == []
    drop = watch.only(after=3.0)
    assert (drop.name, drop.kind, drop.why, drop.refused) == ("exp", DropKind.FOLDER, Complete.SETTLED, None)


def test_order_of_arrival_then_natural(watch: Watch) -> None:
    (watch.folder / "z.md").write_text("first")
    watch.scan()
    for name in ("run10.md", "run9.md", "a.task.md"):
        (watch.folder / name).write_text("later")
    watch.scan(after=3.0)
    scan = watch.scan(after=3.0)
    assert [drop.name for drop in scan.complete] == ["z.md", "a.task.md", "run9.md", "run10.md"]
    assert [drop.kind for drop in scan.complete][1] is DropKind.TASK


# ---- marks --------------------------------------------------------------------------------------------------------


def test_a_mark_written_before(watch: Watch) -> None:
    (watch.folder / "a.md.ready").write_text("priority: 1")
    assert watch.scan(after=99.0) == Scan()
    (watch.folder / "a.md").write_text("plan")
    drop = watch.only()
    assert (drop.name, drop.why, drop.marks) == ("a.md", Complete.READY, ("a.md.ready",))


def test_a_mark_written_after(watch: Watch) -> None:
    (watch.folder / "a.task.md").write_text("plan")
    assert watch.taken() == []
    (watch.folder / "a.task.md.ready").touch()
    assert watch.only().marks == ("a.task.md.ready",)


def test_a_folder_s_mark(watch: Watch) -> None:
    (watch.folder / "exp").mkdir()
    (watch.folder / "exp" / ".ready").touch()
    assert watch.scan() == Scan()
    (watch.folder / "exp" / "blueprint.md").write_text("plan")
    assert watch.only().marks == ("exp/.ready",)


def test_a_folder_s_time_tells_nothing(watch: Watch) -> None:
    """Two changes within a tick of the kernel's clock leave the same time."""
    folder = watch.folder / "exp"
    folder.mkdir()
    (folder / "blueprint.md").write_text("plan")
    os.utime(folder, ns=(0, 0))
    assert watch.taken() == []
    (folder / ".ready").touch()
    os.utime(folder, ns=(0, 0))
    assert watch.taken() == [("exp", Complete.READY)]


# ---- how people and programs write --------------------------------------------------------------------------------


def test_cp_and_rsync_and_editors(watch: Watch) -> None:
    source = watch.folder.parent / "plan.md"
    source.write_text("plan")
    subprocess.run(["cp", source, watch.folder / "cp.md"], check=True)
    (watch.folder / ".rsync.md.X7fQ2a").write_text("pl")
    (watch.folder / "#emacs.md#").write_text("pl")
    (watch.folder / "4913").touch()
    (watch.folder / ".vim.md.swp").write_text("pl")
    (watch.folder / "vim.md").write_text("plan")
    assert watch.taken() == []
    (watch.folder / ".rsync.md.X7fQ2a").rename(watch.folder / "rsync.md")
    (watch.folder / "4913").unlink()
    assert watch.taken(after=3.0) == [("cp.md", Complete.SETTLED), ("vim.md", Complete.SETTLED)]
    scan = watch.scan(after=3.0)
    assert [drop.name for drop in scan.complete] == ["cp.md", "vim.md", "rsync.md"]
    assert scan.strangers == ()


@pytest.mark.parametrize(
    "name",
    [
        "two\nlines.md",
        "n" * 252 + ".md",
        "مرحبا.md",
        "\u202egnp.md",
        "实验 一.md",
        "$(reboot).md",
        "-rf.md",
        "a\tb'\".md",
    ],
)
def test_odd_names_are_drops(watch: Watch, name: str) -> None:
    (watch.folder / name).write_text("plan")
    watch.scan()
    assert watch.taken(after=3.0) == [(name, Complete.SETTLED)]


def test_a_name_that_is_not_utf8_is_a_stranger(watch: Watch) -> None:
    Path(os.fsdecode(os.fsencode(watch.folder) + b"/bad\xff.md")).write_text("plan")
    folder = Path(os.fsdecode(os.fsencode(watch.folder) + b"/dir\xfe"))
    folder.mkdir()
    (folder / "blueprint.md").write_text("plan")
    watch.scan()
    assert set(watch.scan(after=3.0).strangers) == {r"bad\udcff.md", r"dir\udcfe"}


def test_strangers_are_named_once_and_late(watch: Watch) -> None:
    (watch.folder / "notes.txt").write_text("x")
    (watch.folder / "half").mkdir()
    (watch.folder / "link").symlink_to("/etc")
    os.mkfifo(watch.folder / "fifo")
    assert watch.scan() == Scan()
    scan = watch.scan(after=3.0)
    assert scan.strangers == scan.new_strangers == ("fifo", "half", "link", "notes.txt")
    again = watch.scan()
    assert (again.strangers, again.new_strangers) == (scan.strangers, ())
    (watch.folder / "half" / "blueprint.md").write_text("plan")
    scan = watch.scan()
    assert scan.strangers == ("fifo", "link", "notes.txt")
    assert [s.name for s in scan.settling] == ["half"]


# ---- what is rejected unread --------------------------------------------------------------------------------------


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), Why.SYMLINK),
        (lambda path: path.symlink_to("nowhere"), Why.SYMLINK),
        (os.mkfifo, Why.FIFO),
        (make_socket, Why.SOCKET),
        (lambda path: path.write_text("x" * 1001), Why.TOO_LARGE),
    ],
)
def test_refused_at_once(
    watch: Watch, make: Callable[[Path], object], reason: Why, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(watch.folder)  # a socket's path has to be short
    make(watch.folder / "a.md")
    drop = watch.only()
    assert drop.why is Complete.REFUSED
    assert drop.refused
    assert drop.refused.why is reason
    assert "a.md" in drop.refused.message


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda folder: (folder / "x").symlink_to("/etc"), Why.SYMLINK),
        (lambda folder: os.mkfifo(folder / "x"), Why.FIFO),
        (lambda folder: (folder / "x").write_text("x" * 3000), Why.TOO_LARGE),
        (lambda folder: (folder / "/".join("d" * 40)).mkdir(parents=True), Why.TOO_LARGE),
    ],
)
def test_a_folder_is_refused_when_settled(watch: Watch, make: Callable[[Path], object], reason: Why) -> None:
    (watch.folder / "exp").mkdir()
    (watch.folder / "exp" / "blueprint.md").write_text("plan")
    make(watch.folder / "exp")
    assert watch.taken() == []
    drop = watch.only(after=3.0)
    assert drop.why is Complete.SETTLED
    assert drop.refused
    assert drop.refused.why is reason


# ---- an inbox that comes and goes ---------------------------------------------------------------------------------


def test_a_missing_inbox_is_told(watch: Watch) -> None:
    (watch.folder / "a.md").write_text("plan")
    watch.scan()
    watch.folder.rename(watch.folder.parent / "away")
    gone = watch.scan(after=1.0)
    assert gone.missing
    assert gone.missing.why is Why.MISSING
    (watch.folder.parent / "away").rename(watch.folder)
    assert watch.taken(after=2.0) == [("a.md", Complete.SETTLED)]
    shutil.rmtree(watch.folder)
    watch.folder.write_text("a file")
    assert watch.scan().missing
    watch.folder.unlink()
    watch.folder.mkdir()
    assert watch.scan() == Scan()


def test_a_replaced_inbox_is_looked_at_anew(watch: Watch) -> None:
    (watch.folder / "a.md").write_text("plan")
    watch.scan()
    watch.folder.rename(watch.folder.parent / "away")
    watch.folder.mkdir()
    (watch.folder / "a.md").write_text("plan")
    assert watch.taken(after=3.0) == []
    assert watch.taken(after=3.0) == [("a.md", Complete.SETTLED)]
