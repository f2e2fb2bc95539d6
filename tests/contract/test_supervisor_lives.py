"""No attempt is begun twice, its GPUs are locked, and it outlives its supervisor."""

from __future__ import annotations

import fcntl
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ajet_inbox.core.attempt import Cause, Stage
from ajet_inbox.edge import neutral, processes
from ajet_inbox.supervisor import proc
from tests.contract.attempts import HOLD, LEFT, UNTIL_GO, WAIT, Attempt, Make, gone, poll, run

# ---- once, and never twice ------------------------------------------------------------------------------------------


def test_many_supervisors_make_one_attempt(make: Make) -> None:
    attempt = make("echo begun >>begun; sleep 0.5")
    keepers = [attempt.supervise() for _ in range(6)]
    assert [keeper.wait(20) for keeper in keepers] == [0] * 6
    assert attempt.wrote("begun") == "begun"
    assert attempt.exit().exit_code == 0


def test_whoever_fails_to_create_the_start_file_runs_nothing(make: Make) -> None:
    """Where the lock gives no protection, as on another host."""
    attempt = make("echo begun >begun")
    (attempt.folder / "started.json").touch()
    code = (
        "from ajet_inbox.supervisor import command, spec\n"
        "try: command.OwnCommand(spec.Spec(), command.Reaper())\n"
        "except command.Taken: print('taken')"
    )
    root = str(Path(__file__).parents[2])
    shown = subprocess.run(
        [sys.executable, "-c", code], cwd=attempt.folder, env={"PYTHONPATH": root}, capture_output=True, timeout=20
    )
    assert shown.stdout == b"taken\n"
    assert not processes.tagged(attempt.id)
    assert not (attempt.codebase / "begun").exists()


def test_a_supervisor_that_comes_too_late_changes_nothing(make: Make) -> None:
    attempt = make("echo begun >>begun")
    run(attempt)
    before = (attempt.folder / "exit.json").read_bytes()
    assert attempt.supervise().wait(10) == 0
    assert (attempt.folder / "exit.json").read_bytes() == before
    assert attempt.wrote("begun") == "begun"


def test_a_living_supervisor_is_not_relieved_even_where_its_lock_was_removed(make: Make) -> None:
    attempt = make("sleep 300")
    first = attempt.supervise()
    attempt.started()
    neutral.lock_path(attempt.runtime, attempt.id).unlink()
    assert attempt.supervise().wait(10) == 0
    assert first.poll() is None
    assert not (attempt.folder / "exit.json").exists()


def test_a_request_to_stop_before_the_start_is_kept(make: Make) -> None:
    attempt = make("echo begun >begun")
    (attempt.folder / "stop.json").write_text('{"reason": "too late"}')
    ending = run(attempt)
    assert (ending.cause, ending.stop_reason, ending.started_at) == (Cause.STOPPED, "too late", None)
    assert not (attempt.codebase / "begun").exists()


# ---- locks ----------------------------------------------------------------------------------------------------------


def free(path: Path) -> bool:
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True


def test_a_gpu_is_locked_exactly_as_long_as_the_attempt_lives(make: Make, tmp_path: Path) -> None:
    gpu = tmp_path / "GPU-1"
    attempt = make("echo >ready; while [ ! -e go ]; do sleep 0.01; done", gpu_locks=(str(gpu),))
    attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    assert not free(gpu)
    assert gpu.read_text() == f"{attempt.id} {attempt.started().keeper_pid}\n"
    (attempt.codebase / "go").touch()
    attempt.exit()
    poll(lambda: free(gpu), 5)


def test_a_gpu_that_stays_taken_is_a_reason_not_to_start(make: Make, tmp_path: Path) -> None:
    gpu = tmp_path / "GPU-1"
    attempt = make("echo begun >begun", gpu_locks=(str(gpu),))
    with gpu.open("w") as file:
        file.write("another 1\n")
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        ending = run(attempt)
    assert ending.cause is Cause.NOT_STARTED
    assert ending.error == f"{gpu} is held by another 1"
    assert not (attempt.codebase / "begun").exists()


def test_a_gpu_that_is_given_back_soon_is_waited_for(make: Make, tmp_path: Path) -> None:
    gpu = tmp_path / "GPU-1"
    attempt = make("true", gpu_locks=(str(gpu),))
    with gpu.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        attempt.supervise()
        poll(lambda: not free(neutral.lock_path(attempt.runtime, attempt.id)))
    assert attempt.exit().exit_code == 0


# ---- the supervisor dies --------------------------------------------------------------------------------------------


