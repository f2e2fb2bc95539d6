"""The watcher: one loop that joins the world and the core. It decides nothing and touches nothing by itself.

Events come from the inbox, the outbox, requests, the clock and finished acts; `decide` turns each into effects, which
lanes perform. A crash at any point costs nothing but time: the next life begins with the journals.
"""

from __future__ import annotations

import asyncio
from datetime import datetime

from loguru import logger

from ajet_inbox.app.acts import Acts, World
from ajet_inbox.app.attempts import Attempts
from ajet_inbox.app.desk import Desk, settle_s
from ajet_inbox.app.identity import judge
from ajet_inbox.app.lanes import Lanes
from ajet_inbox.app.pulse import Pulse
from ajet_inbox.app.snapshots import Snapshots
from ajet_inbox.app.telling_log import changes
from ajet_inbox.app.waiting import wait
from ajet_inbox.core import effects as do
from ajet_inbox.core import events as saw
from ajet_inbox.core.decide import decide
from ajet_inbox.core.fleet import Fleet, Policy, next_due
from ajet_inbox.core.journal import Owner, Unreadable
from ajet_inbox.core.lifecycle import InvalidTransition, State
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge.files import list_names
from ajet_inbox.edge.inbox_events import InboxEvents

_SNAPSHOT_S = 0.05
_GRACE_S = 5.0  # for acts that are under way when the watcher is told to end


