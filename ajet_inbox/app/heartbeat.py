"""What a watcher shows of itself to other hosts and to `status`: a small file, rewritten every few seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime

import msgspec
from msgspec import Struct

from ajet_inbox import __version__
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.journal import Owner
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.files import Unreadable, list_names, read_regular, write_quick

_LIMIT = 1 << 20


class SlotSign(Struct, frozen=True, kw_only=True):
    """A slot as shown: the run on it, or why it takes none."""

    name: str
    gpus: tuple[str, ...]
    run: str | None = None
    down: str | None = None


class Sign(Struct, frozen=True, kw_only=True):
    """A sign of life. `counter` grows with each: others judge by that, on their own clock, never by `at`."""

    host: str
    boot_id: str
    pid: int
    started: int
    pid_ns: int
    nonce: str
    counter: int
    version: str
    at: datetime
    slots: tuple[SlotSign, ...] = ()
    slots_trouble: str | None = None
    strangers: tuple[str, ...] = ()
    inbox_missing: bool = False


def sign(me: Owner, counter: int, fleet: Fleet, now: datetime) -> Sign:
    """This watcher's sign of life."""
    occupied = fleet.occupied()
    slots = tuple(
        SlotSign(name=slot.name, gpus=slot.gpus, run=occupied.get(slot.name), down=slot.down) for slot in fleet.slots
    )
    return Sign(**msgspec.structs.asdict(me), counter=counter, version=__version__, at=now, slots=slots)


def show(home: HomePaths, given: Sign) -> None:
    """Rewrite this host's sign.

    Raises:
        OSError: it could not be written.
    """
    write_quick(home.watcher(given.host), msgspec.json.encode(given))


def signs(home: HomePaths) -> list[Sign]:
    """The signs of all hosts, those of the dead included; what is no sign is left out."""
    names = [name for name in list_names(home.watchers) if name.endswith(".json") and not name.startswith(".")]
    found = (read_regular(home.watchers / name, _LIMIT) for name in names)
    return [each for data in found if not isinstance(data, Unreadable) and (each := _decode(data)) is not None]


def _decode(data: bytes) -> Sign | None:
    try:
        return msgspec.json.decode(data, type=Sign)
    except msgspec.MsgspecError:
        return None


class Peers:
    """Which other hosts have a living watcher: one whose counter has moved within `silent_after_s` of our own clock."""

    def __init__(self, host: str, silent_after_s: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._host = host
        self._silent_after_s = silent_after_s
        self._clock = clock
        self._moved: dict[str, tuple[tuple[str, int], float]] = {}

    def look(self, found: list[Sign]) -> tuple[str, ...]:
        """The hosts that live, by the signs found now. A host that is seen for the first time counts as living."""
        now = self._clock()
        for each in found:
            state = (each.nonce, each.counter)
            if self._moved.get(each.host, (None, 0.0))[0] != state:
                self._moved[each.host] = (state, now)
        living = [host for host, (_, at) in self._moved.items() if now - at < self._silent_after_s]
        return tuple(sorted(host for host in living if host != self._host))
