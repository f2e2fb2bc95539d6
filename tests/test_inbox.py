"""What of the inbox is complete, with real files, real copies and renames, and a clock of our own."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

import pytest

from ajet_inbox.core.drops import DropKind
from ajet_inbox.edge.files import Why
from ajet_inbox.edge.inbox import Complete, Drop, Inbox, Scan
from ajet_inbox.edge.inbox_events import InboxEvents
from ajet_inbox.edge.mounts import LOCAL_SETTLE_S, filesystem_of, settle_for

SETTLE_S = 3.0


class Watch:
    """An inbox with a clock that a test turns."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 100.0
        self.inbox = Inbox(folder, SETTLE_S, clock=lambda: self.now, file_limit=1000, folder_limit=3000)

    def scan(self, after: float = 0.0) -> Scan:
        self.now += after
        return self.inbox.scan()

    def taken(self, after: float = 0.0) -> list[tuple[str, Complete]]:
        return [(drop.name, drop.why) for drop in self.scan(after).complete]

    def only(self, after: float = 0.0) -> Drop:
        (drop,) = self.scan(after).complete
        return drop


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return Watch(folder)


def until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)


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


def test_the_wait_begins_when_the_first_look_is_over(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("plan")
    ticks = iter([0.0, 2.0, 4.0, 5.0, 6.0])  # the first look takes two seconds
    inbox = Inbox(tmp_path, SETTLE_S, clock=lambda: next(ticks))
    assert inbox.scan().complete == ()
    assert inbox.scan().complete == ()
    assert len(inbox.scan().complete) == 1


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


# ---- events -------------------------------------------------------------------------------------------------------


class Ears:
    """Events of an inbox, wired as the watcher does it."""

    def __init__(self, watch: Watch) -> None:
        self.woken = threading.Event()
        self.renamed: list[str] = []
        self._inbox = watch.inbox
        self.events = InboxEvents(watch.folder, self.woken.set, self._note)

    def _note(self, name: str) -> None:
        self._inbox.note_renamed_in(name)
        self.renamed.append(name)

    def hears(self, act: Callable[[], object]) -> bool:
        self.woken.clear()
        act()
        return self.woken.wait(10)

    def wait_for_quiet(self) -> None:
        until(lambda: not self.woken.wait(0.3) or self.woken.clear())


@pytest.fixture
def ears(watch: Watch) -> Iterator[Ears]:
    ears = Ears(watch)
    assert ears.events.check()
    yield ears
    ears.events.close()


def test_mv_into_the_inbox_is_complete_at_once(watch: Watch, ears: Ears) -> None:
    outside = watch.folder.parent / "a.md"
    outside.write_text("plan")
    assert ears.hears(lambda: subprocess.run(["mv", outside, watch.folder], check=True))
    assert watch.taken() == [("a.md", Complete.RENAMED)]
    folder = watch.folder.parent / "exp"
    folder.mkdir()
    (folder / "blueprint.md").write_text("plan")
    assert ears.hears(lambda: folder.rename(watch.folder / "exp"))
    assert ("exp", Complete.RENAMED) in watch.taken()


def test_a_rename_within_and_an_editor_s_save_are_complete_at_once(watch: Watch, ears: Ears) -> None:
    (watch.folder / "a.md.part").write_text("plan")
    (watch.folder / "a.md.part").rename(watch.folder / "a.md")
    until(lambda: ears.renamed == ["a.md"])
    assert watch.taken() == [("a.md", Complete.RENAMED)]
    (watch.folder / ".a.md.kate-swp").write_text("plan 2")
    (watch.folder / ".a.md.kate-swp").rename(watch.folder / "a.md")
    until(lambda: ears.renamed == ["a.md", "a.md"])
    assert watch.only().signature.size == 6
    assert watch.only().why is Complete.RENAMED


def test_a_copy_or_a_link_wakes_but_has_to_settle(watch: Watch, ears: Ears) -> None:
    outside = watch.folder.parent / "plan.md"
    outside.write_text("plan")
    assert ears.hears(lambda: shutil.copy(outside, watch.folder / "copy.md"))
    assert ears.hears(lambda: (watch.folder / "link.md").hardlink_to(outside))
    assert ears.hears(lambda: (watch.folder / "exp").mkdir())
    assert watch.taken() == []
    assert ears.renamed == []


def test_another_file_under_a_renamed_name_has_to_settle(watch: Watch, ears: Ears) -> None:
    outside = watch.folder.parent / "a.md"
    outside.write_text("plan")
    outside.rename(watch.folder / "a.md")
    until(lambda: ears.renamed)
    (watch.folder / "a.md").rename(outside)  # keeps its inode in use
    (watch.folder / "a.md").write_text("plan")
    assert watch.taken() == []


def test_what_leaves_does_not_delay_what_comes(watch: Watch, ears: Ears) -> None:
    (watch.folder / "old.md").write_text("plan")
    until(lambda: ears.woken.is_set())
    waits = []
    for number in range(3):
        outside = watch.folder.parent / f"{number}.md"
        outside.write_text("plan")
        (watch.folder / "old.md").rename(watch.folder.parent / "old.md")
        began = time.monotonic()
        outside.rename(watch.folder / outside.name)
        until(lambda name=outside.name: name in ears.renamed)
        waits.append(time.monotonic() - began)
        (watch.folder.parent / "old.md").rename(watch.folder / "old.md")
    assert min(waits) < 0.3  # watchdog as it comes holds back for half a second


def test_our_own_looking_does_not_wake(watch: Watch, ears: Ears) -> None:
    assert ears.hears(lambda: (watch.folder / "a.md").write_text("plan"))
    ears.wait_for_quiet()
    watch.scan()
    watch.scan(after=3.0)
    assert not ears.woken.wait(0.3)


@pytest.mark.parametrize("turns", [1, 3])
def test_an_inbox_made_anew_is_heard_again(watch: Watch, ears: Ears, turns: int) -> None:
    for _ in range(turns):
        assert ears.hears(lambda: shutil.rmtree(watch.folder))
        until(lambda: not ears.events.check())
        watch.folder.mkdir()
        assert ears.events.check()
        assert ears.hears(lambda: (watch.folder / "a.md").write_text("plan"))


def test_an_inbox_removed_and_made_between_two_checks(watch: Watch, ears: Ears) -> None:
    shutil.rmtree(watch.folder)
    watch.folder.mkdir()  # may well get the same inode

    def heard() -> bool:
        ears.woken.clear()
        ears.events.check()
        (watch.folder / "a.md").write_text("plan")
        return ears.woken.wait(0.2)

    until(heard)


def test_an_inbox_replaced_is_heard_again(watch: Watch, ears: Ears) -> None:
    watch.folder.rename(watch.folder.parent / "away")
    watch.folder.mkdir()
    assert ears.events.check()
    assert ears.hears(lambda: (watch.folder / "a.md").write_text("plan"))
    ears.wait_for_quiet()
    (watch.folder.parent / "away" / "b.md").write_text("plan")
    assert not ears.woken.wait(0.3)


def test_an_inbox_that_is_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "inbox").symlink_to("real")
    ears = Ears(Watch(tmp_path / "inbox"))
    assert ears.events.check()
    assert ears.hears(lambda: (tmp_path / "inbox" / "a.md").write_text("plan"))
    ears.events.close()


