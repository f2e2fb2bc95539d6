"""The only place that knows how to write so that a crash, a full disk or a lost NFS reply leaves no half file, and
how to read what a stranger left without being led astray."""

from __future__ import annotations

import contextlib
import errno
import functools
import hashlib
import os
import secrets
import shutil
import stat
from collections.abc import Callable, Generator, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Self, TypeVar

from msgspec import Struct

_CHUNK = 1 << 20
_NAME_BYTES = 255
_MAX_ENTRIES = 10_000  # a tree of empty files has no bytes to stop at
_MAX_DEPTH = 32
_CREATE = os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_READ = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC  # NONBLOCK: a FIFO without a writer would hang us
_NO_LINK = frozenset({errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EXDEV})
_NO_SYNC = frozenset({errno.EINVAL, errno.EOPNOTSUPP})

T = TypeVar("T")


# ---- what cannot be read ------------------------------------------------------------------------------------------


class Why(StrEnum):
    """Why something was not read."""

    MISSING = "missing"  # no such file
    DENIED = "denied"  # permission
    SYMLINK = "symlink"  # never followed
    FIFO = "fifo"  # reading could wait for ever
    SOCKET = "socket"  # nothing to read
    DEVICE = "device"  # never ends, or acts when read
    FOLDER = "folder"  # a folder where a file was wanted
    FILE = "file"  # a file where a folder was wanted
    TOO_LARGE = "too_large"  # over the limit
    FAILED = "failed"  # the filesystem gave an error, which may pass


class Unreadable(Struct, frozen=True, kw_only=True):
    """Something that was not read, and one sentence that says why."""

    why: Why
    message: str


_SENTENCES = {
    Why.MISSING: "does not exist",
    Why.DENIED: "may not be read (permission denied)",
    Why.SYMLINK: "is a symbolic link, which is never followed",
    Why.FIFO: "is a FIFO, not a file",
    Why.SOCKET: "is a socket, not a file",
    Why.DEVICE: "is a device, not a file",
    Why.FOLDER: "is a folder, not a file",
    Why.FILE: "is a file, not a folder",
}
_BY_ERRNO = {
    errno.ENOENT: Why.MISSING,
    errno.ENOTDIR: Why.MISSING,
    errno.EACCES: Why.DENIED,
    errno.EPERM: Why.DENIED,
    errno.ELOOP: Why.SYMLINK,
    errno.ENXIO: Why.SOCKET,  # what open() says of a socket
    errno.ENODEV: Why.DEVICE,
}
_BY_TYPE = {
    stat.S_IFLNK: Why.SYMLINK,
    stat.S_IFIFO: Why.FIFO,
    stat.S_IFSOCK: Why.SOCKET,
    stat.S_IFCHR: Why.DEVICE,
    stat.S_IFBLK: Why.DEVICE,
    stat.S_IFDIR: Why.FOLDER,
    stat.S_IFREG: Why.FILE,
}


class _Refused(Exception):
    """Carries an `Unreadable` out of a walk; never leaves this module."""

    def __init__(self, reason: Unreadable) -> None:
        super().__init__(reason.message)
        self.reason = reason


def unreadable(name: str, mode: int) -> Unreadable:
    """Why something of this `st_mode` is not read."""
    why = _BY_TYPE[stat.S_IFMT(mode)]
    return Unreadable(why=why, message=f"{name} {_SENTENCES[why]}")


def too_large(name: str, limit: int) -> Unreadable:
    """Why something over `limit` bytes is not read."""
    return Unreadable(why=Why.TOO_LARGE, message=f"{name} is larger than the limit of {limit} bytes")


def unreadable_by(name: str, error: OSError) -> Unreadable:
    """What an error from the system means."""
    why = _BY_ERRNO.get(error.errno or 0, Why.FAILED)
    return Unreadable(why=why, message=f"{name} {_SENTENCES.get(why, f'could not be read: {error.strerror}')}")


# ---- reading ------------------------------------------------------------------------------------------------------


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
        with _opened(path, _READ | os.O_NOFOLLOW) as (fd, _):
            data = _read_up_to(fd, limit + 1)
    except _Refused as refused:
        return refused.reason
    return data if len(data) <= limit else too_large(path.name, limit)


def tail_from(path: Path, offset: int, limit: int, inode: int | None = None) -> Tail | Unreadable:
    """At most `limit` bytes of a regular file from `offset` on; links are followed, for logs are often named by one.

    With the `inode` of the last call a replaced file is noticed, a truncated one by its size. A file that was emptied
    and has grown past `offset` again between two calls cannot be told from one that only grew.
    """
    try:
        with _opened(path, _READ) as (fd, status):
            restarted = status.st_size < offset or inode not in (None, status.st_ino)
            start = 0 if restarted else offset
            os.lseek(fd, start, os.SEEK_SET)
            data = _read_up_to(fd, limit)
    except _Refused as refused:
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
    """A regular file, open. Raises `_Refused` for anything else and for any error on the way."""
    try:
        fd = os.open(path, flags)
    except OSError as error:
        raise _Refused(unreadable_by(path.name, error)) from error
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise _Refused(unreadable(path.name, status.st_mode))
        yield fd, status
    except OSError as error:
        raise _Refused(unreadable_by(path.name, error)) from error
    finally:
        os.close(fd)


