"""Why something is not read: a value and one sentence for whatever may lie where a file was expected."""

from __future__ import annotations

import errno
import stat
from collections.abc import Callable
from enum import StrEnum
from typing import TypeVar

from msgspec import Struct

from ajet_inbox.core.drops import printable

T = TypeVar("T")


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


class Refused(Exception):
    """Carries an `Unreadable` out of a walk; never leaves this package."""

    def __init__(self, reason: Unreadable) -> None:
        super().__init__(reason.message)
        self.reason = reason


def unreadable(name: str, mode: int) -> Unreadable:
    """Why something of this `st_mode` is not read."""
    why = _BY_TYPE[stat.S_IFMT(mode)]
    return _because(why, name, _SENTENCES[why])


def unreadable_by(name: str, error: OSError) -> Unreadable:
    """What an error from the system means."""
    why = _BY_ERRNO.get(error.errno or 0, Why.FAILED)
    return _because(why, name, _SENTENCES.get(why, f"could not be read: {error.strerror}"))


def too_large(name: str, limit: int, unit: str = "bytes") -> Unreadable:
    """Why something over `limit` is not read."""
    return _because(Why.TOO_LARGE, name, f"is larger than the limit of {limit} {unit}")


def _because(why: Why, name: str, words: str) -> Unreadable:
    return Unreadable(why=why, message=f"{printable(name)} {words}")  # a foreign name may hold anything


def attempt(name: str, call: Callable[..., T], *args: object, **kwargs: object) -> T:
    """What `call` returns; its OSError becomes a `Refused` that names the file."""
    try:
        return call(*args, **kwargs)
    except OSError as error:
        raise Refused(unreadable_by(name, error)) from error
