"""What the supervisor waits for: a child's end, a signal, a pidfd, the time."""

from __future__ import annotations

import os
import select
import time

from ajet_inbox.supervisor import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType


class Bell:
    """Installs the supervisor's signal handlers and turns signals into wake-ups. One a process, in its main thread."""

    def __init__(self) -> None:
        self.stop_asked = False
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        os.set_blocking(writer, False)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        self._poll = select.poll()
        self._poll.register(self._reader, select.POLLIN)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a killed tmux server is no reason to end anything
        signal.signal(signal.SIGCHLD, self._ring)
        signal.signal(signal.SIGTERM, self._stop)
        signal.signal(signal.SIGINT, self._stop)

    def add(self, fd: int) -> None:
        """Rings once `fd` is readable."""
        self._poll.register(fd, select.POLLIN)

    def remove(self, fd: int) -> None:
        """Rings for `fd` no more."""
        self._poll.unregister(fd)

    def wait(self, until: float) -> None:
        """Returns when something happened, at the latest at `until` on the monotonic clock."""
        left_s = max(0.0, until - time.monotonic())
        for fd, _ in self._poll.poll(left_s * 1000):
            if fd == self._reader:
                os.read(fd, 4096)

    def _ring(self, _number: int, _frame: FrameType | None) -> None:
        """The wake-up itself is written by the interpreter."""

    def _stop(self, _number: int, _frame: FrameType | None) -> None:
        self.stop_asked = True