def test_an_exception_in_a_callback_does_not_end_the_events(watch: Watch) -> None:
    calls: list[int] = []

    def wake() -> None:
        calls.append(1)
        raise RuntimeError("a broken callback")

    events = InboxEvents(watch.folder, wake, lambda name: None)
    assert events.check()
    for number in range(3):
        (watch.folder / f"{number}.md").write_text("plan")
        until(lambda number=number: len(calls) > 2 * number)
    assert events.check()
    events.close()


def test_a_flood_of_events_loses_no_drop(watch: Watch, ears: Ears) -> None:
    for number in range(3000):
        (watch.folder / f"{number}.md").touch()
    watch.scan()
    assert len(watch.taken(after=3.0)) == 3000
    assert ears.events.check()


def test_closing_ends_every_thread(watch: Watch) -> None:
    before = threading.active_count()
    events = InboxEvents(watch.folder, lambda: None, lambda name: None)
    for _ in range(3):
        assert events.check()
        events.close()
    events.close()
    until(lambda: threading.active_count() <= before)


def in_child(code: str, *command: str, folder: Path) -> None:
    call = [*command, sys.executable, "-c", code, str(folder)]
    child = subprocess.run(call, capture_output=True, text=True, timeout=60, check=False)
    assert child.returncode == 0, child.stderr


