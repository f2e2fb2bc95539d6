"""Asks programs about what a blueprint names: an interpreter its version, bash whether it can read a script.

Each takes as long as its own limit at most, and a program that prints for ever costs no memory.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path

from ajet_inbox.core.checking.facts import Interpreter, Syntax

_MOST_BYTES = 4096
_VERSION = re.compile(r"python ([\d.]+\S*)")
_PROGRAM = "import sys; print('python', sys.version.split()[0])"
_COMPLAINT = re.compile(r"(?:bash|/bin/bash): line (\d+): (.*)")

Edition = tuple[str, int, int]
# By path, inode and time of change: asking takes long enough to be felt by whoever waits for a launch.
_versions: dict[Edition, Interpreter] = {}


def known_version(edition: Edition) -> Interpreter | None:
    """What the interpreter said when it was asked before."""
    return _versions.get(edition)


def ask_version(edition: Edition, environment: Mapping[str, str], timeout_s: float) -> Interpreter:
    """What an interpreter says of itself in the environment that experiments get; remembered unless it hung."""
    path = os.path.expanduser(edition[0])  # noqa: PTH111  (an unknown user is left as it stands)
    said = _ask([path, "-c", _PROGRAM], b"", environment, timeout_s)
    if said is None:
        return Interpreter(said=f"no answer in {timeout_s:g} s")
    found = _VERSION.search(said)
    last = said.strip().splitlines()[-1:] or [""]
    answer = Interpreter(version=found[1]) if found else Interpreter(said=last[0][:200])
    _versions[edition] = answer
    return answer


def ask_bash(script: str, timeout_s: float) -> Syntax | None:
    """What bash finds wrong with a script, without running any of it; None where that is nothing, or it hung."""
    # With extglob, since a script may switch it on for its later lines, which -n does not see.
    said = _ask(["/bin/bash", "-O", "extglob", "-n"], script.encode(errors="replace"), {}, timeout_s)
    found = next(filter(None, map(_COMPLAINT.match, (said or "").splitlines())), None)
    if found is None or found[2].startswith("warning: "):
        return None
    return Syntax(line=int(found[1]), message=found[2].strip().rstrip("."))


def _ask(command: list[str], given: bytes, environment: Mapping[str, str], timeout_s: float) -> str | None:
    """The beginning of what a command prints; None where it does not end in time."""
    try:
        child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(environment), start_new_session=True,
        )  # fmt: skip
    except (OSError, ValueError) as error:
        return str(error)
    late = threading.Event()

    def end() -> None:
        late.set()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)

    timer = threading.Timer(timeout_s, end)
    timer.start()
    try:
        said = _talk(child, given)
    finally:
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)  # one that prints for ever has not ended by itself
        child.wait()
    return None if late.is_set() else said.decode(errors="replace")


def _talk(child: subprocess.Popen[bytes], given: bytes) -> bytes:
    assert child.stdin is not None
    assert child.stdout is not None
    with contextlib.suppress(BrokenPipeError), child.stdin:
        child.stdin.write(given)
    with child.stdout:
        return child.stdout.read(_MOST_BYTES)


def command_lines() -> tuple[str, ...]:
    """The command lines of all processes of this host but our own, as far as this user may see them."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal() and folder.name != str(os.getpid()):
            with contextlib.suppress(OSError):
                found.append((folder / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip())
    return tuple(filter(None, found))
