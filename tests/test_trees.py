"""Copies and fingerprints of whole folders, with all that may lie in one."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from ajet_inbox.edge.files import Unreadable, Why, copy_tree, fingerprint, list_names


def why(result: object) -> Why:
    assert isinstance(result, Unreadable)
    return result.why


def make_socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(path))


@pytest.fixture
def drop(tmp_path: Path) -> Path:
    folder = tmp_path / "inbox" / "实验 1"
    (folder / "scripts" / "empty").mkdir(parents=True)
    (folder / "blueprint.md").write_bytes(b"\x00\xff plan\r\n")
    (folder / ".ready").touch()
    (folder / "scripts" / "run.sh").write_text("echo hi\n")
    (folder / "scripts" / "run.sh").chmod(0o700)
    Path(os.fsdecode(os.fsencode(folder) + b"/odd\xff\n")).write_text("x")
    return folder


def below(folder: Path) -> dict[str, bytes | None]:
    return {str(p.relative_to(folder)): p.read_bytes() if p.is_file() else None for p in folder.rglob("*")}


def test_copies_byte_for_byte(tmp_path: Path, drop: Path) -> None:
    assert copy_tree(drop, tmp_path / "copy", 17 + 1) == 18
    assert below(tmp_path / "copy") == below(drop)
    assert len(below(drop)) == 6
    assert os.access(tmp_path / "copy" / "scripts" / "run.sh", os.X_OK)
    assert not (tmp_path / "copy" / "blueprint.md").stat().st_mode & 0o111


def test_a_copy_over_the_limit_is_none(tmp_path: Path, drop: Path) -> None:
    assert why(copy_tree(drop, tmp_path / "copy", 17)) is Why.TOO_LARGE
    assert list_names(tmp_path) == ("inbox",)


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda path: path.symlink_to("/etc/passwd"), Why.SYMLINK),
        (lambda path: path.symlink_to("/etc"), Why.SYMLINK),
        (lambda path: os.mkfifo(path), Why.FIFO),
        (make_socket, Why.SOCKET),
    ],
)
def test_nothing_odd_is_copied_or_looked_into(
    tmp_path: Path, drop: Path, make: Callable[[Path], None], reason: Why, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(drop)  # a socket's path has to be short
    make(Path("scripts/odd"))
    refused = copy_tree(drop, tmp_path / "copy", 1 << 20)
    assert why(refused) is reason
    assert "实验 1/scripts/odd" in str(refused)
    assert why(fingerprint(drop, 1 << 20)) is reason
    assert list_names(tmp_path) == ("inbox",)


def test_only_a_folder_is_copied(tmp_path: Path, drop: Path) -> None:
    (tmp_path / "link").symlink_to(drop)
    assert why(copy_tree(drop / "blueprint.md", tmp_path / "copy", 100)) is Why.FILE
    assert why(copy_tree(tmp_path / "link", tmp_path / "copy", 100)) is Why.SYMLINK
    assert why(copy_tree(tmp_path / "no", tmp_path / "copy", 100)) is Why.MISSING
    assert list_names(tmp_path) == ("inbox", "link")


def test_a_copy_replaces_nothing(tmp_path: Path, drop: Path) -> None:
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "old").touch()
    with pytest.raises(OSError):
        copy_tree(drop, tmp_path / "copy", 1 << 20)
    assert list_names(tmp_path) == ("copy", "inbox")
    assert list_names(tmp_path / "copy") == ("old",)


def test_a_bottomless_tree_ends(tmp_path: Path) -> None:
    (tmp_path / "deep" / "/".join("d" * 40)).mkdir(parents=True)
    assert why(fingerprint(tmp_path / "deep", 100)) is Why.TOO_LARGE
    (tmp_path / "wide").mkdir()
    for number in range(10_000):
        (tmp_path / "wide" / str(number)).touch()
    assert why(fingerprint(tmp_path / "wide", 100)) is Why.TOO_LARGE


def rewrite_same_size_and_time(path: Path) -> None:
    status = path.stat()
    path.write_bytes(path.read_bytes().replace(b"plan", b"PLAN"))
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))


def replace_by_a_twin(path: Path) -> None:
    status = path.stat()
    twin = path.with_name("twin")
    twin.write_bytes(path.read_bytes())
    os.utime(twin, ns=(status.st_atime_ns, status.st_mtime_ns))
    twin.replace(path)


@pytest.mark.parametrize(
    "change",
    [
        rewrite_same_size_and_time,
        replace_by_a_twin,
        lambda path: os.utime(path, ns=(1, 1)),
        lambda path: path.write_bytes(b""),
        lambda path: path.rename(path.with_name("renamed.md")),
        lambda path: (path.parent / "scripts" / "empty" / "new").touch(),
    ],
)
def test_a_fingerprint_sees_every_change(drop: Path, change: Callable[[Path], None]) -> None:
    before = fingerprint(drop, 1 << 20)
    assert isinstance(before, str)
    assert fingerprint(drop, 1 << 20) == before
    change(drop / "blueprint.md")
    assert fingerprint(drop, 1 << 20) != before


def test_a_fingerprint_of_a_file(drop: Path) -> None:
    before = fingerprint(drop / "blueprint.md", 100)
    assert isinstance(before, str)
    rewrite_same_size_and_time(drop / "blueprint.md")
    assert fingerprint(drop / "blueprint.md", 100) != before
    assert why(fingerprint(drop / "blueprint.md", 3)) is Why.TOO_LARGE
