"""The processes of this host, for a watcher: who lives, who belongs to an attempt, and their end.

Times are field 22 of /proc/PID/stat, clock ticks since boot: with it, and on one boot, a pid names one process.
"""

from __future__ import annotations

import asyncio
import os
import signal
import time

from msgspec import Struct

from ajet_inbox.core.attempt import Fate, Leftover, StopSignal
from ajet_inbox.supervisor import proc
from ajet_inbox.supervisor.tree import Sweep, Tree, stop_signals


class Process(Struct, frozen=True, kw_only=True):
    """A living process of this boot."""

    pid: int
    start_time: int
    name: str


def boot_id() -> str:
    """What tells this boot of this host from all others."""
    return proc.boot_id()


def start_time(pid: int) -> int | None:
    """When `pid` was started, in ticks since boot; None where there is no such process."""
    process = proc.read(pid)
    return process.start_time if process else None


def alive(pid: int, start_time: int) -> bool:
    """Whether exactly this process still runs; a zombie does not."""
    return proc.alive(pid, start_time)


async def ended(pid: int, start_time: int) -> None:
    """Returns when exactly this process has ended, within milliseconds; at once where it is gone already."""
    fd = proc.open_pidfd(pid, start_time)
    if fd is None:
        return
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(fd, readable.set)
    try:
        await readable.wait()
    finally:
        loop.remove_reader(fd)
        os.close(fd)


def send_signal(pid: int, start_time: int, number: int) -> None:
    """Signals exactly this process, if it still lives: never another that got its pid."""
    proc.send(pid, start_time, number)


def wake(pid: int, start_time: int) -> bool:
    """Lets exactly this process go on if somebody has stopped it; whether it was."""
    process = proc.read(pid)
    if process is None or process.start_time != start_time or process.state != "T":
        return False
    proc.send(pid, start_time, signal.SIGCONT)
    return True


def tagged(attempt_id: str) -> tuple[Process, ...]:
    """What lives of the attempt: every process that carries its tag, and what those started."""
    members = Tree(attempt_id).members()
    return tuple(Process(pid=p.pid, start_time=p.start_time, name=p.name) for p in members)


def sweep(attempt_id: str, grace_s: float, first: StopSignal = StopSignal.TERM) -> tuple[Leftover, ...]:
    """Ends what lives of an attempt whose supervisor is gone, and says what became of each.

    Blocks for `grace_s` and ten seconds more at most, for what has to be killed.
    """
    ending = Sweep(Tree(attempt_id), stop_signals(first), grace_s, _sleep_until)
    ending.run()
    return tuple(
        Leftover(pid=identity[0], name=name, fate=Fate(ending.fate(identity))) for identity, name in ending.seen.items()
    )


def _sleep_until(moment: float) -> None:
    time.sleep(max(0.0, moment - time.monotonic()))
