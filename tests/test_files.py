"""Safe writing and careful reading, with real files, links, sockets, full disks and killed writers."""

from __future__ import annotations

import errno
import os
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ajet_inbox.edge.files import (
    Appender,
    Tail,
    Unreadable,
    Why,
    create_exclusive,
    fsync_dir,
    list_names,
    read_regular,
    tail_from,
    write_atomic,
    write_quick,
)

WRITERS = [write_atomic, write_quick, create_exclusive]
Writer = Callable[[Path, bytes | str], object]


def why(result: object) -> Why:
    assert isinstance(result, Unreadable)
    assert "\n" not in result.message
    return result.why


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


def in_child(code: str, *args: object) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-c", code, *map(str, args)], capture_output=True, timeout=60, check=False)


# ---- writing ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("write", WRITERS)
def test_writes_text_and_bytes(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / "text", "实验\n")
    write(tmp_path / "bytes", b"\x00\xff")
    assert (tmp_path / "text").read_text(encoding="utf-8") == "实验\n"
    assert (tmp_path / "bytes").read_bytes() == b"\x00\xff"
    assert list_names(tmp_path) == ("bytes", "text")


@pytest.mark.parametrize("write", WRITERS)
def test_the_mode_comes_from_the_umask(tmp_path: Path, write: Writer) -> None:
    before = os.umask(0o027)
    try:
        write(tmp_path / "a", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a").stat().st_mode) == 0o640


@pytest.mark.parametrize("write", WRITERS)
def test_a_name_of_255_bytes_is_written(tmp_path: Path, write: Writer) -> None:
    write(tmp_path / ("n" * 255), "x")
    assert list_names(tmp_path) == ("n" * 255,)


@pytest.mark.parametrize("write", [write_atomic, write_quick])
def test_replaces_a_link_not_its_target(tmp_path: Path, write: Writer) -> None:
    (tmp_path / "target").write_text("old")
    (tmp_path / "link").symlink_to("target")
    write(tmp_path / "link", "new")
    assert (tmp_path / "target").read_text() == "old"
    assert not (tmp_path / "link").is_symlink()


@pytest.mark.parametrize("write", WRITERS)
def test_a_failure_leaves_nothing_and_harms_nothing(tmp_path: Path, write: Writer) -> None:
    (tmp_path / "folder" / "inside").mkdir(parents=True)
    if write is not create_exclusive:
        with pytest.raises(OSError):
            write(tmp_path / "folder", "x")
    with pytest.raises(FileNotFoundError):
        write(tmp_path / "no" / "such", "x")
    assert list_names(tmp_path) == ("folder",)


@pytest.mark.parametrize("name", ["write_atomic", "write_quick", "create_exclusive"])
def test_a_full_disk_keeps_the_old_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "a").write_text("old")
    code = f"""
import resource, signal, sys
from pathlib import Path
from ajet_inbox.edge.files import {name}
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    {name}(Path(sys.argv[1]), "x" * 5000)
except OSError as error:
    sys.exit(error.errno)
"""
    assert in_child(code, tmp_path / "a").returncode == errno.EFBIG
    assert (tmp_path / "a").read_text() == "old"
    assert list_names(tmp_path) == ("a",)


def test_readers_see_the_old_or_the_new(tmp_path: Path) -> None:
    path, done = tmp_path / "a", threading.Event()
    versions = [letter * 100_000 for letter in "abc"]
    write_quick(path, versions[0])

    def write() -> None:
        for turn in range(60):
            write_quick(path, versions[turn % 3])
        done.set()

    with ThreadPoolExecutor() as pool:
        writing = pool.submit(write)
        while not done.is_set():
            assert path.read_text() in versions
        writing.result()


