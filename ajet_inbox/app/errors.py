"""What is told to people instead of a traceback, and the exit code that goes with it (contract section 5)."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import ClassVar


class Code(IntEnum):
    """Exit codes of the command line; of several runs the highest counts."""

    FINE = 0  # done, or the answer is yes
    NO = 1  # the answer is no, or it failed
    USAGE = 2  # wrong use, or no home
    REJECTED = 3  # the run was rejected
    CANCELLED = 4  # the run was cancelled
    LOST = 5  # how the run ended cannot be known
    NO_RUN = 6  # no such run
    NO_WATCHER = 7  # no live watcher where one is needed at once
    FINISHED = 10  # peek: the run is over
    TIMEOUT = 124  # --timeout passed
    INTERRUPTED = 130  # Ctrl-C
    CLOSED_PIPE = 141  # nobody reads the output any more; what a shell says of SIGPIPE


class UserError(Exception):
    """It did not work: one sentence, and what to do next."""

    code: ClassVar[Code] = Code.NO

    def __init__(self, sentence: str, advice: str = "") -> None:
        super().__init__(sentence)
        self.advice = advice


class UsageError(UserError):
    """It was asked for in a way that cannot be meant."""

    code = Code.USAGE


class NoHome(UserError):
    """No folder is a home."""

    code = Code.USAGE


class NoSuchRun(UserError):
    """No run has this name."""

    code = Code.NO_RUN

    def __init__(self, name: str, near: Iterable[str] = ()) -> None:
        names = " or ".join(near)
        super().__init__(
            f"There is no run {name!r} here.",
            f"Did you mean {names}?" if names else "Run 'ajet-inbox status' to see the runs there are.",
        )


class NoWatcher(UserError):
    """Only a living watcher could answer this."""

    code = Code.NO_WATCHER
