"""Waiting for an event, but not for ever."""

from __future__ import annotations

import asyncio
import contextlib


async def wait(event: asyncio.Event, seconds: float) -> None:
    """Until `event`, `seconds` at most."""
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(event.wait(), seconds)
