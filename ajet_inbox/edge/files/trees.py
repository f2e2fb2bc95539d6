"""Whole folders that somebody dropped: copied and told apart, never leaving them and never without a limit."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Generator, Iterator
from pathlib import Path

from msgspec import Struct

from ajet_inbox.edge.files.reading import CHUNK, READ
from ajet_inbox.edge.files.refusal import Refused, Unreadable, attempt, too_large, unreadable
from ajet_inbox.edge.files.writing import CREATE, fsync_dir, temporary_name, write_all

_MAX_ENTRIES = 10_000  # a tree of empty files has no bytes to stop at
_MAX_DEPTH = 32


class _Entry(Struct, frozen=True, kw_only=True):
    """One file or folder of a walk, open while it is the current one."""

    path: str  # begins with the name of the walk's root
    fd: int
    status: os.stat_result

    @property
    def is_folder(self) -> bool:
        return stat.S_ISDIR(self.status.st_mode)


def copy_tree(source: Path, target: Path, limit: int) -> int | Unreadable:
    """Copies a folder of at most `limit` bytes; the number of bytes. `target` appears at once, whole and durable.

    A link, a FIFO, a socket or a device anywhere in it, or too much of it, and nothing is copied. Modes come from the
    umask; programs stay executable.

    Raises:
        OSError: `target` exists or cannot be written.
    """
    temporary = temporary_name(target.parent)
    try:
        copied = _copy_entries(source, temporary, limit)
        for folder in (temporary, *(p for p in temporary.rglob("*") if p.is_dir())):
            fsync_dir(folder)
        temporary.rename(target)
    except Refused as refused:
        return refused.reason
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    fsync_dir(target.parent)
    return copied


def fingerprint(path: Path, limit: int) -> str | Unreadable:
    """One value for all that can be seen of a file or folder: names, sizes, times, inodes and content.

    Every file is opened and read, since over NFS only that asks the server. At most `limit` bytes are read.
    """
    digest, left = hashlib.sha256(), limit
    try:
        with contextlib.closing(_walk(path)) as entries:
            for entry in entries:
                s = entry.status
                seen = f"{entry.path}\0{s.st_mode} {s.st_ino} {s.st_size} {s.st_mtime_ns}\0"
                digest.update(os.fsencode(seen))
                if not entry.is_folder:
                    left -= _pump(entry, path.name, left, limit, digest.update)
    except Refused as refused:
        return refused.reason
    return digest.hexdigest()


def _copy_entries(source: Path, target: Path, limit: int) -> int:
    copied = 0
    with contextlib.closing(_walk(source)) as entries:
        for entry in entries:
            place = target / entry.path.removeprefix(source.name).lstrip("/")
            if entry.is_folder:
                place.mkdir()
            elif place == target:
                raise Refused(unreadable(source.name, entry.status.st_mode))
            else:
                copied += _copy_file(entry, place, source.name, limit - copied, limit)
    return copied


def _copy_file(entry: _Entry, target: Path, root: str, left: int, limit: int) -> int:
    fd = os.open(target, os.O_WRONLY | CREATE, 0o777 if entry.status.st_mode & stat.S_IXUSR else 0o666)
    try:
        copied = _pump(entry, root, left, limit, functools.partial(write_all, fd))
        os.fsync(fd)
    finally:
        os.close(fd)
    return copied


def _pump(entry: _Entry, root: str, left: int, limit: int, sink: Callable[[bytes], object]) -> int:
    """Reads one file into `sink`; the number of bytes. Raises `Refused` when it is over what is `left` of `limit`."""
    read = 0
    while part := attempt(entry.path, os.read, entry.fd, CHUNK):
        read += len(part)
        if read > left:
            raise Refused(too_large(root, limit))
        sink(part)
    return read


def _walk(root: Path) -> Generator[_Entry, None, None]:
    """A file, or a folder and all that is in it, parents first, in order of name. Raises `Refused`."""
    for number, entry in enumerate(_visit(None, str(root), root.name, 0)):
        if number == _MAX_ENTRIES:
            raise Refused(too_large(root.name, _MAX_ENTRIES, "entries"))
        yield entry


def _visit(parent: int | None, name: str, path: str, depth: int) -> Iterator[_Entry]:
    """Goes by descriptors, never by path: a folder swapped for a link on the way leads nowhere else."""
    fd = attempt(path, os.open, name, READ | os.O_NOFOLLOW, dir_fd=parent)
    try:
        status = os.fstat(fd)
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise Refused(unreadable(path, status.st_mode))
        entry = _Entry(path=path, fd=fd, status=status)
        yield entry
        if entry.is_folder:
            if depth == _MAX_DEPTH:
                raise Refused(too_large(path, _MAX_DEPTH, "levels of folders"))
            for child in sorted(attempt(path, os.listdir, fd)):
                yield from _visit(fd, child, f"{path}/{child}", depth + 1)
    finally:
        os.close(fd)
