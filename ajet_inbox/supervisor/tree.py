"""Who belongs to an attempt, and how all of it is ended."""

from __future__ import annotations

import time

from ajet_inbox.supervisor import proc, signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from ajet_inbox.supervisor.proc import Process

    Identity = tuple[int, int]

TAG = "AJET_INBOX_ATTEMPT_ID"
KILL_PATIENCE_S = 10.0  # a killed process that is still there after this hangs in the kernel
_STOP_SIGNALS: dict[str, list[int]] = {"SIGTERM": [signal.SIGTERM], "SIGINT": [signal.SIGINT, signal.SIGTERM]}
_FIRST_LOOK_S = 0.01
_LAST_LOOK_S = 0.2

TERMINATED = "terminated"
KILLED = "killed"
ALIVE = "alive"
ENDED = "ended"


class Tree:
    """The living processes of the attempt `attempt_id`, found in every way that there is.

    * What carries the tag in its environment, wherever it was reparented.
    * The children of `reaper`, a subreaper: what was started with a fresh environment, in a session of its own or not.
    * The session that `leader`, launch.sh, opened, for as long as it lives (after that the number may be another's).
    * The children of all these, and what was once seen to be one.
    """

    def __init__(self, attempt_id: str, *, reaper: int | None = None, leader: Identity | None = None) -> None:
        self._tag = f"{TAG}={attempt_id}".encode()
        self._reaper = reaper
        self._leader = leader
        self._known: set[Identity] = set()
        self._foreign: set[Identity] = set()

    def members(self) -> list[Process]:
        """Those that live now, the reaper left out."""
        table = proc.table()
        self._foreign.intersection_update(p.identity for p in table.values())
        session = self._session(table)
        found = _with_descendants([p for p in table.values() if self._belongs(p, session)], table)
        self._known = {p.identity for p in found}
        return [p for p in found if not p.dead]

    def _session(self, table: dict[int, Process]) -> int | None:
        if self._leader is None or self._leader not in (p.identity for p in table.values()):
            return None
        return self._leader[0]

    def _belongs(self, process: Process, session: int | None) -> bool:
        if process.identity in self._known or process.parent == self._reaper or process.session == session:
            return True
        return self._tagged(process)

    def _tagged(self, process: Process) -> bool:
        """Asks each process once, for none gains the tag later, and an answer costs more than all the rest.

        One that hangs in the kernel is not asked: to read its environment can hang as well.
        """
        if process.identity in self._foreign or process.state == "D":
            return False
        environment = proc.environment(process.pid)
        if self._tag in environment:
            return True
        if environment != [b""]:  # empty: a kernel thread, or one caught in the middle of an exec
            self._foreign.add(process.identity)
        return False


def _with_descendants(seeds: list[Process], table: dict[int, Process]) -> list[Process]:
    children: dict[int, list[Process]] = {}
    for process in table.values():
        children.setdefault(process.parent, []).append(process)
    found = {process.pid: process for process in seeds}
    fresh = list(seeds)
    while fresh:
        for child in children.get(fresh.pop().pid, ()):
            if child.pid not in found:
                found[child.pid] = child
                fresh.append(child)
    return list(found.values())


def stop_signals(first: str) -> list[int]:
    """What is sent within the grace, in order. What ignores INT, as background jobs of shells do, still gets a TERM."""
    return _STOP_SIGNALS[first]


class Sweep:
    """Ends a tree: the signals of `first` shared out over the grace, then KILL, until nothing lives."""

    def __init__(self, tree: Tree, first: list[int], grace_s: float, pause: Callable[[float], None]) -> None:
        self._tree = tree
        self._first = first
        self._grace_s = grace_s
        self._pause = pause
        self._sent: dict[Identity, int] = {}
        self.seen: dict[Identity, str] = {}
        self.remaining: list[Process] = []

    def run(self) -> None:
        """Returns when nothing is left, or only what cannot be killed: then `remaining` names it.

        The looks grow rarer, for each reads all of /proc; `pause` may end early when something happened.
        """
        begun = time.monotonic()
        look_s = _FIRST_LOOK_S
        while True:
            self.remaining = self._tree.members()
            self.seen.update((p.identity, p.name) for p in self.remaining)
            elapsed = time.monotonic() - begun
            if not self.remaining or elapsed > self._grace_s + KILL_PATIENCE_S:
                return
            self._signal(self._due(elapsed))
            self._pause(time.monotonic() + look_s)
            look_s = min(look_s * 1.5, _LAST_LOOK_S)

    def fate(self, identity: Identity) -> str:
        """What became of one that was seen alive before or during the sweep."""
        if any(p.identity == identity for p in self.remaining):
            return ALIVE
        if identity not in self._sent:
            return ENDED
        return KILLED if self._sent[identity] == signal.SIGKILL else TERMINATED

    def _due(self, elapsed: float) -> int:
        if elapsed >= self._grace_s:
            return signal.SIGKILL
        return self._first[int(elapsed / self._grace_s * len(self._first))]

    def _signal(self, number: int) -> None:
        for process in self.remaining:
            if self._sent.get(process.identity) != number:
                self._sent[process.identity] = number
                proc.send(*process.identity, number)
                if process.state == "T":  # a stopped process follows no signal but KILL until it is continued
                    proc.send(*process.identity, signal.SIGCONT)