def _read_up_to(fd: int, limit: int) -> bytes:
    parts: list[bytes] = []
    while limit > 0 and (part := os.read(fd, min(limit, _CHUNK))):
        parts.append(part)
        limit -= len(part)
    return b"".join(parts)


# ---- writing ------------------------------------------------------------------------------------------------------


def write_atomic(path: Path, data: bytes | str) -> None:
    """Puts `data` at `path` so that a reader, or a crash, sees the old file or the new one, and the new one lasts.

    Raises:
        OSError: it could not be written; the old file is untouched.
    """
    _replace(path, data, durable=True)


def write_quick(path: Path, data: bytes | str) -> None:
    """As `write_atomic`, but may be lost in a power cut: for snapshots that can be made again.

    Raises:
        OSError: it could not be written; the old file is untouched.
    """
    _replace(path, data, durable=False)


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


def _replace(path: Path, data: bytes | str, *, durable: bool) -> None:
    with _temporary(path.parent) as temporary:
        _write_new(temporary, data, durable=durable)
        temporary.replace(path)
    if durable:
        fsync_dir(path.parent)


@contextlib.contextmanager
def _temporary(folder: Path) -> Iterator[Path]:
    """A fresh name beside the real one, short whatever that one's length; what is left there afterwards is removed."""
    path = folder / f".aj-{secrets.token_hex(8)}.tmp"
    try:
        yield path
    finally:
        path.unlink(missing_ok=True)


def _write_new(path: Path, data: bytes | str, *, durable: bool) -> None:
    fd = os.open(path, os.O_WRONLY | _CREATE, 0o666)
    try:
        _write_all(fd, data.encode() if isinstance(data, str) else data)
        if durable:
            os.fsync(fd)
    finally:
        os.close(fd)


def _write_all(fd: int, data: bytes) -> None:
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
    fd = os.open(path, _READ)  # only an open makes an NFS client ask the server again
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
    os.close(os.open(path, os.O_WRONLY | _CREATE, 0o666))


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
            _write_all(self._fd, b"\n" * self._is_torn(size) + b"".join(line + b"\n" for line in data))
            os.fdatasync(self._fd)
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


# ---- whole folders ------------------------------------------------------------------------------------------------


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
    temporary = target.with_name(f".aj-{secrets.token_hex(8)}.tmp")
    try:
        copied = _copy_entries(source, temporary, limit)
        for folder in (temporary, *(p for p in temporary.rglob("*") if p.is_dir())):
            fsync_dir(folder)
        temporary.rename(target)
    except _Refused as refused:
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
    except _Refused as refused:
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
                raise _Refused(unreadable(source.name, entry.status.st_mode))
            else:
                copied += _copy_file(entry, place, source.name, limit - copied, limit)
    return copied


def _copy_file(entry: _Entry, target: Path, root: str, left: int, limit: int) -> int:
    fd = os.open(target, os.O_WRONLY | _CREATE, 0o777 if entry.status.st_mode & stat.S_IXUSR else 0o666)
    try:
        copied = _pump(entry, root, left, limit, functools.partial(_write_all, fd))
        os.fsync(fd)
    finally:
        os.close(fd)
    return copied


def _pump(entry: _Entry, root: str, left: int, limit: int, sink: Callable[[bytes], object]) -> int:
    """Reads one file into `sink`; the number of bytes. Raises `_Refused` when it is over what is `left` of `limit`."""
    read = 0
    while part := _attempt(entry.path, os.read, entry.fd, _CHUNK):
        read += len(part)
        if read > left:
            raise _Refused(too_large(root, limit))
        sink(part)
    return read


def _walk(root: Path) -> Generator[_Entry, None, None]:
    """A file, or a folder and all that is in it, parents first, in order of name. Raises `_Refused`."""
    for number, entry in enumerate(_visit(None, str(root), root.name, 0)):
        if number == _MAX_ENTRIES:
            raise _Refused(Unreadable(why=Why.TOO_LARGE, message=f"{root.name} holds over {_MAX_ENTRIES} entries"))
        yield entry


def _visit(parent: int | None, name: str, path: str, depth: int) -> Iterator[_Entry]:
    """Goes by descriptors, never by path: a folder swapped for a link on the way leads nowhere else."""
    fd = _attempt(path, os.open, name, _READ | os.O_NOFOLLOW, dir_fd=parent)
    try:
        status = os.fstat(fd)
        if not (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode)):
            raise _Refused(unreadable(path, status.st_mode))
        entry = _Entry(path=path, fd=fd, status=status)
        yield entry
        if entry.is_folder:
            if depth == _MAX_DEPTH:
                raise _Refused(Unreadable(why=Why.TOO_LARGE, message=f"{path} is nested too deeply"))
            for child in sorted(_attempt(path, os.listdir, fd)):
                yield from _visit(fd, child, f"{path}/{child}", depth + 1)
    finally:
        os.close(fd)


def _attempt(name: str, call: Callable[..., T], *args: object, **kwargs: object) -> T:
    """What `call` returns; its OSError becomes a `_Refused` that names the file."""
    try:
        return call(*args, **kwargs)
    except OSError as error:
        raise _Refused(unreadable_by(name, error)) from error
