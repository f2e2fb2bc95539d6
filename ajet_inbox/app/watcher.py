"""The watcher: one loop that joins the world and the core. It decides nothing and touches nothing by itself.

Events come from the inbox, the outbox, requests, the clock and finished acts; `decide` turns each into effects, which
lanes perform. A crash at any point costs nothing but time: the next life begins with the journals.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import secrets
from datetime import datetime, timedelta

from loguru import logger
from msgspec.structs import replace

from ajet_inbox.app import examine
from ajet_inbox.app.acts import Acts, World, log_failure
from ajet_inbox.app.attempts import Attempts
from ajet_inbox.app.heartbeat import Peers, Sign, show, sign, signs
from ajet_inbox.app.identity import judge
from ajet_inbox.app.lanes import AGAIN_S, Lanes
from ajet_inbox.app.snapshots import Snapshots
from ajet_inbox.core import effects as do
from ajet_inbox.core import events as saw
from ajet_inbox.core.decide import decide
from ajet_inbox.core.fleet import Fleet, Policy, next_due
from ajet_inbox.core.journal import Owner, Unreadable
from ajet_inbox.core.lifecycle import InvalidTransition, State
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge import control, intake, systemd
from ajet_inbox.edge.files import list_names
from ajet_inbox.edge.inbox import Complete, Drop, Inbox, Scan
from ajet_inbox.edge.inbox_events import InboxEvents
from ajet_inbox.edge.intake import Arrival, Intake
from ajet_inbox.edge.mounts import settle_for
from ajet_inbox.edge.slots import CannotTell, discover

_SLOTS_AGAIN_S = 30.0
_SNAPSHOT_S = 0.05
_GRACE_S = 5.0  # for acts that are under way when the watcher is told to end


class Watcher:
    """The active watcher of one home on this host."""

    def __init__(
        self, home: HomePaths, settings: Settings, me: Owner, attempts: Attempts, environment: dict[str, str]
    ) -> None:
        self._home, self._settings, self._me, self._attempts = home, settings, me, attempts
        self._environment = environment
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
        self._snapshots = Snapshots(home, attempts, self._acts.progress, lambda: self.fleet)
        self._wake, self._changed, self._ending = asyncio.Event(), asyncio.Event(), asyncio.Event()
        self._dirty, self._slots_changed = asyncio.Event(), asyncio.Event()
        self._intakes: asyncio.Queue[Intake] = asyncio.Queue()
        self._inbox = Inbox(
            home.inbox,
            settle_s(settings, home),
            file_limit=settings.limits.blueprint_bytes,
            folder_limit=settings.limits.drop_bytes,
        )
        self._scan: Scan | None = None
        self._strange: set[str] = set()
        self._peers = Peers(me.host, settings.watch.silent_after)
        self._slots_trouble: str | None = None
        self._accepting, self._claiming = True, False

    # --- events ------------------------------------------------------------------------------------------------------

    def tell(self, event: saw.Event) -> None:
        """Let the core decide on an event, and have done what it decides."""
        occupied = self.fleet.occupied()
        self.fleet, effects = decide(self.fleet, event, _now())
        if isinstance(event, saw.SlotsSeen) or self.fleet.occupied() != occupied:
            self._slots_changed.set()
        for effect in effects:
            self._lanes.add(_lane(effect), effect)
        if isinstance(event, saw.AdmitFailed):
            self._intakes.put_nowait(self._acts.intakes[event.drop_id])
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
            self._examine(),
            self._keep_time(),
            self._beat(),
            self._find_slots(),
            self._write_snapshots(),
            self._feed_watchdog(),
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
            if once and loop.time() >= settled_at and not (self._scan and self._scan.settling):
                self._accepting = False
            if (drain or (once and not self._accepting)) and self._is_drained():
                return
            self._changed.clear()
            await _wait(self._changed, 0.25)

    def _is_drained(self) -> bool:
        scan = self._scan
        waiting = scan is None or (self._accepting and (scan.complete or scan.settling))
        busy = waiting or self._claiming or self._acts.intakes or self.fleet.arriving or not self._lanes.idle
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
        for name, owner in await asyncio.to_thread(intake.abandoned, self._home):
            if judge(self._me, owner) is saw.Holder.DEAD:
                self._welcome(await asyncio.to_thread(intake.adopt, self._home, name, self._me))
        await self._hear()

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

    # --- the inbox, and what people ask ------------------------------------------------------------------------------

    async def _look_around(self) -> None:
        """Scan when woken, and every few seconds anyhow: events may be lost, a scan sees all."""
        loop = asyncio.get_running_loop()

        def wake() -> None:
            loop.call_soon_threadsafe(self._wake.set)

        drops = InboxEvents(self._home.inbox, wake, self._inbox.note_renamed_in)
        asked = InboxEvents(self._home.control, wake, lambda name: None)
        try:
            while True:
                self._wake.clear()
                await asyncio.to_thread(lambda: (drops.check(), asked.check()))
                pause = await self._try_to_look()
                await _wait(self._wake, pause)
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
            scan = await asyncio.to_thread(self._inbox.scan)
            await self._take_in(scan)
            self._scan = scan
        await self._read_outbox()
        await self._hear()
        self._changed.set()
        due = self._scan.next_look_s if self._scan and self._accepting else None
        return min(self._settings.watch.scan, due if due is not None else self._settings.watch.scan)

    async def _take_in(self, scan: Scan) -> None:
        for name in scan.new_strangers:
            logger.warning("inbox/{} is no blueprint and is left where it is", name)
        if scan.missing and not (self._scan and self._scan.missing):
            logger.error("The inbox cannot be read: {}", scan.missing.message)
        if not scan.complete:
            return
        self._claiming = True
        for each in await asyncio.to_thread(self._claim_all, scan.complete):
            self._welcome(each)
        self._claiming = False

    def _claim_all(self, drops: tuple[Drop, ...]) -> list[Intake]:
        now = _now()
        claimed = []
        for number, drop in enumerate(drops):
            arrival = _arrival(drop, now + timedelta(microseconds=number))
            try:
                claimed.append(intake.claim(self._home, self._me, secrets.token_hex(6), arrival))
            except OSError as error:
                logger.error("inbox/{} could not be claimed: {}", drop.name, error)
        return [each for each in claimed if each is not None]

    def _welcome(self, claimed: Intake | None) -> None:
        if claimed is None:
            return
        self._acts.intakes[claimed.drop_id] = claimed
        self.tell(saw.Arriving(drop_ids=(claimed.drop_id,)))
        self._intakes.put_nowait(claimed)

    async def _examine(self) -> None:
        """Judge claimed drops, one after the other, in order of arrival."""
        loop = asyncio.get_running_loop()
        while True:
            claimed = await self._intakes.get()
            try:
                if not await asyncio.to_thread(intake.stands, self._home, claimed):
                    del self._acts.intakes[claimed.drop_id]
                    continue
                known = (self._home, claimed, self._settings, self._environment)
                self.tell(await asyncio.to_thread(examine.read_drop, *known))
            except Exception as error:  # one drop that we cannot cope with must not keep the others waiting
                log_failure(f"Reading the drop {claimed.arrival.name}", error)
                self.tell(saw.Delayed(drop_id=claimed.drop_id))
                loop.call_later(AGAIN_S, self._intakes.put_nowait, claimed)

    async def _hear(self) -> None:
        """What people ask. A request stays until it is answered, so it is simply told again."""
        names = await asyncio.to_thread(list_names, self._home.control)
        if (paused := self._home.paused.name in names) != self.fleet.paused:
            self.tell(saw.PauseSeen(paused=paused))
        for request_id, request in await asyncio.to_thread(control.requests, self._home):
            if request is not None:
                self.tell(
                    saw.Asked(
                        request_id=request_id,
                        run=request.run,
                        ask=request.ask,
                        by=request.by,
                        reason=request.reason,
                        priority=request.priority,
                    )
                )

    # --- the clock ---------------------------------------------------------------------------------------------------

    async def _keep_time(self) -> None:
        while True:
            due = next_due(self.fleet)
            wait = (due - _now()).total_seconds() if due else 1.0
            await asyncio.sleep(min(max(wait, 0.02), 1.0))
            if due and _now() >= due:
                self.tell(saw.Tick())

    async def _beat(self) -> None:
        """Show the others that we live, and see who else does. Trouble with the disk is theirs to see, not our end."""
        for counter in itertools.count():
            self._slots_changed.clear()
            try:
                await asyncio.to_thread(show, self._home, self._sign(counter))
                peers = self._peers.look(await asyncio.to_thread(signs, self._home))
            except OSError as error:
                logger.warning("No sign of life could be given: {}", error)
            else:
                if peers != self.fleet.peers:
                    self.tell(saw.PeersSeen(hosts=peers))
            await _wait(self._slots_changed, self._settings.watch.heartbeat)

    def _sign(self, counter: int) -> Sign:
        return replace(
            sign(self._me, counter, self.fleet, _now()),
            slots_trouble=self._slots_trouble,
            strangers=self._scan.strangers if self._scan else (),
            inbox_missing=bool(self._scan and self._scan.missing),
        )

    async def _find_slots(self) -> None:
        while True:
            found = await asyncio.to_thread(discover, self._settings, self._me.host)
            if not isinstance(found, CannotTell):
                break
            self._slots_trouble = found.message
            logger.error("No slots: {}", found.message)
            await asyncio.sleep(_SLOTS_AGAIN_S)
        self._slots_trouble = None
        self.tell(saw.SlotsSeen(slots=found))
        await asyncio.Event().wait()  # slots are what they are until the next start

    async def _write_snapshots(self) -> None:
        while True:
            self._dirty.clear()
            try:
                await asyncio.to_thread(self._snapshots.renew, _now())
            except OSError as error:
                logger.warning("A snapshot could not be written: {}", error)
            await asyncio.sleep(_SNAPSHOT_S)
            await _wait(self._dirty, self._settings.progress.read)

    async def _feed_watchdog(self) -> None:
        """Tell systemd that the loop turns, for as long as it turns."""
        systemd.notify(systemd.READY)
        interval = systemd.watchdog_interval()
        while True:
            running = sum(run.state is State.RUNNING for run in self.fleet.runs.values())
            systemd.notify(systemd.WATCHDOG, systemd.status(f"{running} running, {len(self.fleet.runs)} not finished"))
            await asyncio.sleep(interval or 60.0)


def _lane(effect: do.Effect) -> str:
    match effect:
        case do.Admit():
            return effect.drop_id
        case _:
            return effect.run


async def _wait(event: asyncio.Event, seconds: float) -> None:
    """Until `event`, `seconds` at most."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)


def settle_s(settings: Settings, home: HomePaths) -> float:
    """Seconds for which a drop must stay the same before it is taken."""
    return settings.watch.settle if settings.watch.settle is not None else settle_for(home.inbox)


def _arrival(drop: Drop, at: datetime) -> Arrival:
    seen = drop.signature
    return Arrival(
        name=drop.name,
        kind=drop.kind,
        submitted_at=at,
        signature=(seen.inode, seen.size, seen.mtime_ns) if drop.why is Complete.SETTLED else None,
        refused=drop.refused.message if drop.refused else None,
    )


def _policy(settings: Settings) -> Policy:
    return Policy(
        world_wait_s=settings.limits.world_wait,
        max_attempts=settings.repair.max_attempts,
        backoff_s=settings.repair.backoff,
    )


def _now() -> datetime:
    return datetime.now().astimezone()