def test_one_caller_creates(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        won = list(pool.map(lambda n: create_exclusive(tmp_path / "claim", f"{n}"), range(24)))
    assert won.count(True) == 1
    assert (tmp_path / "claim").read_text() == str(won.index(True))
    assert list_names(tmp_path) == ("claim",)


def test_a_lost_reply_is_still_a_win(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """NFS: the link was made, the reply lost, the retry refused."""
    link = os.link

    def link_twice(source: Path, target: Path) -> None:
        link(source, target)
        link(source, target)

    monkeypatch.setattr(os, "link", link_twice)
    assert create_exclusive(tmp_path / "claim", "mine")
    monkeypatch.undo()
    assert not create_exclusive(tmp_path / "claim", "theirs")
    assert (tmp_path / "claim").read_text() == "mine"


@pytest.mark.parametrize("code", [errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS])
def test_without_links_one_caller_creates(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int) -> None:
    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "link", refuse)
    with ThreadPoolExecutor(4) as pool:
        won = list(pool.map(lambda n: create_exclusive(tmp_path / "claim", f"{n}"), range(8)))
    assert won.count(True) == 1
    assert (tmp_path / "claim").read_text() == str(won.index(True))
    assert list_names(tmp_path) == ("claim",)


def test_another_error_of_link_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EIO, "broken")

    monkeypatch.setattr(os, "link", refuse)
    with pytest.raises(OSError, match="broken"):
        create_exclusive(tmp_path / "claim", "x")
    assert list_names(tmp_path) == ()


def test_fsync_dir_needs_a_folder(tmp_path: Path) -> None:
    fsync_dir(tmp_path)
    with pytest.raises(FileNotFoundError):
        fsync_dir(tmp_path / "no")


# ---- appending ----------------------------------------------------------------------------------------------------


def test_appends_lines(tmp_path: Path) -> None:
    with Appender(tmp_path / "j") as journal:
        journal.append("一")
        journal.append(b"2")
        assert (tmp_path / "j").read_text(encoding="utf-8") == "一\n2\n"
    with Appender(tmp_path / "j") as journal:
        journal.append("3", b"4")
    assert (tmp_path / "j").read_text(encoding="utf-8") == "一\n2\n3\n4\n"


@pytest.mark.parametrize(
    ("left", "then"),
    [(b"", b"new\n"), (b"one\n", b"one\nnew\n"), (b"one\ntw", b"one\ntw\nnew\n"), (b"\n", b"\nnew\n")],
)
def test_a_torn_line_does_not_swallow_the_next(tmp_path: Path, left: bytes, then: bytes) -> None:
    (tmp_path / "j").write_bytes(left)
    with Appender(tmp_path / "j") as journal:
        journal.append("new")
    assert (tmp_path / "j").read_bytes() == then


def test_what_is_appended_to_a_removed_file_is_not_durable(tmp_path: Path) -> None:
    with Appender(tmp_path / "j") as journal:
        (tmp_path / "j").unlink()
        with pytest.raises(FileNotFoundError):
            journal.append("new")


def test_a_line_is_one_line(tmp_path: Path) -> None:
    with Appender(tmp_path / "j") as journal:
        with pytest.raises(ValueError, match="newline"):
            journal.append("a\nb")
        journal.append("c")
    assert (tmp_path / "j").read_text() == "c\n"


def test_an_appender_follows_no_link(tmp_path: Path) -> None:
    (tmp_path / "j").symlink_to("elsewhere")
    with pytest.raises(OSError):
        Appender(tmp_path / "j")
    assert list_names(tmp_path) == ("j",)


def test_a_full_disk_takes_the_half_line_back(tmp_path: Path) -> None:
    code = """
import resource, signal, sys
from pathlib import Path
from ajet_inbox.edge.files import Appender
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
journal = Appender(Path(sys.argv[1]))
journal.append("kept")
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    journal.append("x" * 5000)
except OSError as error:
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    journal.append("next")
    sys.exit(error.errno)
"""
    assert in_child(code, tmp_path / "j").returncode == errno.EFBIG
    assert (tmp_path / "j").read_text() == "kept\nnext\n"


def test_short_writes_are_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:3]))
    with Appender(tmp_path / "j") as journal:
        journal.append("a long line")
    assert (tmp_path / "j").read_text() == "a long line\n"


