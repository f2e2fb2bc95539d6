"""Which watchers of a home live, as far as a passer-by can tell."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import UTC, datetime

from msgspec import Struct

from ajet_inbox.app.heartbeat import Sign, signs
from ajet_inbox.app.identity import host_name
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.processes import alive, boot_id

SILENT_AFTER_S = 60.0


class Watcher(Struct, frozen=True, kw_only=True):
    """A watcher by its last sign of life, and whether it lives."""

    sign: Sign
    alive: bool


class Watchers:
    """Looks at the watchers of a home. A counter that moves between two looks proves life, whatever the clocks say."""

    def __init__(
        self,
        home: HomePaths,
        clock: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._home = home
        self._clock = clock
        self._now = now
        self._counters: dict[str, tuple[str, int]] = {}
        self._moved: dict[str, float] = {}  # when the counter of a host was last seen to move

    def look(self) -> tuple[Watcher, ...]:
        """The watchers by host; none where the folder cannot be read now."""
        try:
            found = signs(self._home)
        except OSError:
            return ()
        return tuple(Watcher(sign=sign, alive=self._is_alive(sign)) for sign in found)

    def living(self) -> frozenset[str]:
        """The hosts with a watcher that would answer."""
        return frozenset(watcher.sign.host for watcher in self.look() if watcher.alive)

    def _is_alive(self, sign: Sign) -> bool:
        if sign.host == host_name() and sign.pid_ns == _pid_namespace():
            return sign.boot_id == boot_id() and alive(sign.pid, sign.started)
        counter = (sign.nonce, sign.counter)
        if self._counters.setdefault(sign.host, counter) != counter:
            self._moved[sign.host] = self._clock()
        self._counters[sign.host] = counter
        if sign.host in self._moved:
            return self._clock() - self._moved[sign.host] <= SILENT_AFTER_S
        return abs((self._now() - sign.at).total_seconds()) <= SILENT_AFTER_S


def _pid_namespace() -> int:
    """Pids mean something only within one of these: containers have their own."""
    return os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116  (a link that leads nowhere)
