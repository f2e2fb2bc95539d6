"""The JSON files that are read or written once the command runs, or where it never will."""
# ruff: noqa: PTH105, PTH123

from __future__ import annotations

import json
import os

from ajet_inbox.supervisor import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STOPPED = "stopped"


def read(name: str) -> Any:
    """The value in the JSON file `name`.

    Raises:
        FileNotFoundError: there is none.
        ValueError: it holds something else.
    """
    with open(name, encoding="utf-8") as file:
        return json.load(file)


def write(name: str, value: object) -> None:
    """Makes `name` hold `value`, at once and durably."""
    draft = f"{name}.{os.getpid()}"
    with open(draft, "w", encoding="utf-8") as file:
        json.dump(value, file)
    files.settle(draft)
    os.replace(draft, name)
    files.settle(".")


def stop_reason() -> str | None:
    """Why the attempt is to be stopped; None where it was a signal alone, as when the host shuts down."""
    try:
        reason = str(read(files.STOP)["reason"])
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"asked for by an unreadable stop.json: {error}"
    return reason.encode(errors="replace").decode()
