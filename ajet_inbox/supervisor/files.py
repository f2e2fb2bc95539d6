"""The files of an attempt, all in the working folder of its supervisor. The names are those of `core.attempt`."""
# ruff: noqa: PTH105, PTH108, PTH116, PTH123

from __future__ import annotations

import os
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

SPEC = "spec"
STARTED = "started.json"
HEARTBEAT = "heartbeat"
STOP = "stop.json"
STATUS = "status"
EXIT = "exit.json"
CONSOLE = "console.log"


def now() -> str:
    """The time as contract section 3 wants it: ISO 8601 with offset."""
    seconds = time.time()
    local = time.localtime(seconds)
    offset = time.strftime("%z", local)
    moment = time.strftime("%Y-%m-%dT%H:%M:%S", local)
    return f"{moment}.{int(seconds % 1 * 1000):03}{offset[:3]}:{offset[3:5]}"


def fields(name: str) -> dict[bytes, list[bytes]]:
    """The values of each field in a file of NAME=VALUE, each ended by a zero byte, as in /proc/PID/environ.

    Raises:
        OSError: it cannot be read.
    """
    with open(name, "rb") as file:
        rows = file.read().split(b"\0")
    found: dict[bytes, list[bytes]] = {}
    for row in rows:
        field, _, value = row.partition(b"=")
        found.setdefault(field, []).append(value)
    return found


def create(name: str, record: Mapping[str, str | int | float]) -> bool:
    """Makes `name` hold `record` as JSON unless it exists; True for the one caller, of all that race, who made it.

    It is durable only after `settle`.
    """
    draft = f"{name}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write(_json(record))
    try:
        os.link(draft, name)
    except FileExistsError:
        return os.stat(draft).st_nlink == 2  # NFS: made at the first try, whose answer was lost
    finally:
        os.unlink(draft)
    return True


def _json(record: Mapping[str, str | int | float]) -> str:
    """All that is needed of `json` before the start."""
    members = (f'"{name}": {_quoted(value) if isinstance(value, str) else value}' for name, value in record.items())
    return "{" + ", ".join(members) + "}"


def _quoted(text: str) -> str:
    return '"' + "".join(f"\\u{ord(c):04x}" if c < " " or c in '"\\' else c for c in text) + '"'


def settle(name: str) -> None:
    """Makes the file or folder `name` last through a power cut."""
    fd = os.open(name, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)


def beat(count: int) -> None:
    """Renews the heartbeat. Not durable: it means something to those who watch it now."""
    draft = f"{HEARTBEAT}.{os.getpid()}"
    with open(draft, "w", encoding="ascii") as file:
        file.write(f"{count}\n")
    os.replace(draft, HEARTBEAT)


def status() -> tuple[int, str] | None:
    """The exit code and stage that launch.sh wrote as its last act; None where it did not come to that."""
    try:
        with open(STATUS, encoding="ascii") as file:
            code, stage = file.read().split()
        return int(code), stage
    except (OSError, ValueError):
        return None


def console_size() -> int:
    """Bytes that the attempt has printed so far."""
    try:
        return os.stat(CONSOLE).st_size
    except OSError:
        return 0


def folder_lost() -> bool:
    """Whether the working folder was deleted, so that nothing can be written in it ever again."""
    try:
        return os.stat(".").st_nlink == 0
    except OSError:
        return True
