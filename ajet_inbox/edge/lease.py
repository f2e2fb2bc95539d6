"""One active watcher per home and host: the kernel's own lock, let go the instant its holder dies, however it dies.

Which watcher may act on a *run* is told by the run's journal, on any filesystem and over any number of hosts; this lock
only keeps a second watcher of the same host from doing the first one's work beside it.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path


class Lease:
    """The right to be the active watcher, held until the process ends."""

    def __init__(self, path: Path) -> None:
        """`path` names the lock; its folder is made.

        Raises:
            OSError: it cannot be opened.
        """
        path.parent.mkdir(exist_ok=True)
        self._fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o666)

    def try_take(self) -> bool:
        """Take it if nobody has it."""
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def take(self) -> None:
        """Wait until nobody has it, then take it. Blocks the calling thread."""
        fcntl.flock(self._fd, fcntl.LOCK_EX)

    def close(self) -> None:
        """Give it back."""
        os.close(self._fd)
