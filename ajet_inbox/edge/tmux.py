"""tmux, through libtmux (contract section 8).

Whether an experiment lives is never asked here: a killed server looks exactly like a finished session, and Debian's
tmux before 3.5 loses the exit status of every second pane. Sessions are for people to look at.
"""

from __future__ import annotations

import os
import queue
import shlex
import signal
import threading
import time
from enum import StrEnum
from pathlib import Path

from libtmux.common import tmux_cmd
from libtmux.exc import TmuxCommandNotFound
from msgspec import Struct

from ajet_inbox.edge import files
from ajet_inbox.supervisor import proc

TIMEOUT_S = 5.0  # a stopped server answers nothing, for ever
HISTORY_LINES = 10_000

_CONF = f"""\
set -s exit-empty off
set -s exit-unattached off
set -g destroy-unattached off
set -g remain-on-exit on
set -g history-limit {HISTORY_LINES}
set -g default-size 200x50
"""
_PASSED_ON = ("HOME", "LANG", "LC_ALL", "LC_CTYPE", "PATH", "SHELL", "TMPDIR", "USER")
_UNIT = (
    *("Type=forking", "Slice=ajet.slice", "TasksMax=infinity", "LimitNOFILE=1048576", "LimitMEMLOCK=infinity"),
    "KillMode=process",  # or the end of the server would end every supervisor in its group, and so every experiment
)
_REVIVAL_S = 1.0


class Trouble(StrEnum):
    """Why tmux did not do what it was asked."""

    MISSING = "missing"  # tmux is not installed
    SILENT = "silent"  # it did not answer in time: its server is stopped, or the machine is
    NO_SERVER = "no_server"  # its server has ended, and all sessions with it
    NO_SOCKET = "no_socket"  # the socket is gone; a server may live behind it
    NO_SESSION = "no_session"  # no session of that name
    DUPLICATE = "duplicate"  # a session of that name is there
    REFUSED = "refused"  # anything else that it says


class Reply(Struct, frozen=True, kw_only=True):
    """What tmux answered: `lines`, or a trouble and one sentence about it."""

    lines: tuple[str, ...] = ()
    trouble: Trouble | None = None
    message: str = ""


_SIGNS = {
    "no server running": Trouble.NO_SERVER,
    "server exited": Trouble.NO_SERVER,
    "lost server": Trouble.NO_SERVER,
    "error connecting": Trouble.NO_SOCKET,
    "can't find": Trouble.NO_SESSION,
    "no current target": Trouble.NO_SESSION,  # what it says instead while there is no session at all
    "duplicate session": Trouble.DUPLICATE,
}


def read_reply(returncode: int, stdout: list[str], stderr: list[str]) -> Reply:
    """What a finished tmux command meant."""
    if returncode == 0:
        return Reply(lines=tuple(stdout))
    message = " ".join(stderr or stdout) or f"tmux ended with code {returncode}"
    trouble = next((trouble for sign, trouble in _SIGNS.items() if sign in message), Trouble.REFUSED)
    return Reply(trouble=trouble, message=message)


