"""An inbox with a clock that a test turns."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from ajet_inbox.edge.inbox import Complete, Drop, Inbox, Scan

SETTLE_S = 3.0


class Watch:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.now = 100.0
        self.inbox = Inbox(folder, SETTLE_S, clock=lambda: self.now, file_limit=1000, folder_limit=3000)

    def scan(self, after: float = 0.0) -> Scan:
        self.now += after
        return self.inbox.scan()

    def taken(self, after: float = 0.0) -> list[tuple[str, Complete]]:
        return [(drop.name, drop.why) for drop in self.scan(after).complete]

    def only(self, after: float = 0.0) -> Drop:
        (drop,) = self.scan(after).complete
        return drop


def until(condition: Callable[[], object], seconds: float = 15.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited in vain"
        time.sleep(0.005)
