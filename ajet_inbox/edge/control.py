"""Requests to whoever holds a run: small files in `outbox/.control/`, which work from any host without a socket."""

from __future__ import annotations

import secrets
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from ajet_inbox.core.events import Ask
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.files import Unreadable, list_names, read_regular, write_atomic

_LIMIT = 64 * 1024


class Request(Struct, frozen=True, kw_only=True):
    """What somebody asks of a run, and who."""

    run: str
    ask: Ask
    by: str
    at: datetime
    reason: str = ""
    priority: int = 0


def send(home: HomePaths, request: Request) -> str:
    """Leave a request for the watchers of the home; returns its id.

    Raises:
        OSError: it could not be written.
    """
    home.control.mkdir(parents=True, exist_ok=True)
    # The time first, so that requests are met in the order in which they were made.
    request_id = f"{request.at.timestamp():017.6f}-{secrets.token_hex(4)}"
    write_atomic(_path(home, request_id), msgspec.json.encode(request))
    return request_id


def requests(home: HomePaths) -> list[tuple[str, Request | None]]:
    """The open requests by id, oldest first; None for a file that is no request.

    Raises:
        OSError: the folder cannot be listed now.
    """
    ids = [name.removesuffix(".json") for name in list_names(home.control) if _is_request(name)]
    return [(request_id, _read(_path(home, request_id))) for request_id in ids]


def answered(home: HomePaths, request_id: str) -> None:
    """A request is dealt with and goes away.

    Raises:
        OSError: it could not be removed.
    """
    _path(home, request_id).unlink(missing_ok=True)


def is_open(home: HomePaths, request_id: str) -> bool:
    """Whether nobody has dealt with the request yet."""
    return f"{request_id}.json" in list_names(home.control)


def _is_request(name: str) -> bool:
    return name.endswith(".json") and not name.startswith(".")


def _path(home: HomePaths, request_id: str) -> Path:
    return home.control / f"{request_id}.json"


def _read(path: Path) -> Request | None:
    data = read_regular(path, _LIMIT)
    if isinstance(data, Unreadable):
        return None
    try:
        return msgspec.json.decode(data, type=Request)
    except msgspec.MsgspecError:
        return None
