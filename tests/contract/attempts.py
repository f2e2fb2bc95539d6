"""Attempts as a watcher makes them, for tests: real scripts, a real supervisor, real files."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import pytest

from ajet_inbox.core import attempt as files
from ajet_inbox.core.attempt import AttemptSpec, Exit, Started, Stop
from ajet_inbox.edge import neutral, processes
from ajet_inbox.edge.launch import Launch, render_launch
from ajet_inbox.supervisor import proc

T = TypeVar("T")

QUICK = {"grace_s": 1.0, "beat_s": 0.1, "leftover_look_s": 0.3, "leftover_idle_s": 1.0}
ENV = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


def poll(condition: Callable[[], T], timeout: float = 20.0) -> T:
    """What `condition` gives once it gives anything true."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"still {answer!r} after {timeout:g} s")
        time.sleep(0.01)
    return answer


class Attempt:
    """One attempt in `folder`, which also is its codebase. `spec` overrides fields of QUICK and AttemptSpec."""

    def __init__(
        self, folder: Path, runtime: Path, command: str, *, scripts: dict[str, str] | None = None, **spec: Any
    ):
        self.id = uuid.uuid4().hex
        self.runtime = runtime
        self.folder = folder / "attempts" / "1"
        self.codebase = folder / "code"
        self._complaints = folder / "complaints"
        self._keepers: list[subprocess.Popen[bytes]] = []
        self.folder.mkdir(parents=True)
        self.codebase.mkdir()
        extra: dict[str, Any] = dict(scripts or {})
        launch = Launch(
            run="run",
            number=1,
            drop="/drop",
            codebase=str(self.codebase),
            interpreter=sys.executable,
            command=command,
            result_dir="/results",
            **extra,
        )
        for name, text in render_launch(launch).items():
            (self.folder / name).write_text(text)
        fields: dict[str, Any] = {"env": ENV, **QUICK, **spec}
        told = AttemptSpec(attempt_id=self.id, lock=str(neutral.lock_path(runtime, self.id)), **fields)
        (self.folder / files.SPEC).write_bytes(files.spec_bytes(told))

    def supervise(self, prefix: tuple[str, ...] = ()) -> subprocess.Popen[bytes]:
        """A supervisor without a terminal, as systemd or a test would start it."""
        keeper = neutral.supervisor(self.runtime)
        with self._complaints.open("a") as complaints:
            started = subprocess.Popen(
                [*prefix, *keeper.argv],
                executable=None if prefix else keeper.executable,
                env={**os.environ, **keeper.env, "KEEPER": keeper.executable},
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stderr=complaints,
                start_new_session=True,
            )
        self._keepers.append(started)
        return started

    def started(self) -> Started:
        path = self.folder / files.STARTED
        poll(path.exists)
        return msgspec.json.decode(path.read_bytes(), type=Started)

    def exit(self, timeout: float = 20.0) -> Exit:
        path = self.folder / files.EXIT
        poll(path.exists, timeout)
        return msgspec.json.decode(path.read_bytes(), type=Exit)

    def stop(self, reason: str) -> None:
        """As a watcher asks: the request first, then the signal."""
        draft = self.folder / "stop.draft"
        draft.write_bytes(msgspec.json.encode(Stop(reason=reason)))
        draft.rename(self.folder / files.STOP)
        started = self.started()
        processes.send_signal(started.keeper_pid, started.keeper_start_time, signal.SIGTERM)

    def kill_supervisor(self) -> None:
        started = self.started()
        processes.send_signal(started.keeper_pid, started.keeper_start_time, signal.SIGKILL)
        poll(lambda: not processes.alive(started.keeper_pid, started.keeper_start_time))

    def complaints(self) -> str:
        """What its supervisors wrote on stderr."""
        return self._complaints.read_text()

    def console(self) -> str:
        path = self.folder / files.CONSOLE
        return path.read_text() if path.exists() else ""

    def wrote(self, name: str) -> str:
        """What the command wrote into the file `name` of its codebase, once it has."""
        path = self.codebase / name
        return poll(lambda: path.read_text().strip() if path.exists() else "")

    def clear(self) -> None:
        """Leaves nothing behind, whatever the test did."""
        for keeper in self._keepers:
            keeper.kill()
            keeper.wait()
        processes.sweep(self.id, 0)


Make = Callable[..., Attempt]

HOLD = "echo $$ >>pids; exec sleep 300"
LEFT = {
    "child": f"bash -c '{HOLD}' &",
    "own session": f"setsid bash -c '{HOLD}' &",
    "double fork": f"(setsid bash -c '({HOLD}) &' &)",
    "fresh environment": f"env -i setsid bash -c '{HOLD}' &",
    "fresh, forked twice": f"(env -i setsid bash -c '({HOLD}) &' &)",
    "ignores TERM": f"(trap '' TERM; exec bash -c '{HOLD}') &",
    "stopped": f"bash -c '{HOLD}' & sleep 0.1; kill -STOP $!",
}
WAIT = "\nwhile [ ! -s pids ]; do sleep 0.01; done\n"
UNTIL_GO = "echo >ready; while [ ! -e go ]; do sleep 0.01; done; exit 9"


def run(attempt: Attempt) -> Exit:
    """How an attempt ends that is left to itself; nothing may be left of it."""
    keeper = attempt.supervise()
    ending = attempt.exit()
    assert keeper.wait(10) == 0
    assert processes.tagged(attempt.id) == ()
    return ending


def gone(attempt: Attempt) -> bool:
    """Whether all that wrote its pid has ended; a zombie has no command line."""
    pids = [int(pid) for pid in attempt.wrote("pids").split()]
    assert pids
    return not any(proc.command_line(pid) not in ([], [b""]) for pid in pids)
