"""What this host's kernel tells of the inbox, with real renames, copies, mounts and an inbox that comes and goes."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ajet_inbox.edge.inbox import Complete
from ajet_inbox.edge.inbox_events import InboxEvents
from tests.inbox_watch import Watch, until


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    folder = tmp_path / "inbox"
    folder.mkdir()
    return Watch(folder)


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
