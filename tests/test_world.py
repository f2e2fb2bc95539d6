"""Looking at real paths, and at ones that never answer."""

from __future__ import annotations

import os
import threading
from pathlib import Path
from time import monotonic

import pytest

from ajet_inbox.core.checking.facts import PathFacts
from ajet_inbox.edge.world import current_user, examine_path, largest_below, look, owners


def see(path: Path | str) -> PathFacts:
    return look(str(path), timeout_s=20).about(str(path))


def test_a_folder_and_a_program(tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("#!/bin/sh\n")
    found = see(program)
    assert (found.exists, found.is_file, found.readable, found.writable) == (True, True, True, True)
    assert (found.executable, found.real, found.mode & 0o444) == (False, str(program), 0o444)
    assert found.edition == (program.stat().st_ino, program.stat().st_mtime_ns)
    assert (found.free_bytes or 0) > 0
    program.chmod(0o755)
    assert see(program).executable
    folder = see(tmp_path)
    assert (folder.exists, folder.is_dir, folder.is_file, folder.writable) == (True, True, False, True)


def test_an_absent_path_tells_the_nearest_folder_above(tmp_path: Path) -> None:
    (tmp_path / "mount").mkdir()
    absent = see(tmp_path / "mount" / "a" / "b")
    assert (absent.answered, absent.exists, absent.ancestor) == (True, False, str(tmp_path / "mount"))
    assert (absent.ancestor_empty, absent.ancestor_writable) == (True, True)
    (tmp_path / "mount" / "other").touch()
    assert not see(tmp_path / "mount" / "a" / "b").ancestor_empty


def test_below_a_file_nothing_can_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    below = see(tmp_path / "file" / "a")
    assert (below.exists, below.ancestor, below.ancestor_writable) == (False, str(tmp_path / "file"), False)


def test_links_are_seen_through(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert see(tmp_path / "link").real == str(tmp_path / "real")
    assert see(tmp_path / "link" / "a" / "b").real == str(tmp_path / "real" / "a" / "b")


def test_a_broken_link_is_absent(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    assert not see(tmp_path / "link").exists


@pytest.mark.skipif(os.getuid() == 0, reason="root may write everywhere")
def test_what_may_not_be_written(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    assert not see(tmp_path).writable


def test_what_is_not_absent_but_cannot_be_looked_at(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    assert not see(loop).answered
    assert see(loop).why
    assert not see("/tmp/\0").answered
    assert not see("~nobody-of-that-name/x").answered
    assert not see("/" + "x" * 300).answered


def test_a_home_is_this_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert see("~").is_dir
    assert see("~/absent").ancestor == str(tmp_path)


def test_a_path_that_hangs_costs_its_time_once_and_others_answer(tmp_path: Path) -> None:
    release, asked = threading.Event(), list[str]()

    def examine(path: str) -> PathFacts:
        asked.append(path)
        if path == "/hangs":
            release.wait(60)
        return examine_path(path)

    try:
        began = monotonic()
        facts = look("/hangs", str(tmp_path), timeout_s=0.2, examine=examine)
        assert monotonic() - began < 20
        assert facts.about("/hangs") == PathFacts(answered=False, why="no answer in 0.2 s")
        assert facts.about(str(tmp_path)).is_dir
        assert not look("/hangs", timeout_s=0.05, examine=examine).about("/hangs").answered
        assert asked.count("/hangs") == 1
    finally:
        release.set()
    deadline = monotonic() + 20
    while not look("/hangs", timeout_s=5, examine=examine).about("/hangs").answered:
        assert monotonic() < deadline


def test_many_who_look_at_once_get_the_same_answer(tmp_path: Path) -> None:
    release, found = threading.Event(), list[PathFacts]()

    def examine(path: str) -> PathFacts:
        release.wait(20)
        return examine_path(path)

    def see_slowly() -> None:
        found.append(look(str(tmp_path), timeout_s=20, examine=examine).about(str(tmp_path)))

    threads = [threading.Thread(target=see_slowly) for _ in range(8)]
    for thread in threads:
        thread.start()
    release.set()
    for thread in threads:
        thread.join(20)
    assert [facts.is_dir for facts in found] == [True] * 8


def test_files_are_read_through_links_and_within_limits(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_bytes(b"\xef\xbb\xbfa: \xff")
    (tmp_path / "link").symlink_to("a.yaml")
    (tmp_path / "large").write_bytes(b"x" * 100)
    os.mkfifo(tmp_path / "fifo")
    names = ("a.yaml", "link", "large", "fifo", "absent", "\0")
    facts = look(timeout_s=20, files=[str(tmp_path / name) for name in names], limit=50)
    assert facts.text(str(tmp_path / "link")) == facts.text(str(tmp_path / "a.yaml")) == "a: \ufffd"
    for name in ("large", "fifo", "absent", "\0"):
        assert facts.text(str(tmp_path / name)) is None
        assert facts.files[str(tmp_path / name)].why


def test_the_largest_of_some_folders(tmp_path: Path) -> None:
    for name, size in (("a", 10), ("b", 3000)):
        (tmp_path / name / "global_step_1").mkdir(parents=True)
        (tmp_path / name / "global_step_1" / "model.pt").write_bytes(b"x" * size)
    (tmp_path / "file").write_bytes(b"x" * 9999)
    assert largest_below(str(tmp_path)) == 3000
    assert largest_below(str(tmp_path / "absent")) == 0


def test_owners_of_files(tmp_path: Path) -> None:
    (tmp_path / "a").touch()
    assert owners(tmp_path, tmp_path / "a") == (current_user(),)
    (tmp_path / "link").symlink_to("nowhere")
    assert owners(tmp_path / "link") == (current_user(),)
