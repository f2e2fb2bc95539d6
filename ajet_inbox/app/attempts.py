"""Attempts on this host: files, tmux session, supervisor and processes of one, from launch to exit.json.

tmux is only where a person looks; the supervisor's files and pids say what is so. Every function may be called again
after a crash at any point: `started.json` is made exclusively, so that a command runs once whoever launches it.
"""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import os
import signal
import socket
from collections.abc import Callable, Iterator
from datetime import datetime
from pathlib import Path
from typing import TypeVar

import msgspec
from loguru import logger
from msgspec import Struct

from ajet_inbox.core import attempt as files_of
from ajet_inbox.core.attempt import AttemptSpec, Cause, Exit, Stage, Started
from ajet_inbox.core.journal import StopCause
from ajet_inbox.edge import neutral, processes
from ajet_inbox.edge.files import list_names, write_atomic, write_quick
from ajet_inbox.edge.tmux import Tmux, Trouble

START_S = 15.0  # for each of two tries: a loaded machine takes long from tmux's answer to the supervisor's first file
ADOPTION_S = 10.0
_LOOK_S = 1.0

T = TypeVar("T")


class Order(Struct, frozen=True, kw_only=True):
    """What is to be launched: the attempt's folder, its session, what the supervisor must know, and the scripts."""

    folder: Path
    session: str
    spec: AttemptSpec
    scripts: dict[str, str]


class Begun(Struct, frozen=True, kw_only=True):
    """The attempt's command has begun, or had before."""

    pid: int
    boot_id: str
    started_at: datetime


class Gone(Struct, frozen=True, kw_only=True):
    """Nothing of the attempt lives. `exit` is None where nobody can know how it ended; `why` says so."""

    exit: Exit | None
    why: str = ""


class Attempts:
    """The attempts of one home on this host."""

    def __init__(self, runtime: Path, tmux: Tmux) -> None:
        self._runtime = runtime
        self._tmux = tmux
        self._trouble: str | None = None

    def trouble(self) -> str | None:
        """Why tmux opens no session, as of the last try; while it does not, it is tried again here."""
        if self._trouble is not None:
            self.open()
        return self._trouble

    def open(self) -> None:
        """Have a tmux server ready, so that the first launch need not wait for it."""
        reply = self._tmux.ensure_server()
        self._trouble = f"tmux: {reply.message}" if reply.trouble else None

    def lock_of(self, attempt_id: str) -> str:
        """The file that is locked by whoever supervises the attempt."""
        return str(neutral.lock_path(self._runtime, attempt_id))

    def attach_command(self, session: str) -> str:
        """The shell command by which a person sees the session."""
        return self._tmux.attach_command(session)

    def capture_command(self, session: str) -> str:
        """The shell command that prints what the session shows."""
        return self._tmux.capture_command(session)

    async def launch(self, order: Order) -> Begun | Gone:
        """Launch the attempt unless it was launched before; returns when it has begun or never will."""
        if found := self._found(order.folder):
            return found
        await asyncio.to_thread(self._write, order)
        for again in (False, True):  # what starts may be ended before it takes hold, by whatever kills by name
            trouble = await self._show(order.spec.attempt_id, order.folder, order.session, again=again)
            patience = START_S if trouble in (None, Trouble.SILENT) else 0.0
            if found := await _until(lambda: self._found(order.folder), patience):
                return found
        while not (found := await _until(lambda: self._found(order.folder), _LOOK_S)):
            await asyncio.to_thread(self._give_up, order, trouble)
        return found

    def _write(self, order: Order) -> None:
        order.folder.mkdir(parents=True, exist_ok=True)
        for name, text in order.scripts.items():
            write_quick(order.folder / name, text)
        # The whole environment of the experiment is in it, keys and tokens included.
        write_quick(order.folder / files_of.SPEC, files_of.spec_bytes(order.spec), mode=0o600)

    async def _show(self, attempt_id: str, folder: Path, session: str, *, again: bool) -> Trouble | None:
        """Start a supervisor in the attempt's session, or, again, in a new window of it."""
        script = neutral.supervisor_script(self._runtime, attempt_id, folder)
        reply = await asyncio.to_thread(self._tmux.add_window if again else self._tmux.launch, session, script)
        if reply.trouble:
            self._trouble = f"tmux: {reply.message}"
            logger.warning("tmux did not start session {}: {}", session, reply.message)
        return reply.trouble

    def _found(self, folder: Path) -> Begun | Gone | None:
        names = list_names(folder)
        if files_of.EXIT in names:
            return Gone(exit=_read(folder / files_of.EXIT, Exit))
        if files_of.STARTED in names:
            started = _read(folder / files_of.STARTED, Started)
            return Begun(pid=started.pid, boot_id=started.boot_id, started_at=started.started_at)
        return None

    def _give_up(self, order: Order, trouble: Trouble | None) -> None:
        """No supervisor shows itself: make sure, under the lock that it would need, that none ever will.

        Where the lock is held one is about to begin, and there is nothing to do but to wait on.
        """
        with _locked(self.lock_of(order.spec.attempt_id)) as mine:
            if not mine or self._found(order.folder):
                return
            why = f"tmux: {trouble}" if trouble else f"no supervisor showed itself in two tries of {START_S:g} s"
            ended = Exit(
                attempt_id=order.spec.attempt_id,
                cause=Cause.NOT_STARTED,
                error=f"The command could not be started ({why}).",
                ended_at=datetime.now().astimezone(),
            )
            write_atomic(order.folder / files_of.EXIT, msgspec.json.encode(ended))

    async def follow(self, attempt_id: str, folder: Path, session: str) -> Gone:
        """Wait until nothing of the attempt lives; a supervisor that dies is replaced, the experiment never notices."""
        while True:
            names = list_names(folder)
            if files_of.EXIT in names:
                return Gone(exit=_read(folder / files_of.EXIT, Exit))
            if files_of.STARTED not in names:
                return Gone(exit=None, why="No trace of its start was found.")
            started = _read(folder / files_of.STARTED, Started)
            if not self._is_of_this_boot(started):
                return _after_reboot(folder, names, started)
            await processes.ended(started.keeper_pid, started.keeper_start_time)
            if files_of.EXIT not in list_names(folder):
                await self._adopt(attempt_id, folder, session)

    async def _adopt(self, attempt_id: str, folder: Path, session: str) -> None:
        """Give a living attempt whose supervisor died a new one, and wait as long as that one lives."""
        if not _is_locked(self.lock_of(attempt_id)):
            logger.warning("The supervisor of attempt {} is gone; a new one takes over", attempt_id)
            await self._show(attempt_id, folder, session, again=True)
        await _until(lambda: files_of.EXIT in list_names(folder), ADOPTION_S)
        while _is_locked(self.lock_of(attempt_id)) and files_of.EXIT not in list_names(folder):
            await asyncio.sleep(_LOOK_S)

    def wake(self, folder: Path) -> None:
        """Let a supervisor go on that somebody stopped: while it stands still, no limit and no cancel holds."""
        if files_of.STARTED not in list_names(folder):
            return
        started = _read(folder / files_of.STARTED, Started)
        if self._is_of_this_boot(started) and processes.wake(started.keeper_pid, started.keeper_start_time):
            logger.warning("The supervisor of attempt {} had been stopped; it goes on", started.attempt_id)

    def halt(self, folder: Path, cause: StopCause, text: str) -> None:
        """Ask the supervisor to end the attempt. One that is only starting, or a later one, finds the request.

        Raises:
            OSError: the request could not be written; it was signalled all the same, for that needs no disk.
        """
        try:
            write_quick(folder / files_of.STOP, msgspec.json.encode(files_of.Stop(reason=f"{cause}: {text}")))
        finally:
            if files_of.STARTED in list_names(folder):
                started = _read(folder / files_of.STARTED, Started)
                if self._is_of_this_boot(started):
                    processes.send_signal(started.keeper_pid, started.keeper_start_time, signal.SIGTERM)

    def _is_of_this_boot(self, started: Started) -> bool:
        """A container may show another boot id than its host does; a lock that is held has outlived no boot."""
        return started.boot_id == processes.boot_id() or _is_locked(self.lock_of(started.attempt_id))

    def clean_up(self, attempt_id: str, session: str) -> None:
        """Close what is left of an attempt whose results are published."""
        self._tmux.destroy(session)
        neutral.forget(self._runtime, attempt_id)

    def close(self) -> None:
        """End the tmux server, unless a session is open."""
        self._tmux.close()


