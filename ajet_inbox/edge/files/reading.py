"""How to read what a stranger left without being led astray."""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from msgspec import Struct

from ajet_inbox.edge.files.refusal import Refused, Unreadable, attempt, too_large, unreadable, unreadable_by

CHUNK = 1 << 20
READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # NONBLOCK: a FIFO without a writer would hang us


class Tail(Struct, frozen=True, kw_only=True):
    """What was read behind an offset. Give `offset` and `inode` to the next call.

    `restarted`: the file was truncated or replaced, and `data` begins at its start.
    """

    data: bytes
    offset: int
    inode: int
    restarted: bool = False


def read_regular(path: Path, limit: int) -> bytes | Unreadable:
    """The whole of a regular file of at most `limit` bytes; a symbolic link is not followed."""
    try:
        with _opened(path, READ | os.O_NOFOLLOW) as (fd, _):
            data = _read_up_to(fd, limit + 1)
    except Refused as refused:
        return refused.reason
    return data if len(data) <= limit else too_large(path.name, limit)


def tail_from(path: Path, offset: int, limit: int, inode: int | None = None) -> Tail | Unreadable:
    """At most `limit` bytes of a regular file from `offset` on; links are followed, for logs are often named by one.

    With the `inode` of the last call a replaced file is noticed, a truncated one by its size. A file that was emptied
    and has grown past `offset` again between two calls cannot be told from one that only grew.
    """
    try:
        with _opened(path, READ) as (fd, status):
            restarted = status.st_size < offset or inode not in (None, status.st_ino)
            start = 0 if restarted else offset
            os.lseek(fd, start, os.SEEK_SET)
            data = _read_up_to(fd, limit)
    except Refused as refused:
        return refused.reason
    return Tail(data=data, offset=start + len(data), inode=status.st_ino, restarted=restarted)


def list_names(folder: Path) -> tuple[str, ...]:
    """The names in a folder, sorted; none where it does not exist.

    Ask this, never `exists()`: over NFS a name once looked up in vain stays unseen for up to a minute (measured).

    Raises:
        OSError: the folder is there but cannot be listed.
    """
    try:
        return tuple(sorted(path.name for path in folder.iterdir()))
    except FileNotFoundError:
        return ()


@contextlib.contextmanager
def _opened(path: Path, flags: int) -> Iterator[tuple[int, os.stat_result]]:
    """A regular file, open. Raises `Refused` for anything else and for any error on the way."""
    fd = attempt(path.name, os.open, path, flags)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise Refused(unreadable(path.name, status.st_mode))
        yield fd, status
    except OSError as error:
        raise Refused(unreadable_by(path.name, error)) from error
    finally:
        os.close(fd)


def _read_up_to(fd: int, limit: int) -> bytes:
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(fd, min(limit, CHUNK))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)
