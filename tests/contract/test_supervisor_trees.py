"""Nothing outlives an attempt, and what is at work is waited for."""

from __future__ import annotations

import shlex
import sys
import time

import pytest

from ajet_inbox.core.attempt import Cause, Fate
from tests.contract.attempts import LEFT, WAIT, Make, gone, poll, run

# ---- nothing outlives it --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("left", LEFT)
def test_idle_leftovers_cost_seconds_and_are_named(make: Make, left: str) -> None:
    attempt = make(f"{LEFT[left]}{WAIT}exit 3")
    ending = run(attempt)
    assert (ending.exit_code, ending.cause, ending.unkillable) == (3, None, ())
    fate = Fate.KILLED if left == "ignores TERM" else Fate.TERMINATED
    assert fate in {leftover.fate for leftover in ending.leftovers}
    assert gone(attempt)


@pytest.mark.parametrize("left", LEFT)
def test_the_limit_ends_all_of_it_with_nobody_else_alive(make: Make, left: str) -> None:
    attempt = make(f"{LEFT[left]}{WAIT}sleep 300", limit_s=1.0)
    begun = time.monotonic()
    ending = run(attempt)
    assert time.monotonic() - begun >= 1.0
    assert (ending.cause, ending.exit_code, ending.unkillable) == (Cause.MAX_TIME, 143, ())
    assert gone(attempt)


@pytest.mark.parametrize("left", LEFT)
def test_a_stop_request_ends_all_of_it(make: Make, left: str) -> None:
    attempt = make(f"{LEFT[left]}{WAIT}sleep 300")
    keeper = attempt.supervise()
    attempt.wrote("pids")
    attempt.stop("asked by a test")
    ending = attempt.exit()
    assert (ending.cause, ending.stop_reason) == (Cause.STOPPED, "asked by a test")
    assert keeper.wait(10) == 0
    assert gone(attempt)


def test_a_stop_request_without_a_signal_is_found(make: Make) -> None:
    attempt = make("sleep 300")
    attempt.supervise()
    attempt.started()
    (attempt.folder / "stop.json").write_text("not JSON")
    ending = attempt.exit()
    assert ending.cause is Cause.STOPPED
    assert "unreadable" in str(ending.stop_reason)


def test_a_bare_signal_is_nobodys_reason(make: Make) -> None:
    attempt = make("sleep 300")
    keeper = attempt.supervise()
    attempt.started()
    keeper.terminate()
    ending = attempt.exit()
    assert (ending.cause, ending.stop_reason) == (Cause.STOPPED, None)


def test_a_command_may_save_its_work_within_the_grace(make: Make) -> None:
    attempt = make("trap 'sleep 0.3; echo saved >work; exit 6' TERM; echo >ready; sleep 300 & wait", grace_s=20.0)
    attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    attempt.stop("enough")
    ending = attempt.exit()
    assert (ending.exit_code, ending.cause) == (6, Cause.STOPPED)
    assert attempt.wrote("work") == "saved"


@pytest.mark.parametrize(("first", "code"), [("SIGINT", 5), ("SIGTERM", 6)])
def test_the_first_signal_can_be_chosen(make: Make, first: str, code: int) -> None:
    program = (
        "import signal, sys, time\n"
        "signal.signal(signal.SIGINT, lambda *_: sys.exit(5)); signal.signal(signal.SIGTERM, lambda *_: sys.exit(6))\n"
        "open('ready', 'w').close(); time.sleep(300)"
    )
    attempt = make(f"exec {sys.executable} -c {shlex.quote(program)}", stop_signal=first, grace_s=20.0)
    attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    attempt.stop("enough")
    assert attempt.exit().exit_code == code


# ---- leftovers at work ----------------------------------------------------------------------------------------------


def test_what_uses_the_processor_is_waited_for(make: Make) -> None:
    attempt = make("(while [ $SECONDS -lt 3 ]; do :; done; echo yes >done) &", leftover_idle_s=30.0)
    ending = run(attempt)
    assert attempt.wrote("done") == "yes"
    assert [leftover.fate for leftover in ending.leftovers] == [Fate.ENDED]
    assert ending.command_ended_at
    assert (ending.ended_at - ending.command_ended_at).total_seconds() > 1


def test_what_prints_is_waited_for(make: Make) -> None:
    attempt = make("(for i in 1 2 3 4 5 6 7 8; do sleep 0.3; echo tick; done) &", leftover_look_s=1.0)
    run(attempt)
    assert attempt.console().count("tick") == 8


def test_what_was_at_work_and_fell_idle_is_swept(make: Make) -> None:
    attempt = make("(while [ $SECONDS -lt 2 ]; do :; done; exec sleep 300) &", leftover_idle_s=1.0)
    ending = run(attempt)
    assert [leftover.fate for leftover in ending.leftovers] == [Fate.TERMINATED]


def test_the_limit_holds_for_leftovers_at_work(make: Make) -> None:
    attempt = make("(while :; do :; done) &", leftover_idle_s=30.0, limit_s=1.5)
    ending = run(attempt)
    assert (ending.exit_code, ending.cause) == (0, Cause.MAX_TIME)


def test_a_known_daemon_is_no_work(make: Make) -> None:
    attempt = make("bash -c 'exec -a ray::IDLE bash -c \"while :; do :; done\"' &", leftover_idle_s=60.0)
    assert run(attempt).exit_code == 0
