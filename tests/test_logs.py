"""The log as another process prints it."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

PROGRAM = """
import sys
from loguru import logger
from ajet_inbox.edge.logs import set_up
set_up(debug="debug" in sys.argv)
logger.debug("a detail")
logger.warning("drop {} is odd", "a\\nb\\x1b[31mc \\u4f60 <red>{}")
secret = "hunter2"
try:
    secret / 1
except TypeError:
    logger.opt(exception=True).error("broken")
print("went on", flush=True)
"""


def log(*arguments: str, stderr: int = subprocess.PIPE, **environment: str) -> str:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    environment = {"PATH": os.environ["PATH"], **environment}
    child = subprocess.run(command, stdout=subprocess.PIPE, stderr=stderr, env=environment, text=True, check=False)
    assert child.stdout == "went on\n"
    return child.stderr or ""


def test_a_name_can_neither_forge_a_line_nor_steer_a_terminal() -> None:
    text = log()
    assert r"WARNING drop a\nb\x1b[31mc 你 <red>{} is odd" in text
    assert "\x1b" not in text
    assert "a detail" not in text


def test_debug_tells_details() -> None:
    assert "a detail" in log("debug")


def test_a_traceback_shows_no_values() -> None:
    text = log("debug")
    assert "TypeError" in text
    assert "hunter2" not in text


def terminal(**environment: str) -> bytes:
    ours, theirs = pty.openpty()
    try:
        log(stderr=theirs, **environment)
        return os.read(ours, 65536)
    finally:
        os.close(ours)
        os.close(theirs)


def test_colours_are_for_terminals_that_want_them() -> None:
    assert b"\x1b[" in terminal()
    assert b"\x1b[" not in terminal(NO_COLOR="1")


def test_the_journal_gets_priorities_instead_of_times() -> None:
    reading, writing = os.pipe()
    status = os.fstat(writing)
    log(stderr=writing, JOURNAL_STREAM=f"{status.st_dev}:{status.st_ino}")
    os.close(writing)
    with os.fdopen(reading) as stream:
        assert stream.readline().startswith("<4>drop ")


def test_a_shell_under_the_journal_is_not_the_journal() -> None:
    assert "<4>" not in log(JOURNAL_STREAM="8:1")


def test_a_log_that_nobody_reads_any_more_stops_nothing() -> None:
    reading, writing = os.pipe()
    os.close(reading)
    log(stderr=writing)
    os.close(writing)
