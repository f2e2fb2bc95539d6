"""Host-wide locks: one for whoever supervises an attempt, one for each of its GPUs (contract section 1)."""
# ruff: noqa: PTH123, SIM105

from __future__ import annotations

import fcntl
import os
import time

PATIENCE_S = 5.0  # the former holder may be a supervisor that has written exit.json and is about to end
_RETRY_S = 0.02


class Busy(Exception):
    """A lock is held by somebody else."""


class Locks:
    """Locks, held until this process ends. Nothing it starts inherits them."""

    def __init__(self, holder: str) -> None:
        self._holder = f"{holder} {os.getpid()}\n".encode()
        self._fds: list[int] = []

    def take(self, path: str, patience_s: float = PATIENCE_S) -> None:
        """Takes the lock `path`, waiting for `patience_s` seconds at most.

        Raises:
            Busy: somebody else keeps it; the message says who.
            OSError: the file cannot be opened or locked.
        """
        deadline = time.monotonic() + patience_s
        while not self._try(path):
            if time.monotonic() >= deadline:
                raise Busy(f"{path} is held by {_holder(path) or 'somebody'}")
            time.sleep(_RETRY_S)

    def touch(self) -> None:
        """Shows cleaners of temporary folders, which take what was left alone for days, that the files are in use."""
        for fd in self._fds:
            os.utime(fd)

    def _try(self, path: str) -> bool:
        fd = _open(path)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(fd, 0)
            os.pwrite(fd, self._holder, 0)
        except BlockingIOError:
            os.close(fd)
            return False
        self._fds.append(fd)
        return True


def _open(path: str) -> int:
    """Opens a lock that users share, in a folder like /tmp: no link is followed, for what comes next writes into it.

    Another user's file may not even be opened with O_CREAT there (fs.protected_regular).
    """
    try:
        return os.open(path, os.O_RDWR | os.O_NOFOLLOW)
    except FileNotFoundError:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    try:
        os.fchmod(fd, 0o666)
    except PermissionError:  # another user was faster
        pass
    return fd


def _holder(path: str) -> str:
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read(200).strip()
