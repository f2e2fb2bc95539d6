"""Whether what a command left behind is still at work (contract section 4), and what became of each."""

from __future__ import annotations

import re

from ajet_inbox.supervisor import proc

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ajet_inbox.supervisor.proc import Process
    from ajet_inbox.supervisor.tree import Identity

WORK_S = 0.05  # less CPU than this is what an idle program burns by existing

# Programs that serve until told to end. Ray starts its own in their own session, and the next run would join them.
_DAEMON = re.compile(
    rb"ray::|(\S*/)?(raylet|gcs_server)( |$)"
    rb"|\S+ .*/ray/(_private|dashboard|autoscaler)/\S+\.py( |$)|\S+ .*\bray\.util\.client\.server( |$)"
)


def is_daemon(command_line: list[bytes]) -> bool:
    """Whether this is a known daemon, which never counts as work."""
    return _DAEMON.match(b" ".join(command_line)) is not None


def _serves(process: Process) -> bool:
    # One that hangs in the kernel is not asked: to read its command line can hang as well.
    return process.state != "D" and is_daemon(proc.command_line(process.pid))


class Leftovers:
    """Judges, look by look, the processes that live on after the command. Times are seconds of the monotonic clock."""

    def __init__(self, look_s: float, idle_s: float, ended_at: float, console_size: int) -> None:
        self._look_s = look_s
        self._idle_s = idle_s
        self._ended_at = ended_at
        self._console = console_size
        self._printed_at: float | None = None
        self._marks: dict[Identity, tuple[int, float]] = {}
        self.seen: dict[Identity, str] = {}

    def at_work(self, processes: list[Process], now: float, console_size: int) -> bool:
        """Whether any of `processes` is at work. What is idle is left alone meanwhile: the others may need it."""
        self.seen.update((p.identity, p.name) for p in processes)
        if console_size != self._console:
            self._console, self._printed_at = console_size, now
        # Every process is asked, not up to the first that works: each look renews the marks.
        working = [self._works(p, now) for p in processes if not _serves(p)]
        return any(working) or (bool(working) and self._recent(self._printed_at, now))

    def _works(self, process: Process, now: float) -> bool:
        if process.state == "D":  # waiting for a disk or a GPU
            return True
        if process.cpu <= WORK_S * proc.TICKS_PER_S:
            return proc.age(process) < self._look_s
        return self._recent(self._active_at(process, now), now)

    def _active_at(self, process: Process, now: float) -> float:
        cpu, at = self._marks.get(process.identity, (process.cpu, self._ended_at))
        if process.cpu - cpu >= WORK_S * proc.TICKS_PER_S:
            cpu, at = process.cpu, now
        self._marks[process.identity] = cpu, at
        return at

    def _recent(self, at: float | None, now: float) -> bool:
        return at is not None and now - at < self._idle_s