def _after_reboot(folder: Path, names: tuple[str, ...], started: Started) -> Gone:
    """Nothing lives on from another boot; what launch.sh wrote as its last act still counts."""
    if started.host != socket.gethostname():
        return Gone(exit=None, why=f"It was started on {started.host}.")
    if files_of.STATUS in names and (ended := _by_status(folder / files_of.STATUS, started)) is not None:
        return Gone(exit=ended)
    return Gone(exit=None, why="The machine was restarted while it ran.")


def _by_status(path: Path, started: Started) -> Exit | None:
    """How the attempt ended, by the last words of its launch.sh; None where a power cut has torn them."""
    code, _, stage = path.read_text(errors="replace").strip().partition(" ")
    if not code.isdecimal() or stage not in tuple(Stage):
        return None
    ended_at = datetime.fromtimestamp(path.stat().st_mtime).astimezone()
    return Exit(
        attempt_id=started.attempt_id,
        exit_code=int(code),
        stage=Stage(stage),
        started_at=started.started_at,
        ended_at=ended_at,
    )


def _read(path: Path, kind: type[T]) -> T:
    return msgspec.json.decode(path.read_bytes(), type=kind)


async def _until(look: Callable[[], T], patience_s: float) -> T:
    """The first true answer of `look`, asked more and more seldom; the last one when patience is over."""
    loop = asyncio.get_running_loop()
    begun = loop.time()
    while not (answer := look()) and (waited := loop.time() - begun) < patience_s:
        await asyncio.sleep(min(0.25, 0.001 + waited / 20))
    return answer


@contextlib.contextmanager
def _locked(path: str) -> Iterator[bool]:
    """Hold the lock for a moment, if nobody else does."""
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o666)
    try:
        yield _try_lock(fd)
    finally:
        os.close(fd)


def _try_lock(fd: int) -> bool:
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _is_locked(path: str) -> bool:
    with _locked(path) as mine:
        return not mine