class Watcher:
    """The active watcher of one home on this host."""

    def __init__(
        self, home: HomePaths, settings: Settings, me: Owner, attempts: Attempts, environment: dict[str, str]
    ) -> None:
        self._home, self._settings, self._me, self._attempts = home, settings, me, attempts
        self.fleet = Fleet(me=me, policy=_policy(settings))
        world = World(
            home=home,
            settings=settings,
            me=me,
            environment=environment,
            attempts=attempts,
            tell=self.tell,
            fleet=lambda: self.fleet,
        )
        self._acts = Acts(world)
        self._lanes = Lanes(self._acts, self.tell)
        self._desk = Desk(world, self._acts.intakes)
        self._pulse = Pulse(world, lambda: self._desk.scan)
        self._snapshots = Snapshots(world, self._acts.progress)
        self._wake, self._changed, self._ending, self._dirty = (asyncio.Event() for _ in range(4))
        self._strange: set[str] = set()
        self._accepting = True

    # --- events ------------------------------------------------------------------------------------------------------

    def tell(self, event: saw.Event) -> None:
        """Let the core decide on an event, and have done what it decides."""
        before = self.fleet
        self.fleet, effects = decide(before, event, _now())
        for line in changes(before, self.fleet):
            logger.info("{}", line)
        if isinstance(event, saw.SlotsSeen) or self.fleet.occupied() != before.occupied():
            self._pulse.changed.set()
        for effect in effects:
            self._lanes.add(_lane(effect), effect)
        if isinstance(event, saw.AdmitFailed):
            self._desk.once_more(event.drop_id)
        self._changed.set()
        self._dirty.set()

    def end(self) -> None:
        """Stop watching. What runs goes on; the next watcher adopts it."""
        self._ending.set()
        self._changed.set()

    async def run(self, *, drain: bool = False, once: bool = False) -> None:
        """Watch until `end` is called; with `drain` or `once` until there is nothing left to do."""
        await self._recover()
        loops = [
            self._look_around(),
            self._desk.examine(),
            self._keep_time(),
            self._pulse.beat(),
            self._pulse.find_slots(),
            self._pulse.feed_watchdog(),
            self._write_snapshots(),
            self._until_over(drain=drain, once=once),
        ]
        tasks = [asyncio.create_task(each) for each in loops]
        done, rest = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in rest:
            task.cancel()
        await asyncio.gather(*rest, return_exceptions=True)
        for task in done:
            task.result()
        await self._finish_acts()
        await asyncio.to_thread(self._attempts.close)

    async def _until_over(self, *, drain: bool, once: bool) -> None:
        loop = asyncio.get_running_loop()
        settled_at = loop.time() + 2 * settle_s(self._settings, self._home)
        while not self._ending.is_set():
            if once and loop.time() >= settled_at and not (self._desk.scan and self._desk.scan.settling):
                self._accepting = False
            if (drain or (once and not self._accepting)) and self._is_drained():
                return
            self._changed.clear()
            await wait(self._changed, 0.25)

    def _is_drained(self) -> bool:
        scan = self._desk.scan
        waiting = scan is None or (self._accepting and (scan.complete or scan.settling))
        busy = waiting or self._desk.is_busy or self.fleet.arriving or not self._lanes.idle
        return not busy and all(run.state is State.HELD for run in self.fleet.runs.values())

    async def _finish_acts(self) -> None:
        """Let what is under way come to its end: a launch that is cut short costs the next watcher a look."""
        deadline = asyncio.get_running_loop().time() + _GRACE_S
        while not self._lanes.idle and asyncio.get_running_loop().time() < deadline:
            await asyncio.sleep(0.01)
        await asyncio.to_thread(self._snapshots.renew, _now())

    # --- the outbox --------------------------------------------------------------------------------------------------

    async def _recover(self) -> None:
        """Begin with what is: runs before slots, so that a slot at work is never taken for a free one."""
        await asyncio.to_thread(self._make_folders)
        await self._read_outbox()
        await self._desk.adopt()
        await self._desk.hear()

    def _make_folders(self) -> None:
        for folder in (self._home.intake, self._home.receipts, self._home.control, self._home.watchers):
            folder.mkdir(parents=True, exist_ok=True)

    async def _read_outbox(self) -> None:
        """Read the runs that we do not know, and those that another host may have changed."""
        names = await asyncio.to_thread(list_names, self._home.outbox)
        present = {name for name in names if not name.startswith(".")}
        known = self.fleet.runs.keys() | self.fleet.settled.keys() | self._strange
        for name in present - known:
            await self._read_run(name)
        for run in list(self.fleet.runs.values()):
            if run.name not in present:
                self.tell(saw.Vanished(run=run.name))
            elif self.fleet.peers and not self.fleet.mine(run) and run.name not in self.fleet.taking:
                await self._read_run(run.name)

    async def _read_run(self, name: str) -> None:
        try:
            run = await asyncio.to_thread(self._acts.read, name)
        except (NotADirectoryError, PermissionError, Unreadable, InvalidTransition) as error:
            logger.warning("outbox/{} is left alone: {}", name, error)
            run = None
        except OSError as error:
            logger.warning("outbox/{} cannot be read now: {}", name, error)
            return
        if run is None:
            self._strange.add(name)
        elif run != self.fleet.runs.get(name):
            self.tell(saw.JournalRead(run=run, holder=judge(self._me, run.holder)))

    # --- looking around ----------------------------------------------------------------------------------------------

    async def _look_around(self) -> None:
        """Scan when woken, and every few seconds anyhow: events may be lost, a scan sees all."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake.set)

        drops = InboxEvents(self._home.inbox, wake, self._desk.note_renamed_in)
        asked = InboxEvents(self._home.control, wake, lambda name: None)
        try:
            while True:
                self._wake.clear()
                await asyncio.to_thread(lambda: (drops.check(), asked.check()))
                pause = await self._try_to_look()
                await wait(self._wake, pause)
        finally:
            drops.close()
            asked.close()

    async def _try_to_look(self) -> float:
        """A home that cannot be looked at now, for its filesystem stalls or was unmounted, is no reason to end."""
        try:
            return await self._look()
        except OSError as error:
            logger.warning("The home cannot be looked at, and will be again: {}", error)
            return self._settings.watch.scan

    async def _look(self) -> float:
        """One look at everything; seconds until the next is due."""
        if self._accepting:
            await self._desk.look()
        await self._read_outbox()
        await self._desk.hear()
        self._changed.set()
        scan, pause = self._desk.scan, self._settings.watch.scan
        return min(pause, scan.next_look_s) if self._accepting and scan and scan.next_look_s is not None else pause

    # --- the clock ---------------------------------------------------------------------------------------------------

    async def _keep_time(self) -> None:
        while True:
            due = next_due(self.fleet)
            wait = (due - _now()).total_seconds() if due else 1.0
            await asyncio.sleep(min(max(wait, 0.02), 1.0))
            if due and _now() >= due:
                self.tell(saw.Tick())

    async def _write_snapshots(self) -> None:
        while True:
            self._dirty.clear()
            try:
                await asyncio.to_thread(self._snapshots.renew, _now())
            except OSError as error:
                logger.warning("A snapshot could not be written: {}", error)
            await asyncio.sleep(_SNAPSHOT_S)
            await wait(self._dirty, self._settings.progress.read)


def _lane(effect: do.Effect) -> str:
    match effect:
        case do.Admit():
            return effect.drop_id
        case _:
            return effect.run


def _policy(settings: Settings) -> Policy:
    return Policy(
        world_wait_s=settings.limits.world_wait,
        max_attempts=settings.repair.max_attempts,
        backoff_s=settings.repair.backoff,
    )


def _now() -> datetime:
    return datetime.now().astimezone()
