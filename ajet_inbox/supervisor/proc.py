"""What the kernel says about processes. A pid alone names nobody: it is always paired with its start time."""
# ruff: noqa: PTH123, PTH208

from __future__ import annotations

import os
import time

from ajet_inbox.supervisor import signal

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


class Process:
    """One line of /proc/PID/stat. `start_time` and `cpu` are in clock ticks; `cpu` includes the children it reaped."""

    __slots__ = ("cpu", "name", "parent", "pid", "session", "start_time", "state", "threads")

    def __init__(self, stat: str) -> None:
        # The name is the one free text in the line, and may itself hold ") ".
        head, _, tail = stat.rpartition(")")
        pid, _, self.name = head.partition(" (")
        fields = tail.split()
        self.pid = int(pid)
        self.state = fields[0]
        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.cpu = sum(map(int, fields[11:15]))
        self.threads = int(fields[17])
        self.start_time = int(fields[19])

    @property
    def identity(self) -> tuple[int, int]:
        """What no other process of this boot shares."""
        return self.pid, self.start_time

    @property
    def dead(self) -> bool:
        """True for a zombie, except one whose first thread alone has ended while others work on."""
        return self.state in "ZX" and self.threads <= 1


def read(pid: int) -> Process | None:
    """The process `pid`, zombies included; None where there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            return Process(file.read())
    except (OSError, IndexError, ValueError):  # it ended, perhaps while being read
        return None


def table() -> dict[int, Process]:
    """Every process of the machine, by pid."""
    found = (read(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return {process.pid: process for process in found if process}


def alive(pid: int, start_time: int) -> bool:
    """Whether exactly this process still runs. A container's PID 1 reaps late, so a zombie counts as dead."""
    process = read(pid)
    return process is not None and process.start_time == start_time and not process.dead


def environment(pid: int) -> list[bytes]:
    """The variables `pid` was started with, as NAME=VALUE; none where they may not be read."""
    return _zero_separated(f"/proc/{pid}/environ")


def command_line(pid: int) -> list[bytes]:
    """The arguments of `pid`; none where they may not be read."""
    return _zero_separated(f"/proc/{pid}/cmdline")


def _zero_separated(path: str) -> list[bytes]:
    try:
        with open(path, "rb") as file:
            return file.read().rstrip(b"\0").split(b"\0")
    except OSError:
        return []


def age(process: Process) -> float:
    """Seconds since `process` was started."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) - process.start_time / TICKS_PER_S


def boot_id() -> str:
    """What tells this boot of this host from all others."""
    with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
        return file.read().strip()


def open_pidfd(pid: int, start_time: int) -> int | None:
    """A pidfd of exactly this process, readable once it has ended; None where it is gone already."""
    try:
        fd = os.pidfd_open(pid)
    except OSError:
        return None
    if alive(pid, start_time):  # asked after opening: now the pid cannot be given to another any more
        return fd
    os.close(fd)
    return None


def send(pid: int, start_time: int, number: int) -> None:
    """Signals exactly this process, if it still lives and belongs to this user."""
    fd = open_pidfd(pid, start_time)
    if fd is None:
        return
    try:
        signal.pidfd_send_signal(fd, number)
    except OSError:  # ended between the two, or another user's, which shows as a process that stays
        return
    finally:
        os.close(fd)
