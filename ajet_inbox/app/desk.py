"""What comes in: drops from the inbox, and what people ask. Drops are claimed and examined; the core judges them."""

from __future__ import annotations

import asyncio
import secrets
from datetime import datetime, timedelta

from loguru import logger

from ajet_inbox.app import examine
from ajet_inbox.app.acts import World, log_failure
from ajet_inbox.app.identity import judge
from ajet_inbox.app.lanes import AGAIN_S
from ajet_inbox.core import events as saw
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge import control, intake
from ajet_inbox.edge.files import list_names
from ajet_inbox.edge.inbox import Complete, Drop, Inbox, Scan
from ajet_inbox.edge.intake import Arrival, Intake
from ajet_inbox.edge.mounts import settle_for


class Desk:
    """Where drops and requests are received. `intakes` are the claimed drops that are no runs yet, by drop id."""

    def __init__(self, world: World, intakes: dict[str, Intake]) -> None:
        self._world, self._home, self._tell = world, world.home, world.tell
        self._intakes = intakes
        self._waiting: asyncio.Queue[Intake] = asyncio.Queue()
        self._claiming = False
        self.scan: Scan | None = None
        limits = world.settings.limits
        self._inbox = Inbox(
            self._home.inbox,
            settle_s(world.settings, self._home),
            file_limit=limits.blueprint_bytes,
            folder_limit=limits.drop_bytes,
        )
        self.note_renamed_in = self._inbox.note_renamed_in

    @property
    def is_busy(self) -> bool:
        """Whether a drop is on its way from the inbox to a run folder."""
        return self._claiming or bool(self._intakes)

    async def look(self) -> None:
        """Scan the inbox, and claim what is complete.

        Raises:
            OSError: it cannot be looked at now.
        """
        scan = await asyncio.to_thread(self._inbox.scan)
        for name in scan.new_strangers:
            logger.warning("inbox/{} is no blueprint and is left where it is", name)
        if scan.missing and not (self.scan and self.scan.missing):
            logger.error("The inbox cannot be read: {}", scan.missing.message)
        if scan.complete:
            self._claiming = True
            for each in await asyncio.to_thread(self._claim_all, scan.complete):
                self._welcome(each)
            self._claiming = False
        self.scan = scan

    def _claim_all(self, drops: tuple[Drop, ...]) -> list[Intake]:
        now = datetime.now().astimezone()
        claimed = []
        for number, drop in enumerate(drops):
            arrival = _arrival(drop, now + timedelta(microseconds=number))
            try:
                claimed.append(intake.claim(self._home, self._world.me, secrets.token_hex(6), arrival))
            except OSError as error:
                logger.error("inbox/{} could not be claimed: {}", drop.name, error)
        return [each for each in claimed if each is not None]

    def _welcome(self, claimed: Intake) -> None:
        self._intakes[claimed.drop_id] = claimed
        self._tell(saw.Arriving(drop_ids=(claimed.drop_id,)))
        self._waiting.put_nowait(claimed)

    def once_more(self, drop_id: str) -> None:
        """Examine a claimed drop again: it could not be admitted."""
        self._waiting.put_nowait(self._intakes[drop_id])

    async def adopt(self) -> None:
        """Go on with the drops that dead watchers of this host had claimed.

        Raises:
            OSError: the outbox cannot be used now.
        """
        for name, owner in await asyncio.to_thread(intake.abandoned, self._home):
            if judge(self._world.me, owner) is not saw.Holder.DEAD:
                continue
            adopted = await asyncio.to_thread(intake.adopt, self._home, name, self._world.me)
            if adopted is not None:
                self._welcome(adopted)

    async def examine(self) -> None:
        """Examine claimed drops for ever, one after the other, in order of arrival."""
        loop = asyncio.get_running_loop()
        while True:
            claimed = await self._waiting.get()
            try:
                await self._examine(claimed)
            except Exception as error:  # one drop that we cannot cope with must not keep the others waiting
                log_failure(f"Reading the drop {claimed.arrival.name}", error)
                self._tell(saw.Delayed(drop_id=claimed.drop_id))
                loop.call_later(AGAIN_S, self._waiting.put_nowait, claimed)

    async def _examine(self, claimed: Intake) -> None:
        if not await asyncio.to_thread(intake.stands, self._home, claimed):
            del self._intakes[claimed.drop_id]
            return
        known = (self._home, claimed, self._world.settings, self._world.environment)
        self._tell(await asyncio.to_thread(examine.read_drop, *known))

    async def hear(self) -> None:
        """Tell what people ask. A request stays until it is answered, so it is simply told again.

        Raises:
            OSError: the requests cannot be read now.
        """
        names = await asyncio.to_thread(list_names, self._home.control)
        if (paused := self._home.paused.name in names) != self._world.fleet().paused:
            self._tell(saw.PauseSeen(paused=paused))
        for request_id, request in await asyncio.to_thread(control.requests, self._home):
            if request is not None:
                self._tell(
                    saw.Asked(
                        request_id=request_id,
                        run=request.run,
                        ask=request.ask,
                        by=request.by,
                        reason=request.reason,
                        priority=request.priority,
                    )
                )


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