def test_a_killed_writer_leaves_whole_lines_and_at_most_one_torn(tmp_path: Path) -> None:
    code = """
import sys
from pathlib import Path
from ajet_inbox.edge.files import Appender
with Appender(Path(sys.argv[1])) as journal:
    for number in range(10**9):
        journal.append(f"{number} " + "x" * 20_000)
"""
    child = subprocess.Popen([sys.executable, "-c", code, str(tmp_path / "j")])
    deadline = time.monotonic() + 30
    while (not (tmp_path / "j").exists() or (tmp_path / "j").stat().st_size < 200_000) and time.monotonic() < deadline:
        time.sleep(0.01)
    child.kill()
    child.wait()
    with Appender(tmp_path / "j") as journal:
        journal.append("after")
    lines = (tmp_path / "j").read_text().splitlines()
    assert lines.pop() == "after"
    assert all(line == f"{n} " + "x" * 20_000 for n, line in enumerate(lines[:-1]))
    assert len(lines) > 5


# ---- reading ------------------------------------------------------------------------------------------------------


def test_reads_up_to_the_limit(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    assert read_regular(tmp_path / "a", 10) == b"x" * 10
    assert why(read_regular(tmp_path / "a", 9)) is Why.TOO_LARGE
    (tmp_path / "empty").touch()
    assert read_regular(tmp_path / "empty", 0) == b""


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: None, Why.MISSING),
        (lambda path: path.mkdir(), Why.FOLDER),
        (lambda path: path.symlink_to("real"), Why.SYMLINK),
        (lambda path: path.symlink_to("nowhere"), Why.SYMLINK),
        (lambda path: os.mkfifo(path), Why.FIFO),
        (make_socket, Why.SOCKET),
    ],
)
def test_what_is_no_file_is_not_read(tmp_path: Path, make: Callable[[Path], None], reason: Why) -> None:
    (tmp_path / "real").write_text("secret")
    make(tmp_path / "odd")
    assert why(read_regular(tmp_path / "odd", 100)) is reason


def test_more_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert why(read_regular(Path("/dev/zero"), 100)) is Why.DEVICE
    assert why(read_regular(tmp_path / "file" / "below", 100)) is Why.MISSING
    assert why(read_regular(tmp_path / ("n" * 256), 100)) is Why.FAILED
    odd = read_regular(tmp_path / "two\nlines\udcff", 100)
    assert odd == Unreadable(why=Why.MISSING, message=r"two\nlines\udcff does not exist")


def test_permission_denied() -> None:
    code = """
import os, tempfile
from pathlib import Path
from ajet_inbox.edge.files import read_regular
if os.getuid() == 0:
    os.setuid(65534)
with tempfile.TemporaryDirectory() as folder:
    path = Path(folder, "a")
    path.touch(0)
    print(read_regular(path, 10).why)
"""
    assert in_child(code).stdout == b"denied\n"


def test_list_names(tmp_path: Path) -> None:
    assert list_names(tmp_path / "no") == ()
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff")).touch()
    (tmp_path / "a").touch()
    assert list_names(tmp_path) == ("a", "bad\udcff")
    with pytest.raises(NotADirectoryError):
        list_names(tmp_path / "a")


def test_tail(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert why(tail_from(log, 0, 10)) is Why.MISSING
    log.write_bytes(b"0123456789")
    inode = log.stat().st_ino
    assert tail_from(log, 0, 4) == Tail(data=b"0123", offset=4, inode=inode)
    assert tail_from(log, 4, 100, inode) == Tail(data=b"456789", offset=10, inode=inode)
    assert tail_from(log, 10, 100, inode) == Tail(data=b"", offset=10, inode=inode)
    log.write_bytes(b"new")
    assert tail_from(log, 10, 100, inode) == Tail(data=b"new", offset=3, inode=inode, restarted=True)
    log.rename(tmp_path / "log.1")
    log.write_bytes(b"rotated")
    tail = tail_from(log, 3, 100, inode)
    assert tail == Tail(data=b"rotated", offset=7, inode=log.stat().st_ino, restarted=True)


def test_tail_follows_a_link_but_no_fifo(tmp_path: Path) -> None:
    (tmp_path / "run3.log").write_bytes(b"abc")
    (tmp_path / "latest.log").symlink_to("run3.log")
    os.mkfifo(tmp_path / "fifo")
    tail = tail_from(tmp_path / "latest.log", 1, 100)
    assert isinstance(tail, Tail)
    assert tail.data == b"bc"
    assert why(tail_from(tmp_path / "fifo", 0, 100)) is Why.FIFO
