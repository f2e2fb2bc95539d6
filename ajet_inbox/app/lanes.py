"""Lanes: the effects of one run are performed one after the other, those of different runs side by side."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable

from ajet_inbox.core.effects import Effect
from ajet_inbox.core.events import Event

AGAIN_S = 5.0  # after an act that failed: a full disk or a lost mount does not come back in a moment


class Lanes:
    """Performs effects in order, lane by lane. `perform` gives what is to be told, by `tell`, of one that failed."""

    def __init__(self, perform: Callable[[Effect], Awaitable[Event | None]], tell: Callable[[Event], None]) -> None:
        self._perform = perform
        self._tell = tell
        self._waiting: dict[str, deque[Effect]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def add(self, lane: str, effect: Effect) -> None:
        """Put an effect at the end of its lane."""
        self._waiting.setdefault(lane, deque()).append(effect)
        if lane not in self._tasks:
            self._tasks[lane] = asyncio.create_task(self._run(lane), name=f"lane {lane}")

    @property
    def idle(self) -> bool:
        """Whether nothing is being performed."""
        return not self._tasks

    def failures(self) -> list[BaseException]:
        """Exceptions that no act should have let through; each is told once."""
        done = {lane: task for lane, task in self._tasks.items() if task.done()}
        for lane in done:
            del self._tasks[lane]
        return [error for task in done.values() if not task.cancelled() and (error := task.exception())]

    async def _run(self, lane: str) -> None:
        waiting = self._waiting[lane]
        while waiting:
            failure = await self._perform(waiting.popleft())
            if failure is not None:
                await asyncio.sleep(AGAIN_S)
                waiting.clear()  # all of it, the newest too, was decided as if this act had been done
                self._tell(failure)
        # Nothing may be awaited from here on: an effect added now finds no lane and starts a new one.
        del self._waiting[lane], self._tasks[lane]
