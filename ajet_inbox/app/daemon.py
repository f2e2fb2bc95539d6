"""A watcher from its first breath to its last: settings, lease, signals, and the loop in between."""

from __future__ import annotations

import asyncio
import signal
import threading
from pathlib import Path

from loguru import logger

from ajet_inbox.app.attempts import Attempts
from ajet_inbox.app.identity import host_name, myself
from ajet_inbox.app.warmup import warm_up
from ajet_inbox.app.watcher import Watcher
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge import environment, neutral, systemd
from ajet_inbox.edge.lease import Lease
from ajet_inbox.edge.tmux import Tmux

_SYSTEMD = Path("/run/systemd/system")


async def watch(home: HomePaths, settings: Settings, *, drain: bool = False, once: bool = False) -> None:
    """Be the active watcher of `home` on this host, or stand by until the active one ends and then take over.

    Returns when a signal asks for it; with `drain` when every run but held ones is finished, with `once` when what lay
    in the inbox at the start is.

    Raises:
        UnsafeFolderError: the runtime folder cannot be trusted.
        OSError: the outbox cannot be written.
    """
    ending = asyncio.Event()
    _on_signals(ending)
    lease = Lease(home.lock(host_name()))
    if not lease.try_take() and not await _stand_by(lease, ending):
        return
    watcher = await asyncio.to_thread(_prepare, home, settings)
    logger.info("Watching {}", home.inbox)
    watching = asyncio.create_task(watcher.run(drain=drain, once=once))
    asked = asyncio.create_task(ending.wait())
    await asyncio.wait((watching, asked), return_when=asyncio.FIRST_COMPLETED)
    systemd.notify(systemd.STOPPING)
    watcher.end()
    await watching
    logger.info("Ended; what runs goes on, and the next watcher adopts it")


def _on_signals(ending: asyncio.Event) -> None:
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ending.set)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # a closed terminal is no reason to stop watching


async def _stand_by(lease: Lease, ending: asyncio.Event) -> bool:
    """Wait for the lease; False when asked to end before."""
    logger.info("Another watcher of this home is active on this host; standing by")
    systemd.notify(systemd.READY, systemd.status("standing by"))
    loop, taken = asyncio.get_running_loop(), asyncio.Event()

    def wait() -> None:
        lease.take()
        loop.call_soon_threadsafe(taken.set)

    threading.Thread(target=wait, daemon=True).start()
    waits = [asyncio.create_task(event.wait()) for event in (taken, ending)]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    return taken.is_set()


def _prepare(home: HomePaths, settings: Settings) -> Watcher:
    runtime = neutral.runtime_dir(home.root)
    neutral.prepare(runtime)
    attempts = Attempts(runtime, Tmux(runtime, systemd=_SYSTEMD.is_dir()))
    attempts.open()
    if trouble := attempts.trouble():
        logger.error("Without tmux no experiment is started: {}", trouble)
    warm_up(home, settings)
    return Watcher(home, settings, myself(), attempts, environment.gather(settings.env, home.root))
