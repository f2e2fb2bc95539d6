"""launch.sh, as started by this supervisor."""

from __future__ import annotations

import os
import time

from ajet_inbox.supervisor import files, proc, signal, tree

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

    from ajet_inbox.supervisor.spec import Spec

SHELL = "/bin/bash"
SCRIPT = "launch.sh"
CLEANUP_SCRIPT = "cleanup.sh"  # run by launch.sh when it is given this argument
CLEANUP = "cleanup"
_NOT_EXECUTED = 127


class Taken(Exception):
    """The attempt was begun, or even ended, by another supervisor."""


class Gone(Exception):
    """The attempt was begun on another host or before a reboot, so its end cannot be seen from here."""


class Stopped(Exception):
    """The attempt was asked to end before it was begun."""


class Child:
    """A script of the attempt, started here in a session of its own, held at a gate before its first instruction."""

    def __init__(self, spec: Spec, arguments: list[str]) -> None:
        gate, self._release = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            _become_script(spec, arguments, gate, self._release)
        os.close(gate)
        process = proc.read(self.pid)
        assert process is not None, "a child is there, if only as a zombie, until it is waited for"
        self.start_time = process.start_time

    def let_go(self) -> None:
        """Opens the gate."""
        os.write(self._release, b"1")
        os.close(self._release)

    def withdraw(self) -> None:
        """Shuts the gate for ever: the script is never executed. The same happens if this process dies now."""
        os.close(self._release)
        os.waitpid(self.pid, 0)


def _become_script(spec: Spec, arguments: list[str], gate: int, release: int) -> NoReturn:
    """Nothing here may return to the parent's code, whatever fails."""
    try:
        os.close(release)  # or the end of the parent would not be seen at the gate
        os.setsid()
        _redirect()
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            signal.signal(number, signal.SIG_DFL)  # ignored ones would stay so in all that the command starts
        if os.read(gate, 1):
            tag = {tree.TAG.encode(): spec.attempt_id.encode()}
            os.execve(SHELL, ["bash", SCRIPT, *arguments], {**spec.env, **tag})  # noqa: S606
    except BaseException as error:
        os.write(2, f"{SHELL} could not be started: {error}\n".encode())
    os._exit(_NOT_EXECUTED)


def _redirect() -> None:
    nothing = os.open(os.devnull, os.O_RDONLY)
    console = os.open(files.CONSOLE, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    for target, source in ((0, nothing), (1, console), (2, console)):
        os.dup2(source, target)


class Reaper:
    """Takes in whatever ends below this process, a subreaper, and keeps the status of those it was told to watch."""

    def __init__(self) -> None:
        self._statuses: dict[int, int | None] = {}

    def watch(self, pid: int) -> None:
        """From now on the status of the child `pid` is kept."""
        self._statuses[pid] = None

    def status(self, pid: int) -> int | None:
        """How the watched child `pid` ended, as waitpid has it; None while it lives."""
        try:
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                if ended[0] in self._statuses and self._statuses[ended[0]] is None:  # not an orphan that got the number
                    self._statuses[ended[0]] = ended[1]
        except ChildProcessError:
            pass
        return self._statuses[pid]

    def alone(self) -> bool:
        """True when nothing at all is left below this process: a subreaper without children has no descendants."""
        try:
            os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return True
        return False


def exit_code(status: int) -> tuple[int, int | None]:
    """Exit code as bash would report it, and the signal that ended the process itself, from waitpid's `status`."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        return 128 + number, number
    return os.WEXITSTATUS(status), None


class OwnCommand:
    """launch.sh as a child: its end is known to the millisecond, with its status."""

    adopted = False
    pidfd: int | None = None

    def __init__(self, spec: Spec, reaper: Reaper) -> None:
        """Begins the attempt, which exactly one caller in the world can do.

        Raises:
            Taken: it was begun by another.
            OSError: its files cannot be written; nothing was executed.
        """
        self._reaper = reaper
        child = Child(spec, [])
        reaper.watch(child.pid)
        self.identity = child.pid, child.start_time
        self.started_at, self.begun = files.now(), time.monotonic()
        try:
            first = files.create(files.STARTED, self._record(spec))
        except OSError:
            child.withdraw()
            raise
        if not first:
            child.withdraw()
            raise Taken
        child.let_go()
        try:  # only now, for it takes 10 ms: what a power cut forgets had not done anything yet
            files.settle(files.STARTED)
            files.settle(".")
        except OSError:
            pass

    def ended(self) -> bool:
        """Whether launch.sh has ended."""
        return self._reaper.status(self.identity[0]) is not None

    def alone(self) -> bool:
        """Whether it certainly left nothing behind."""
        return self._reaper.alone()

    def result(self) -> tuple[int | None, int | None]:
        """Exit code and signal; unknown only where launch.sh could not even be killed."""
        status = self._reaper.status(self.identity[0])
        return (None, None) if status is None else exit_code(status)

    def _record(self, spec: Spec) -> dict[str, str | int | float]:
        keeper = proc.read(os.getpid())
        assert keeper is not None, "this very process"
        return {
            "attempt_id": spec.attempt_id,
            "host": os.uname().nodename,
            "boot_id": proc.boot_id(),
            "pid": self.identity[0],
            "start_time": self.identity[1],
            "keeper_pid": keeper.pid,
            "keeper_start_time": keeper.start_time,
            "started_at": self.started_at,
            "monotonic": self.begun,
        }
