"""The log: to standard error, one line a message."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

from loguru import logger

if TYPE_CHECKING:
    from loguru import Record

_PLAIN = "{time:YYYY-MM-DDTHH:mm:ssZ} {level: <7} {message}"
_TERMINAL = "<dim>{time:HH:mm:ss}</dim> <level>{level: <7}</level> {message}"
_JOURNAL = "<{extra[priority]}>{message}"  # sd-daemon(3); the journal keeps the time itself


def set_up(*, debug: bool = False) -> None:
    """Sends the log to standard error, coloured on a terminal unless NO_COLOR is set."""
    logger.remove()
    logger.configure(patcher=_tidy)
    logger.add(
        sys.stderr,
        level="DEBUG" if debug else "INFO",
        format=_format(),
        colorize=sys.stderr.isatty() and not os.environ.get("NO_COLOR"),
        backtrace=False,
        diagnose=False,  # it would show the values of variables, which may be secrets
    )


def _format() -> str:
    if _is_journal():
        return _JOURNAL
    return _TERMINAL if sys.stderr.isatty() else _PLAIN


def _is_journal() -> bool:
    """Whether standard error is the journal's own stream: a shell may have inherited the variable alone."""
    try:
        status = os.fstat(sys.stderr.fileno())
    except (OSError, ValueError):
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{status.st_dev}:{status.st_ino}"


def _tidy(record: Record) -> None:
    """Names in messages come from others: a line break would forge a line, an escape code act on a terminal."""
    record["message"] = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in record["message"])
    record["extra"]["priority"] = {"DEBUG": 7, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}.get(record["level"].name, 6)
