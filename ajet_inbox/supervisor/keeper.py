"""The supervisor's course: take the locks, begin or adopt the attempt, see it through, say how it ended."""
# ruff: noqa: PTH109, PTH110

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

from ajet_inbox.supervisor import files
from ajet_inbox.supervisor.bell import Bell
from ajet_inbox.supervisor.command import AdoptedCommand, Gone, OwnCommand, Reaper, Taken
from ajet_inbox.supervisor.locks import Busy, Locks
from ajet_inbox.supervisor.spec import Spec
from ajet_inbox.supervisor.watch import STOPPED, Watch, stop_reason

NOT_STARTED = "not_started"
_GLANCE_S = 0.5  # a watcher that asks whether the lock is held takes it for a moment
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>


def main() -> int:
    """Supervises the attempt of the working folder. Exit 1, with a sentence on stderr, where it cannot."""
    try:
        _supervise(Spec())
    except (Busy, Taken):
        return 0  # the attempt is in other hands: this was one start too many
    except (Gone, OSError, ValueError, KeyError, TypeError) as error:
        with suppress(OSError):  # the terminal may be gone
            sentence = f"The attempt in {os.getcwd()} cannot be supervised: {type(error).__name__}: {error}\n"
            os.write(2, sentence.encode(errors="replace"))
        return 1
    return 0


def _supervise(spec: Spec) -> None:
    with suppress(PermissionError):  # refused to the leader of a session, which is as safe from terminals as a new one
        os.setsid()
    bell = Bell()
    ctypes.CDLL(None).prctl(_SUBREAPER, 1, 0, 0, 0)
    locks = Locks(spec.attempt_id)
    locks.take(spec.lock, patience_s=_GLANCE_S)
    if os.path.exists(files.EXIT):
        raise Taken
    if os.path.exists(files.STARTED):
        _adopt(spec, bell, locks)
    else:
        _begin(spec, bell, locks)


def _begin(spec: Spec, bell: Bell, locks: Locks) -> None:
    if os.path.exists(files.STOP):
        _refuse(spec, STOPPED, stop_reason=stop_reason())
        return
    reaper = Reaper()
    try:
        for path in spec.gpu_locks:
            locks.take(path)
        command = OwnCommand(spec, reaper)
    except (Busy, OSError) as error:
        _refuse(spec, NOT_STARTED, error=str(error))
        return
    Watch(spec, command, reaper, bell, locks).run()


def _adopt(spec: Spec, bell: Bell, locks: Locks) -> None:
    command = AdoptedCommand()
    for path in spec.gpu_locks:
        with suppress(Busy, OSError):  # taken while nobody held it: a reason for alarm, none to leave the attempt alone
            locks.take(path, patience_s=0)
    Watch(spec, command, Reaper(), bell, locks).run()


def _refuse(spec: Spec, cause: str, *, stop_reason: str | None = None, error: str | None = None) -> None:
    record = {"attempt_id": spec.attempt_id, "cause": cause, "stop_reason": stop_reason, "error": error}
    files.write(files.EXIT, {**record, "ended_at": files.now()})
