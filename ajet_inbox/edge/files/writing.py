"""How to write so that a crash, a full disk or a lost NFS reply leaves no half file."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import secrets
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Self

from ajet_inbox.edge.files.reading import READ, list_names

CREATE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_NAME_BYTES = 255
_TEMPORARY = re.compile(r"\.aj-[0-9a-f]{16}\.tmp")
_NO_LINK = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV})
_NO_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP})


def write_atomic(path: Path, data: bytes | str) -> None:
    """Puts `data` at `path` so that a reader, or a crash, sees the old file or the new one, and the new one lasts.

    Raises:
        OSError: it could not be written; the old file is untouched.
    """
    _replace(path, data, durable=True)


def write_quick(path: Path, data: bytes | str, mode: int = 0o666) -> None:
    """As `write_atomic`, but may be lost in a power cut: for what can be made again. The umask narrows `mode`.

    Raises:
        OSError: it could not be written; the old file is untouched.
    """
    _replace(path, data, durable=False, mode=mode)


def create_exclusive(path: Path, data: bytes | str) -> bool:
    """Puts `data` at `path` if nothing is there; True for the one caller, on any host, that did.

    Raises:
        OSError: it could not be written; whether somebody has the name is unknown.
    """
    with _temporary(path.parent) as temporary:
        _write_new(temporary, data, durable=True)
        won = _link(temporary, path, data)
    fsync_dir(path.parent)
    return won


def fsync_dir(folder: Path) -> None:
    """Makes the names in `folder` last; does nothing on filesystems that cannot."""
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(fd)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(fd)


def move_aside(path: Path, suffix: str) -> Path | None:
    """Renames `path` to `NAME.SUFFIX`, or `NAME.SUFFIX-2`, ... where that is taken; None where there is nothing.

    Raises:
        OSError: it could not be renamed; it is still there.
    """
    try:
        is_folder = stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return None
    target = _reserve(path, suffix, os.mkdir if is_folder else _touch_new)
    try:
        path.rename(target)
    except OSError:
        (Path.rmdir if is_folder else Path.unlink)(target)
        raise
    fsync_dir(path.parent)
    return target


def _replace(path: Path, data: bytes | str, *, durable: bool, mode: int = 0o666) -> None:
    with _temporary(path.parent) as temporary:
        _write_new(temporary, data, durable=durable, mode=mode)
        temporary.replace(path)
    if durable:
        fsync_dir(path.parent)


def temporary_name(folder: Path) -> Path:
    """Hidden, and short however long the real name is."""
    return folder / f".aj-{secrets.token_hex(8)}.tmp"


def remove_torn(folder: Path) -> None:
    """Removes what crashes left of writes into a folder that nobody else is writing into.

    Raises:
        OSError: the folder cannot be listed, or something in it not removed.
    """
    for name in list_names(folder):
        if _TEMPORARY.fullmatch(name):
            (folder / name).unlink(missing_ok=True)


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A fresh name beside the real one; what is left there afterwards is removed."""
    path = temporary_name(folder)
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _write_new(path: Path, data: bytes | str, *, durable: bool, mode: int = 0o666) -> None:
    fd = os.open(path, os.O_WRONLY | CREATE, mode)
    try:
        write_all(fd, data.encode() if isinstance(data, str) else data)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


def _link(temporary: Path, path: Path, data: bytes | str) -> bool:
    try:
        os.link(temporary, path)
    except OSError as error:
        # NFS: the server made the link, its reply was lost, and the retry says EEXIST. The count of names knows.
        if _names_of(temporary) == 2:
            return True
        if error.errno in _NO_LINK:
            return _create_in_place(path, data)
        if error.errno == errno.EEXIST:
            return False
        raise
    return True


def _names_of(path: Path) -> int:
    fd = os.open(path, READ)  # only an open makes an NFS client ask the server again
    try:
        return os.fstat(fd).st_nlink
    finally:
        os.close(fd)


def _create_in_place(path: Path, data: bytes | str) -> bool:
    try:
        _write_new(path, data, durable=True)
    except FileExistsError:
        return False
    except OSError:
        path.unlink(missing_ok=True)
        raise
    return True


def _reserve(path: Path, suffix: str, make: Callable[[Path], None]) -> Path:
    """An empty entry of our own making: renaming onto it can overwrite nobody's."""
    number = 1
    while True:
        ending = f".{suffix}" if number == 1 else f".{suffix}-{number}"
        stem = os.fsencode(path.name)[: _NAME_BYTES - len(os.fsencode(ending))].decode(errors="ignore")
        target = path.with_name(stem + ending)
        try:
            make(target)
        except FileExistsError:
            number += 1
        else:
            return target


def _touch_new(path: Path) -> None:
    os.close(os.open(path, os.O_WRONLY | CREATE, 0o666))


class Appender:
    """A file that grows by whole lines, each durable when `append` returns. One writer at a time."""

    def __init__(self, path: Path) -> None:
        """Opens or makes the file.

        Raises:
            OSError: it cannot be opened.
        """
        self._fd = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
        fsync_dir(path.parent)

    def append(self, *lines: bytes | str) -> None:
        """Adds lines by one write, all durable together; the newlines are added here.

        Raises:
            ValueError: one of `lines` holds a newline.
            OSError: they could not be made durable, and the file is as it was before, as far as that can be done.
        """
        data = [line.encode() if isinstance(line, str) else line for line in lines]
        if any(b"\n" in line for line in data):
            raise ValueError("a line to append holds a newline")
        size = os.fstat(self._fd).st_size
        try:
            write_all(self._fd, b"\n" * self._is_torn(size) + b"".join(line + b"\n" for line in data))
            os.fdatasync(self._fd)
            if os.fstat(self._fd).st_nlink == 0:  # written all the same, where nobody will ever read it
                raise FileNotFoundError(errno.ENOENT, "The file was removed")
        except OSError:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, size)
            raise

    def close(self) -> None:
        """Closes the file."""
        os.close(self._fd)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _is_torn(self, size: int) -> bool:
        """Whether a crash left half a line at the end, which must not swallow the next one."""
        return size > 0 and os.pread(self._fd, 1, size - 1) != b"\n"