def orphaned(attempt: Attempt) -> None:
    attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    attempt.kill_supervisor()


def test_an_orphan_is_adopted_and_its_end_is_seen(make: Make) -> None:
    attempt = make(UNTIL_GO)
    orphaned(attempt)
    keepers = [attempt.supervise(), attempt.supervise()]
    poll(lambda: sum(keeper.poll() is None for keeper in keepers) == 1)
    assert processes.tagged(attempt.id)
    (attempt.codebase / "go").touch()
    ending = attempt.exit()
    assert (ending.exit_code, ending.stage, ending.adopted, ending.cause) == (9, Stage.COMMAND, True, None)


def test_an_orphan_that_ended_meanwhile_has_left_its_status(make: Make) -> None:
    attempt = make(UNTIL_GO)
    orphaned(attempt)
    (attempt.codebase / "go").touch()
    poll(lambda: not processes.tagged(attempt.id))
    assert run(attempt).exit_code == 9


def test_an_orphan_that_was_killed_as_well_has_no_known_end(make: Make) -> None:
    attempt = make(UNTIL_GO)
    orphaned(attempt)
    processes.sweep(attempt.id, 0)
    ending = run(attempt)
    assert (ending.exit_code, ending.signal, ending.cause, ending.adopted) == (None, None, None, True)


def test_an_orphan_has_the_time_that_was_left(make: Make) -> None:
    attempt = make(UNTIL_GO, limit_s=1001.0)
    orphaned(attempt)
    path = attempt.folder / "started.json"
    started = json.loads(path.read_text())
    path.write_text(json.dumps({**started, "monotonic": started["monotonic"] - 1000}))
    assert run(attempt).cause is Cause.MAX_TIME


@pytest.mark.parametrize("left", ["child", "own session", "double fork", "ignores TERM"])
def test_what_an_orphan_started_is_ended_with_it(make: Make, left: str) -> None:
    attempt = make(f"{LEFT[left]}{WAIT}{UNTIL_GO}")
    orphaned(attempt)
    attempt.supervise()
    attempt.stop("enough")
    poll(lambda: (attempt.folder / "exit.json").exists())
    assert gone(attempt)


def test_a_fresh_environment_in_the_session_of_an_orphan_is_found(make: Make) -> None:
    attempt = make(f"(env -i bash -c '{HOLD}' &){WAIT}{UNTIL_GO}")
    orphaned(attempt)
    keeper = attempt.supervise()
    poll((attempt.folder / "heartbeat").exists)
    (attempt.folder / "stop.json").write_text('{"reason": "enough"}')
    assert keeper.wait(20) == 0
    assert gone(attempt)


def test_what_an_orphan_started_is_remembered_when_its_parent_is_gone(make: Make) -> None:
    parent = f"(env -i setsid bash -c '{HOLD}' & while [ ! -e leave ]; do sleep 0.01; done) &"
    attempt = make(f"{parent}{WAIT}{UNTIL_GO}")
    orphaned(attempt)
    beat = attempt.folder / "heartbeat"
    beat.unlink(missing_ok=True)  # its first beat may not have come yet
    attempt.supervise()
    poll(lambda: beat.exists() and int(beat.read_text()) > 2)
    (attempt.codebase / "leave").touch()
    (pid,) = map(int, attempt.wrote("pids").split())
    poll(lambda: (found := proc.read(pid)) and found.parent not in {p.pid for p in processes.tagged(attempt.id)})
    attempt.stop("enough")
    attempt.exit()
    assert gone(attempt)


def test_an_attempt_of_another_boot_is_left_alone(make: Make) -> None:
    attempt = make("true")
    run(attempt)
    (attempt.folder / "exit.json").unlink()
    started = json.loads((attempt.folder / "started.json").read_text())
    (attempt.folder / "started.json").write_text(json.dumps({**started, "boot_id": "another"}))
    keeper = attempt.supervise()
    assert keeper.wait(10) == 1
    assert "on another boot than this" in attempt.complaints()
    assert not (attempt.folder / "exit.json").exists()


def test_hangups_and_keyboards_do_not_matter(make: Make) -> None:
    attempt = make(UNTIL_GO)
    keeper = attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    keeper.send_signal(signal.SIGHUP)
    (attempt.codebase / "go").touch()
    assert attempt.exit().exit_code == 9


def test_the_heart_beats(make: Make) -> None:
    attempt = make("sleep 300")
    attempt.supervise()
    path = attempt.folder / "heartbeat"
    first = poll(lambda: path.exists() and int(path.read_text()))
    poll(lambda: int(path.read_text()) > first + 2)
