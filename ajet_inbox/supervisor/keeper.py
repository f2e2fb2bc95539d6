"""The supervisor's course: take the locks, begin or adopt the attempt, see it through, say how it ended."""
# ruff: noqa: PTH109, PTH110, SIM105

from __future__ import annotations

import ctypes
import os

from ajet_inbox.supervisor import files
from ajet_inbox.supervisor.bell import Bell
from ajet_inbox.supervisor.command import Gone, OwnCommand, Reaper, Stopped, Taken
from ajet_inbox.supervisor.locks import Busy, Locks
from ajet_inbox.supervisor.spec import Spec

_GLANCE_S = 0.5  # a watcher that asks whether the lock is held takes it for a moment
_SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER of <linux/prctl.h>


def main() -> None:
    """Supervises the attempt of the working folder, and ends the process.

    Exit 1, with a sentence on stderr, where it cannot. The interpreter's own end is left out: it takes milliseconds,
    for which the GPUs would stay locked.
    """
    try:
        _supervise(Spec())
    except (Busy, Taken):
        pass  # the attempt is in other hands: this was one start too many
    except (OSError, ValueError, KeyError, TypeError, Gone) as error:
        _complain(f"{type(error).__name__}: {error}")
        os._exit(1)
    os._exit(0)


def _complain(why: str) -> None:
    try:
        sentence = f"The attempt in {os.getcwd()} cannot be supervised: {why}\n"
        os.write(2, sentence.encode(errors="replace"))
    except OSError:  # the folder or the terminal may be gone
        pass


def _supervise(spec: Spec) -> None:
    try:
        os.setsid()
    except PermissionError:  # refused to the leader of a session, which is as safe from terminals as a new one
        pass
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


# What is imported inside functions takes 10 ms, for which the command would wait.


def _begin(spec: Spec, bell: Bell, locks: Locks) -> None:
    reaper = Reaper()
    try:
        if os.path.exists(files.STOP):
            raise Stopped
        for path in spec.gpu_locks:
            locks.take(path)
        command = OwnCommand(spec, reaper)
    except (Stopped, Busy, OSError) as error:
        from ajet_inbox.supervisor.refused import refuse

        refuse(spec, error)
    else:
        from ajet_inbox.supervisor.watch import Watch

        Watch(spec, command, reaper, bell, locks).run()


def _adopt(spec: Spec, bell: Bell, locks: Locks) -> None:
    from ajet_inbox.supervisor.adopted import AdoptedCommand
    from ajet_inbox.supervisor.watch import Watch

    command = AdoptedCommand()
    for path in spec.gpu_locks:
        try:
            locks.take(path, patience_s=0)
        except (Busy, OSError):  # taken while nobody held it: a reason for alarm, none to leave the attempt alone
            pass
    Watch(spec, command, Reaper(), bell, locks).run()