class Tmux:
    """The tmux server of one home on this host. `runtime` is a private folder with a short, neutral path.

    Every call returns within `timeout_s` seconds, a few times that where a server has to be started.
    With `systemd` the server becomes a unit of its own, which no restart of the watcher's service touches.
    """

    def __init__(self, runtime: Path, *, systemd: bool = False, timeout_s: float = TIMEOUT_S) -> None:
        self._socket = runtime / "tmux"
        self._conf = runtime / "tmux.conf"
        self._systemd = systemd
        self._timeout_s = timeout_s
        self._server = ("tmux", "-u", "-S", str(self._socket), "-f", str(self._conf), "start-server")

    def ensure_server(self) -> Reply:
        """Starts the server where it does not run.

        It must never be started by the command that makes a session: whose name would be in its command line for ever.
        """
        reply = self._ask("show-options", "-s", "exit-empty")
        if reply.trouble is Trouble.NO_SOCKET and self._revive():
            return self._ask("show-options", "-s", "exit-empty")
        if reply.trouble in (Trouble.NO_SERVER, Trouble.NO_SOCKET):
            files.write_quick(self._conf, _CONF)
            return self._run(*(self._unit() if self._systemd else self._detached()), *self._server)
        return reply

    def launch(self, session: str, script: Path) -> Reply:
        """Runs `script` by bash in a new session, unless a session of that name is there: that is no trouble."""
        return self._start("new-session", "-d", "-s", session, "/bin/bash", str(script))

    def add_window(self, session: str, script: Path) -> Reply:
        """Runs `script` by bash in a new window of the session, which is made where it is gone."""
        reply = self._start("new-window", "-t", f"={session}:", "/bin/bash", str(script))
        return self.launch(session, script) if reply.trouble is Trouble.NO_SESSION else reply

    def exists(self, session: str) -> bool | None:
        """Whether there is a session of exactly that name; None where that cannot be told."""
        reply = self._ask("has-session", "-t", f"={session}")
        if reply.trouble is None:
            return True
        return False if reply.trouble in (Trouble.NO_SESSION, Trouble.NO_SERVER) else None

    def destroy(self, session: str) -> Reply:
        """Ends the session; that it is gone already is no trouble."""
        reply = self._ask("kill-session", "-t", f"={session}")
        return Reply() if reply.trouble in (Trouble.NO_SESSION, Trouble.NO_SERVER) else reply

    def close(self) -> None:
        """Ends the server, unless it has a session or does not say."""
        reply = self._ask("list-sessions")
        if not reply.lines and reply.trouble in (None, Trouble.NO_SESSION):
            self._ask("kill-server")

    def capture(self, session: str, lines: int) -> str:
        """The last `lines` lines of what the session shows, wrapped lines joined; empty where it cannot be seen."""
        reply = self._ask("capture-pane", "-p", "-J", "-t", f"={session}:", "-S", f"-{lines}")
        shown = "\n".join(reply.lines).rstrip().split("\n")
        return "\n".join(shown[-lines:])

    def attach_command(self, session: str, *, write: bool = False) -> str:
        """The shell command by which a person sees the session, also from inside another tmux."""
        mode = () if write else ("-r",)
        command = ("env", "-u", "TMUX", *self._client(), "attach-session", *mode)
        return f"{shlex.join(command)} -t '={session}'"  # quoted, for zsh looks up a program at an open `=`

    def capture_command(self, session: str) -> str:
        """The shell command that prints the last 1000 lines of the session."""
        command = (*self._client(), "capture-pane", "-p", "-J", "-S", "-1000")
        return f"{shlex.join(command)} -t '={session}:'"

    def _start(self, *command: str) -> Reply:
        reply = self._ask(*command)
        if reply.trouble in (Trouble.NO_SERVER, Trouble.NO_SOCKET):
            started = self.ensure_server()
            reply = started if started.trouble else self._ask(*command)
        return Reply() if reply.trouble is Trouble.DUPLICATE else reply

    def _client(self) -> tuple[str, ...]:
        return ("tmux", "-u", "-S", str(self._socket))

    def _ask(self, *command: str) -> Reply:
        binary, *options = self._client()
        return self._run(binary, "-N", *options, *command)  # -N: a server is started by `ensure_server` only

    def _detached(self) -> tuple[str, ...]:
        return ("env", "-i", *_environment())

    def _unit(self) -> tuple[str, ...]:
        manager = () if os.getuid() == 0 else ("--user",)
        properties = (f"--property={each}" for each in (*_UNIT, "OOMPolicy=continue"))
        environment = (f"--setenv={each}" for each in _environment())
        name = f"--unit=ajet-tmux-{self._socket.parent.name}"
        return ("systemd-run", *manager, "--quiet", "--collect", name, *properties, *environment)

    def _revive(self) -> bool:
        """Has a server whose socket was removed, by a cleaner of /tmp say, make it again: SIGUSR1 asks it to."""
        ours = [each.encode() for each in self._server]
        servers = [p for p in proc.table().values() if proc.command_line(p.pid) == ours]
        for server in servers:
            proc.send(*server.identity, signal.SIGUSR1)
        deadline = time.monotonic() + _REVIVAL_S
        while servers and not self._socket.exists() and time.monotonic() < deadline:
            time.sleep(0.01)
        return self._socket.exists()

    def _run(self, binary: str, *arguments: str) -> Reply:
        """Runs one command through libtmux in a thread of its own, which is left behind where it hangs."""
        answers: queue.SimpleQueue[Reply] = queue.SimpleQueue()
        threading.Thread(target=lambda: answers.put(_call(binary, arguments)), daemon=True).start()
        try:
            return answers.get(timeout=self._timeout_s)
        except queue.Empty:
            message = f"tmux has not answered on {self._socket} for {self._timeout_s:g} s"
            return Reply(trouble=Trouble.SILENT, message=message)


def _call(binary: str, arguments: tuple[str, ...]) -> Reply:
    try:
        done = tmux_cmd(*arguments, tmux_bin=binary)
    except TmuxCommandNotFound:
        return Reply(trouble=Trouble.MISSING, message=f"{binary} is not installed, or not in PATH")
    except OSError as error:
        return Reply(trouble=Trouble.REFUSED, message=f"{binary} could not be started: {error}")
    return read_reply(done.returncode, done.stdout, done.stderr)


def _environment() -> list[str]:
    """What the server needs of ours: nothing that belongs to a service or a shell session reaches the panes."""
    return [f"{name}={os.environ[name]}" for name in _PASSED_ON if name in os.environ]