def test_without_descriptors_only_scans(watch: Watch) -> None:
    code = """
import os, resource, sys
from pathlib import Path
from ajet_inbox.edge.inbox_events import InboxEvents
spare = [os.open("/dev/null", os.O_RDONLY) for _ in range(2)]
events = InboxEvents(Path(sys.argv[1]), lambda: None, lambda name: None)
resource.setrlimit(resource.RLIMIT_NOFILE, (spare[-1] + 1, 4096))
assert not events.check()
for fd in spare:
    os.close(fd)
assert not events.check()
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, 4096))
assert events.check()
events.close()
"""
    in_child(code, folder=watch.folder)


def test_an_inbox_mounted_and_unmounted_is_heard_again(watch: Watch) -> None:
    private = ("unshare", "--mount", "--map-root-user")
    if subprocess.run([*private, "true"], capture_output=True, check=False).returncode:
        pytest.skip("no mount namespaces here")
    code = """
import subprocess, sys, threading
from pathlib import Path
from ajet_inbox.edge.inbox import Inbox
from ajet_inbox.edge.inbox_events import InboxEvents
folder, woken = Path(sys.argv[1]), threading.Event()
inbox, events = Inbox(folder, 3.0), InboxEvents(folder, woken.set, lambda name: None)
for act in (["true"], ["mount", "-t", "tmpfs", "none", folder], ["umount", folder]):
    subprocess.run(act, check=True)
    assert events.check()
    assert not inbox.scan().settling, act
    woken.clear()
    (folder / "a.md").write_text("plan")
    assert woken.wait(10), act
    assert inbox.scan().settling, act
    (folder / "a.md").unlink()
events.close()
"""
    in_child(code, *private, folder=watch.folder)


# ---- filesystems --------------------------------------------------------------------------------------------------

MOUNTS = """\
overlay / overlay rw,relatime 0 0
proc /proc proc rw 0 0
server:/export /mnt nfs4 rw 0 0
/dev/sdb1 /mnt/local ext4 rw 0 0
server:/a /mnt/with\\040space nfs rw 0 0
dataset /data cpfs rw 0 0
/dev/sdc1 /over ext4 rw 0 0
sshfs /over fuse.sshfs rw 0 0
server:/z /实验 nfs rw 0 0
broken line
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/home/me/inbox", "overlay"),
        ("/mnt", "nfs4"),
        ("/mnt/inbox", "nfs4"),
        ("/mntx/inbox", "overlay"),
        ("/mnt/local/inbox", "ext4"),
        ("/mnt/with space/inbox", "nfs"),
        ("/data/inbox", "cpfs"),
        ("/over/inbox", "fuse.sshfs"),
        ("/实验/inbox", "nfs"),
    ],
)
def test_filesystem_of(path: str, kind: str) -> None:
    assert filesystem_of(PurePosixPath(path), MOUNTS) == kind
    assert filesystem_of(PurePosixPath(path), "") == ""


def test_settle_for_a_local_folder(tmp_path: Path) -> None:
    assert settle_for(tmp_path) == LOCAL_SETTLE_S
