"""An attempt from its first instruction to `exit.json`."""
# ruff: noqa: PTH110

from __future__ import annotations

import math
import os
import time
from contextlib import suppress

from ajet_inbox.supervisor import files, records
from ajet_inbox.supervisor.command import CLEANUP, CLEANUP_SCRIPT, Child, OwnCommand, Reaper, exit_code
from ajet_inbox.supervisor.leftovers import Leftovers
from ajet_inbox.supervisor.tree import ALIVE, Sweep, Tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from ajet_inbox.supervisor.adopted import AdoptedCommand
    from ajet_inbox.supervisor.bell import Bell
    from ajet_inbox.supervisor.locks import Locks
    from ajet_inbox.supervisor.spec import Spec

MAX_TIME = "max_time"
_LOOK_S = 0.2  # between two looks at what the command left: each reads all of /proc


class Watch:
    """Sees one attempt through. Needs nobody, and outlives every trouble but its own death."""

    def __init__(
        self, spec: Spec, command: OwnCommand | AdoptedCommand, reaper: Reaper, bell: Bell, locks: Locks
    ) -> None:
        self._spec = spec
        self._command = command
        self._reaper = reaper
        self._bell = bell
        self._locks = locks
        self._tree = Tree(spec.attempt_id, reaper=os.getpid(), leader=command.identity)
        self._sweep = Sweep(self._tree, spec.stop_signals, spec.grace_s, self._pause)
        self._deadline = command.begun + (math.inf if spec.limit_s is None else spec.limit_s)
        self._beats, self._next_beat, self._next_look = 0, 0.0, 0.0
        self._leftovers: Leftovers | None = None
        self._command_ended_at: str | None = None
        if command.pidfd is not None:
            bell.add(command.pidfd)

    def run(self) -> None:
        """Returns when the attempt is over and exit.json says how."""
        cause = self._wait_for_end()
        self._end_all()
        cleanup, error = self._clean_up()
        code, number = self._command.result()
        status = files.status()
        self._leave(
            {
                "attempt_id": self._spec.attempt_id,
                "exit_code": code,
                "signal": number,
                "stage": status[1] if status else None,
                "cause": cause,
                "stop_reason": records.stop_reason() if cause == records.STOPPED else None,
                "error": error,
                "started_at": self._command.started_at,
                "command_ended_at": self._command_ended_at,
                "ended_at": files.now(),
                "cleanup_exit_code": cleanup,
                "adopted": self._command.adopted,
                **self._remains(),
            }
        )

    def _wait_for_end(self) -> str | None:
        """Returns when nothing of the attempt is at work any more (None), or why it has to be ended."""
        while True:
            if self._command_ended() and not self._at_work():
                return None
            if self._bell.stop_asked:
                return records.STOPPED
            if time.monotonic() >= self._deadline:
                return MAX_TIME
            self._pause(min(self._deadline, self._next_look) if self._leftovers else self._deadline)

    def _command_ended(self) -> bool:
        if not self._command.ended():
            return False
        if self._leftovers is None:
            self._command_ended_at = files.now()
            look_s, idle_s = self._spec.leftover_look_s, self._spec.leftover_idle_s
            self._leftovers = Leftovers(look_s, idle_s, time.monotonic(), files.console_size())
            if self._command.pidfd is not None:
                self._bell.remove(self._command.pidfd)
        return True

    def _at_work(self) -> bool:
        assert self._leftovers is not None, "asked only after the end of the command"
        now = time.monotonic()
        if self._command.alone():
            return False
        if now < self._next_look:
            return True
        self._next_look = now + _LOOK_S
        return self._leftovers.at_work(self._tree.members(), now, files.console_size())

    def _pause(self, until: float) -> None:
        """Waits until something happens, at the latest `until`, and keeps the heart beating."""
        self._bell.wait(min(until, self._next_beat))
        self._command_ended()
        if time.monotonic() >= self._next_beat:
            self._beat()

    def _beat(self) -> None:
        self._beats += 1
        self._next_beat = time.monotonic() + self._spec.beat_s
        with suppress(OSError):  # a full disk must not end an experiment
            files.beat(self._beats)
            self._locks.touch()
        if self._command.adopted:
            self._tree.members()  # to know them when their parents are gone: what an orphan starts, others inherit
        if os.path.exists(files.STOP):
            self._bell.stop_asked = True

    def _end_all(self) -> None:
        if not (self._command_ended() and self._command.alone()):
            self._sweep.run()

    def _clean_up(self) -> tuple[int | None, str | None]:
        """Runs the cleanup command, whatever the outcome. Its exit code, or why it could not be run."""
        if not os.path.exists(CLEANUP_SCRIPT):
            return None, None
        try:
            child = Child(self._spec, [CLEANUP])
        except OSError as error:
            return None, f"The cleanup command could not be run: {error}"
        self._reaper.watch(child.pid)
        child.let_go()
        deadline = time.monotonic() + self._spec.cleanup_s
        while self._reaper.status(child.pid) is None and time.monotonic() < deadline:
            self._pause(deadline)
        self._end_all()
        status = self._reaper.status(child.pid)
        return (None if status is None else exit_code(status)[0]), None

    def _remains(self) -> dict[str, Any]:
        """What had to be ended besides launch.sh, or outlived it; and what could not be ended."""
        seen = {**(self._leftovers.seen if self._leftovers else {}), **self._sweep.seen}
        fates = [
            (identity, {"pid": identity[0], "name": name, "fate": self._sweep.fate(identity)})
            for identity, name in seen.items()
        ]
        return {
            "leftovers": [row for identity, row in fates if identity != self._command.identity],
            "unkillable": [row for _, row in fates if row["fate"] == ALIVE],
        }

    def _leave(self, record: dict[str, Any]) -> None:
        """Writes exit.json, however long it takes: without it nobody would ever learn the end."""
        while not files.folder_lost():
            try:
                records.write(files.EXIT, record)
            except OSError:  # a full disk, a stalled mount
                self._pause(time.monotonic() + self._spec.beat_s)
            else:
                return
