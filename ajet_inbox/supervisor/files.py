"""The files of an attempt, all in the working folder of its supervisor. The names are those of `core.attempt`."""
# ruff: noqa: PTH105, PTH108, PTH116, PTH123

from __future__ import annotations

import datetime
import json
import os

TYPE_CHECKING = False  # what type checkers take for true, without the cost of importing `typing`
if TYPE_CHECKING:
    from typing import Any

SPEC = "spec.json"
STARTED = "started.json"
HEARTBEAT = "heartbeat"
STOP = "stop.json"
STATUS = "status"
EXIT = "exit.json"
CONSOLE = "console.log"


def now() -> str:
    """The time as contract section 3 wants it: ISO 8601 with offset."""
    return datetime.datetime.now().astimezone().isoformat(timespec="milliseconds")


def read(name: str) -> Any:
    """The value in the JSON file `name`.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it holds something else.
    """
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def create(name: str, value: object) -> bool:
    """Makes `name` hold `value` unless it exists; True for the one caller, of all that race, who made it.

    It is durable only after `settle`.
    """
    draft = _draft(name, value)
    try:
        os.link(draft, name)
    except FileExistsError:
        return os.stat(draft).st_nlink == 2  # NFS: made at the first try, whose answer was lost
    finally:
        os.unlink(draft)
    return True


def write(name: str, value: object) -> None:
    """Makes `name` hold `value`, at once and durably."""
    draft = _draft(name, value)
    settle(draft)
    os.replace(draft, name)
    settle(".")


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


def _draft(name: str, value: object) -> str:
    draft = f"{name}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(value, file)
    return draft
