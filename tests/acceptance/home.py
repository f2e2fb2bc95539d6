"""A home in a folder of its own, the real command on it, and nothing left behind.

Experiments write into `home.code`, their codebase; `COUNTED` makes one tell its starts and ends in `code/counts`.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import pytest
import yaml

from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.edge import neutral, processes

T = TypeVar("T")

PATIENCE_S = 30.0
COUNTED = """\
echo "start $AJET_INBOX_RUN $AJET_INBOX_ATTEMPT" >>counts
trap 'echo "end $AJET_INBOX_RUN $AJET_INBOX_ATTEMPT" >>counts' EXIT
"""
# Everything that a watcher waits for in hours or seconds, in moments.
QUICK: dict[str, Any] = {
    "slots": [{"name": "one", "gpus": []}],
    "watch": {"settle": "300 ms", "scan": "300 ms", "heartbeat": "500 ms"},
    "limits": {"grace": "2 s", "world_wait": "1 s"},
    "repair": {"backoff": "200 ms"},
    "env": {"login_shell": False},
    "progress": {"read": "200 ms"},
}


def poll(condition: Callable[[], T], timeout: float = PATIENCE_S, what: str = "") -> T:
    """What `condition` gives once it gives anything true."""
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"{what or 'still'} {answer!r} after {timeout:g} s")
        time.sleep(0.02)
    return answer


class Watcher:
    """A process of `ajet-inbox watch`."""

    def __init__(self, command: list[str], log: Path) -> None:
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=output, stderr=output, env=environment(),
                start_new_session=True,
            )  # fmt: skip
        self._log = log

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def log(self) -> str:
        """What all watchers of the home have said."""
        return self._log.read_text(errors="replace")

    def wait(self, timeout: float = PATIENCE_S) -> int:
        """Its exit code, once it ends by itself."""
        return self.process.wait(timeout)

    def stop(self) -> int:
        """As systemd ends it; its exit code."""
        self.process.terminate()
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        """As a crash, the OOM killer or a power cut end it."""
        self.process.kill()
        self.process.wait(PATIENCE_S)


class Home:
    """A home with a codebase beside it. `settings` change those of `QUICK`, group by group."""

    def __init__(self, root: Path, **settings: Any) -> None:
        self.root = root
        self.paths = HomePaths(root)
        self.code = root.parent / "code"
        self.results = root.parent / "results"
        self.watchers: list[Watcher] = []
        self.paths.inbox.mkdir(parents=True)
        self.paths.outbox.mkdir()
        self.configure(**settings)
        (self.code / "venv" / "bin").mkdir(parents=True, exist_ok=True)
        self.results.mkdir(exist_ok=True)
        with contextlib.suppress(FileExistsError):
            self.python.symlink_to(sys.executable)

    def configure(self, **settings: Any) -> None:
        """Write the settings anew; the next watcher reads them."""
        together = {**QUICK, **{key: _over(QUICK.get(key), value) for key, value in settings.items()}}
        self.paths.config.write_text(yaml.safe_dump(together, sort_keys=False))

    @property
    def python(self) -> Path:
        """The experiments' interpreter."""
        return self.code / "venv" / "bin" / "python"

    # ---- blueprints and drops ---------------------------------------------------------------------------------------

    def blueprint(self, command: str, name: str = "exp", **sections: str | None) -> str:
        """A blueprint's text. `sections` are keys without `exp_`; None leaves one out. The result folder is `name`."""
        values: dict[str, str | None] = {
            "purpose": f"see what {name} does",
            "codebase_dir": str(self.code),
            "venv_exe": str(self.python),
            "launch_command": command,
            "result_dir": str(self.results / name),
            "max_time": "10 minutes",
            **sections,
        }
        return f"# {name}\n" + "".join(_section(key, value) for key, value in values.items() if value is not None)

    def counted(self, command: str, name: str = "exp", **sections: str | None) -> str:
        """A blueprint whose experiment counts its starts and ends."""
        return self.blueprint(COUNTED + command, name, **sections)

    def copy_in(self, name: str, text: str | bytes) -> None:
        """Write a drop where it lies, as `cp` does."""
        (self.paths.inbox / name).write_bytes(text if isinstance(text, bytes) else text.encode())

    def move_in(self, name: str, text: str | bytes | Mapping[str, str | bytes]) -> None:
        """Write a drop, or a folder of files, elsewhere and rename it into the inbox."""
        self._moved(name, text).rename(self.paths.inbox / name)

    def _moved(self, name: str, text: str | bytes | Mapping[str, str | bytes]) -> Path:
        elsewhere = self.root.parent / "elsewhere"
        elsewhere.mkdir(exist_ok=True)
        if isinstance(text, Mapping):
            write_tree(elsewhere / name, text)
        else:
            (elsewhere / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return elsewhere / name

    def mark_and_move_in(self, name: str, text: str | bytes, mark: str = "") -> None:
        """As `move_in`, with a `.ready` mark before it, which makes it complete at once."""
        (self.paths.inbox / f"{name}.ready").write_text(mark)
        self.move_in(name, text)

    def submit(self, command: str, name: str = "exp", *options: str, **sections: str | None) -> str:
        """Put a blueprint in by `ajet-inbox submit`; the name that its run gets, unless that is taken."""
        source = self.root.parent / f"{name}.md"
        source.write_text(self.blueprint(command, name, **sections))
        done = self.ajet("submit", str(source), *options)
        assert done.returncode == 0, done.stderr
        return name

    # ---- the command ------------------------------------------------------------------------------------------------

    def ajet(self, *arguments: str, **extra: str) -> subprocess.CompletedProcess[str]:
        """The real command; `extra` go to its environment."""
        return subprocess.run(
            self._command(*arguments), stdin=subprocess.DEVNULL, capture_output=True, text=True, encoding="utf-8",
            env=environment(**extra), timeout=60,
        )  # fmt: skip

    def ajet_json(self, *arguments: str) -> Any:
        """The one document that a command prints."""
        done = self.ajet(*arguments, "--json")
        assert done.stdout, done.stderr
        return json.loads(done.stdout)

    def _command(self, *arguments: str) -> list[str]:
        return [sys.executable, "-m", "ajet_inbox", "--home", str(self.root), *arguments]

    def watch(self, *flags: str, prefix: Iterable[str] = ()) -> Watcher:
        """Start a watcher. `prefix` is a command that starts it, such as `unshare --uts ...`."""
        watcher = Watcher([*prefix, *self._command("watch", *flags)], self.root.parent / "watch.log")
        self.watchers.append(watcher)
        return watcher

    def drain(self, timeout: float = 60.0) -> str:
        """Run everything there is to its end; what the watcher said."""
        watcher = self.watch("--drain")
        assert watcher.wait(timeout) == 0, watcher.log
        return watcher.log

    # ---- what came of it --------------------------------------------------------------------------------------------

    def run(self, name: str = "exp") -> RunPaths:
        return self.paths.run(name)

    def runs(self) -> list[str]:
        """The runs that there are, by listing."""
        return sorted(name for name in names(self.paths.outbox) if not name.startswith("."))

    def flag(self, name: str = "exp", timeout: float = PATIENCE_S) -> dict[str, Any]:
        """What finish.flag says, once it is there, waited for as the docs tell: by listing the folder."""
        folder = self.run(name).root
        poll(lambda: folder.is_dir() and "finish.flag" in names(folder), timeout, f"no flag of {name}:")
        told: dict[str, Any] = yaml.safe_load((folder / "finish.flag").read_text(encoding="utf-8"))
        return told

    def has_flag(self, name: str = "exp") -> bool:
        return self.run(name).flag.exists()

    def state(self, name: str = "exp") -> dict[str, Any]:
        """state.json; empty while there is none."""
        with contextlib.suppress(FileNotFoundError):
            told: dict[str, Any] = json.loads(self.run(name).state.read_text())
            return told
        return {}

    def until(self, name: str, timeout: float = PATIENCE_S, **facts: Any) -> dict[str, Any]:
        """state.json, once it says all of `facts`."""

        def look() -> dict[str, Any]:
            told = self.state(name)
            return told if all(key in told and told[key] == value for key, value in facts.items()) else {}

        return poll(look, timeout, f"{name} is not {facts} but {self.state(name)}:")

    def journal(self, name: str = "exp") -> list[dict[str, Any]]:
        """Every entry of every segment, in order."""
        segments = sorted(self.run(name).journal.glob("*.jsonl"), key=lambda path: int(path.stem))
        lines = [line for segment in segments for line in segment.read_text().splitlines()]
        return [json.loads(line) for line in lines]

    def events(self, name: str = "exp") -> list[str]:
        return [entry["event"] for entry in self.journal(name)]

    def console(self, name: str = "exp", attempt: int = 1) -> str:
        return (self.run(name).attempt(attempt) / "console.log").read_text(errors="replace")

    def exit(self, name: str = "exp", attempt: int = 1) -> dict[str, Any]:
        told: dict[str, Any] = json.loads((self.run(name).attempt(attempt) / "exit.json").read_text())
        return told

    def wrote(self, name: str, timeout: float = PATIENCE_S) -> str:
        """What an experiment wrote into a file of its codebase, once it has."""
        path = self.code / name
        return poll(lambda: path.read_text().strip() if path.exists() else "", timeout, f"no {name}:")

    def counts(self, run: str | None = None) -> tuple[int, int]:
        """How often counted experiments began and ended, those of one run or all."""
        path = self.code / "counts"
        lines = path.read_text().split("\n")[:-1] if path.exists() else []
        told = [line.split(" ") for line in lines if run is None or line.split(" ")[1] == run]
        return sum(words[0] == "start" for words in told), sum(words[0] == "end" for words in told)

    def order(self) -> list[str]:
        """The runs of counted experiments, in the order of their starts."""
        path = self.code / "counts"
        lines = path.read_text().splitlines() if path.exists() else []
        return [line.split(" ")[1] for line in lines if line.startswith("start ")]

    # ---- tmux -------------------------------------------------------------------------------------------------------

    @property
    def runtime(self) -> Path:
        """Where the home's tmux socket lies on this host."""
        return neutral.runtime_dir(self.root)

    def tmux(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """A client of the home's own tmux server, which it never starts."""
        command = ["tmux", "-N", "-S", str(self.runtime / "tmux"), *arguments]
        return subprocess.run(command, capture_output=True, text=True, timeout=10, env=environment())

    def tmux_server(self) -> tuple[int, int] | None:
        """The pid of the home's tmux server, and when it was started. It is not asked, for it may hang."""
        with socket.socket(socket.AF_UNIX) as client, contextlib.suppress(OSError):
            client.connect(str(self.runtime / "tmux"))
            pid, _, _ = struct.unpack("3i", client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
            started = processes.start_time(pid)
            return (pid, started) if started is not None else None
        return None

    def sessions(self) -> list[str]:
        return self.tmux("list-sessions", "-F", "#{session_name}").stdout.splitlines()

    # ---- the end ----------------------------------------------------------------------------------------------------

    def clear(self) -> None:
        """End all that was started here, whatever the test did."""
        for watcher in self.watchers:
            if watcher.process.poll() is None:
                watcher.kill()
        for started in self.paths.outbox.glob("*/attempts/*/started.json"):
            _end_attempt(json.loads(started.read_text()))
        self._end_tmux()
        shutil.rmtree(self.runtime, ignore_errors=True)

    def _end_tmux(self) -> None:
        if server := self.tmux_server():
            processes.send_signal(*server, signal.SIGCONT)
            self.tmux("kill-server")
            poll(lambda: not processes.alive(*server))


def _end_attempt(started: Mapping[str, Any]) -> None:
    processes.send_signal(started["keeper_pid"], started["keeper_start_time"], signal.SIGKILL)
    if processes.alive(started["pid"], started["start_time"]) or processes.tagged(started["attempt_id"]):
        processes.sweep(started["attempt_id"], 0)


def environment(**extra: str) -> dict[str, str]:
    """That of this process, without a home or a tmux of its own."""
    left_out = ("AJET_INBOX_HOME", "TMUX", "TMUX_PANE")
    return {**{name: value for name, value in os.environ.items() if name not in left_out}, **extra}


def names(folder: Path) -> set[str]:
    """What lies in a folder."""
    return {path.name for path in folder.iterdir()}


def write_tree(folder: Path, files: Mapping[str, str | bytes]) -> None:
    """Files by their names relative to `folder`."""
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def read_tree(folder: Path) -> dict[str, bytes]:
    """The regular files below `folder`, by their names relative to it."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _over(usual: Any, value: Any) -> Any:
    return {**usual, **value} if isinstance(usual, dict) and isinstance(value, dict) else value


def _section(key: str, value: str) -> str:
    is_command = key.endswith("_command")
    return f"\n## [exp_{key}]\n\n" + (f"````bash\n{value.rstrip()}\n````\n" if is_command else f"{value}\n")
