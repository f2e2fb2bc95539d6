"""Signs of life: to other hosts and `status`, to systemd; and the slots that this host has."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Callable
from datetime import datetime

from loguru import logger
from msgspec.structs import replace

from ajet_inbox.app.acts import World
from ajet_inbox.app.heartbeat import Peers, Sign, show, sign, signs
from ajet_inbox.app.waiting import wait
from ajet_inbox.core import events as saw
from ajet_inbox.core.lifecycle import State
from ajet_inbox.edge import systemd
from ajet_inbox.edge.inbox import Scan
from ajet_inbox.edge.slots import CannotTell, discover

_SLOTS_AGAIN_S = 30.0


class Pulse:
    """Shows that the watcher lives, for as long as its loop turns. `scan` gives the last look at the inbox."""

    def __init__(self, world: World, scan: Callable[[], Scan | None]) -> None:
        self._world, self._settings, self._scan = world, world.settings, scan
        self._peers = Peers(world.me.host, world.settings.watch.silent_after)
        self._trouble: str | None = None
        self.changed = asyncio.Event()  # a sign is given at once, not at the next beat

    async def beat(self) -> None:
        """Show the others that we live, and see who else does. Trouble with the disk is theirs to see, not our end."""
        for counter in itertools.count():
            self.changed.clear()
            try:
                await asyncio.to_thread(show, self._world.home, self._sign(counter))
                peers = self._peers.look(await asyncio.to_thread(signs, self._world.home))
            except OSError as error:
                logger.warning("No sign of life could be given: {}", error)
            else:
                if peers != self._world.fleet().peers:
                    self._world.tell(saw.PeersSeen(hosts=peers))
            await wait(self.changed, self._settings.watch.heartbeat)

    def _sign(self, counter: int) -> Sign:
        scan = self._scan()
        return replace(
            sign(self._world.me, counter, self._world.fleet(), datetime.now().astimezone()),
            slots_trouble=self._trouble,
            strangers=scan.strangers if scan else (),
            inbox_missing=bool(scan and scan.missing),
        )

    async def find_slots(self) -> None:
        """Find the slots of this host, however long its driver takes; they stay what they are until the next start."""
        while True:
            found = await asyncio.to_thread(discover, self._settings, self._world.me.host)
            if not isinstance(found, CannotTell):
                break
            self._trouble = found.message
            logger.error("No slots: {}", found.message)
            await asyncio.sleep(_SLOTS_AGAIN_S)
        self._trouble = None
        self._world.tell(saw.SlotsSeen(slots=found))
        await asyncio.Event().wait()

    async def feed_watchdog(self) -> None:
        """Tell systemd that the loop turns, for as long as it turns."""
        systemd.notify(systemd.READY)
        interval = systemd.watchdog_interval()
        while True:
            runs = self._world.fleet().runs
            running = sum(run.state is State.RUNNING for run in runs.values())
            systemd.notify(systemd.WATCHDOG, systemd.status(f"{running} running, {len(runs)} not finished"))
            await asyncio.sleep(interval or 60.0)
