"""The supervisor alone, without tmux: what it says about an end, and that nothing outlives one."""

from __future__ import annotations

import fcntl
import json
import shlex
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ajet_inbox.core.attempt import TAG, Cause, Exit, Fate, Stage
from ajet_inbox.edge import neutral, processes
from ajet_inbox.supervisor import proc
from tests.contract.attempts import ENV, Attempt, poll

Make = Callable[..., Attempt]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    runtime = neutral.runtime_dir(tmp_path)
    neutral.prepare(runtime)
    made: list[Attempt] = []

    def attempt(command: str, **spec: Any) -> Attempt:
        made.append(Attempt(tmp_path / str(len(made)), runtime, command, **spec))
        return made[-1]

    yield attempt
    for each in made:
        each.clear()
    shutil.rmtree(runtime)


def run(attempt: Attempt) -> Exit:
    keeper = attempt.supervise()
    ending = attempt.exit()
    assert keeper.wait(10) == 0
    assert processes.tagged(attempt.id) == ()
    return ending


# ---- how it ended -------------------------------------------------------------------------------------------------

ENDS = [
    ("true", 0, None),
    ("exit 3", 3, None),
    ("false\ntrue", 0, None),
    ("exec sh -c 'exit 4'", 4, None),
    ("kill -9 $$", 137, None),
    ("sh -c 'kill -SEGV $$'", 139, None),
    ("trap 'exit 7' EXIT; exit 1", 7, None),
    ("no-such-program", 127, None),
    ("if [ ; then", 2, None),
    ("cat <<'END'\n$HOME 'quoted\" `x`\nEND\nexit 5", 5, None),
    ("kill -9 $PPID; sleep 0.1", 137, 9),
    ("cat", 0, None),  # it has an empty stdin, so it does not wait for a person
]


@pytest.mark.parametrize(("command", "code", "number"), ENDS)
def test_the_exit_code_is_the_commands(make: Make, command: str, code: int, number: int | None) -> None:
    attempt = make(command)
    ending = run(attempt)
    assert (ending.exit_code, ending.signal, ending.cause) == (code, number, None)
    assert ending.attempt_id == attempt.id
    assert ending.stage is (None if number else Stage.COMMAND)
    assert not ending.adopted
    assert ending.started_at
    assert ending.command_ended_at
    assert ending.started_at.utcoffset() is not None
    assert ending.started_at <= ending.command_ended_at <= ending.ended_at


def test_the_end_is_known_at_once(make: Make) -> None:
    """Not by looking every so often: of ten ends the quickest, for the machine is shared."""
    waits = []
    for _ in range(10):
        attempt = make("date +%s.%N >ended")
        attempt.supervise().wait(20)
        ended = float(attempt.wrote("ended"))
        waits.append((attempt.folder / "exit.json").stat().st_mtime - ended)
    assert min(waits) < 0.05


def test_the_command_gets_its_environment_and_nothing_of_ours(make: Make) -> None:
    attempt = make("env -0 >environment; ls -l /proc/$$/fd >files", env={**ENV, "NAME": "a 'b' \"c\"\n$d"})
    assert run(attempt).exit_code == 0
    rows = (attempt.codebase / "environment").read_text().rstrip("\0").split("\0")
    got = dict(row.split("=", 1) for row in rows)
    assert got.pop("NAME") == "a 'b' \"c\"\n$d"
    assert got.pop(TAG) == attempt.id
    assert got.pop("PATH").startswith(f"{Path(sys.executable).parent}:")
    assert got.pop("AJET_INBOX_ATTEMPT") == "1"
    shells = {"PWD", "OLDPWD", "SHLVL", "_"}
    exported = {"HOME", "LANG", "AJET_INBOX_RUN", "AJET_INBOX_DROP", "EXP_RESULT_DIR", "PYTHONUNBUFFERED"}
    assert got.keys() - shells == exported
    assert "lock" not in attempt.wrote("files")


@pytest.mark.parametrize("newline", ["\\n", "x"])
def test_a_hundred_megabytes_of_output(make: Make, newline: str) -> None:
    attempt = make(f"head -c 100000000 /dev/zero | tr '\\0' '{newline}'")
    assert run(attempt).exit_code == 0
    assert (attempt.folder / "console.log").stat().st_size == 100_000_000


def test_signals_are_as_usual_in_the_command(make: Make) -> None:
    attempt = make("grep -E '^Sig(Blk|Ign)' /proc/self/status >masks")
    run(attempt)
    assert {line.split()[1] for line in attempt.wrote("masks").splitlines()} == {"0" * 16}


# ---- nothing outlives it ------------------------------------------------------------------------------------------

HOLD = "echo $$ >>pids; exec sleep 300"
LEFT = {
    "child": f"bash -c '{HOLD}' &",
    "own session": f"setsid bash -c '{HOLD}' &",
    "double fork": f"(setsid bash -c '({HOLD}) &' &)",
    "fresh environment": f"env -i setsid bash -c '{HOLD}' &",
    "fresh, forked twice": f"(env -i setsid bash -c '({HOLD}) &' &)",
    "ignores TERM": f"(trap '' TERM; exec bash -c '{HOLD}') &",
    "stopped": f"bash -c '{HOLD}' & sleep 0.1; kill -STOP $!",
}
WAIT = "\nwhile [ ! -s pids ]; do sleep 0.01; done\n"


def gone(attempt: Attempt) -> bool:
    pids = [int(pid) for pid in attempt.wrote("pids").split()]
    assert pids
    return not any(processes.start_time(pid) and Path(f"/proc/{pid}/cmdline").read_bytes() for pid in pids)


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


# ---- leftovers at work --------------------------------------------------------------------------------------------


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


# ---- once, and never twice ----------------------------------------------------------------------------------------


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
    root = str(Path(__file__).parents[1])
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


# ---- locks --------------------------------------------------------------------------------------------------------


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


# ---- the supervisor dies ------------------------------------------------------------------------------------------

UNTIL_GO = "echo >ready; while [ ! -e go ]; do sleep 0.01; done; exit 9"


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
    beat.unlink()
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


# ---- prepare and clean up -----------------------------------------------------------------------------------------


def test_prepare_comes_first_and_cleanup_last(make: Make) -> None:
    scripts = {"prepare": "echo prepare >>order", "cleanup": "echo $AJET_INBOX_RUN cleanup >>order; exit 4"}
    attempt = make("echo command >>order", scripts=scripts)
    ending = run(attempt)
    assert (ending.exit_code, ending.cleanup_exit_code) == (0, 4)
    assert attempt.wrote("order").splitlines() == ["prepare", "command", "run cleanup"]


def test_where_prepare_fails_the_command_is_not_run(make: Make) -> None:
    attempt = make("echo command >>order", scripts={"prepare": "exit 8", "cleanup": "echo cleanup >>order"})
    ending = run(attempt)
    assert (ending.exit_code, ending.stage, ending.cleanup_exit_code) == (8, Stage.PREPARE, 0)
    assert attempt.wrote("order") == "cleanup"


@pytest.mark.parametrize("orphan", [False, True])
def test_cleanup_is_run_whatever_happened_but_not_for_ever(make: Make, orphan: bool) -> None:
    cleanup = "echo cleanup >>order; sleep 300"
    attempt = make(UNTIL_GO, scripts={"cleanup": cleanup}, cleanup_s=0.5)
    attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    if orphan:
        attempt.kill_supervisor()
        attempt.supervise()
        (attempt.codebase / "go").touch()
    else:
        attempt.stop("enough")
    ending = attempt.exit()
    assert ending.cleanup_exit_code == 143
    assert attempt.wrote("order") == "cleanup"


# ---- a bad world --------------------------------------------------------------------------------------------------


def test_where_nothing_can_be_written_nothing_is_run(make: Make) -> None:
    """A file size limit of nothing stands for a full disk, also for the superuser."""
    attempt = make("mkdir begun")
    shell = 'exec 2> >(exec cat >>../../complaints); ulimit -f 0; name=$0; exec -a "$name" "$KEEPER" "$@"'
    keeper = attempt.supervise(("bash", "-c", shell))
    assert keeper.wait(20) == 1
    poll(lambda: f"The attempt in {attempt.folder} cannot be supervised" in attempt.complaints())
    assert not (attempt.codebase / "begun").exists()


@pytest.mark.parametrize("text", [None, "", "[]", "{}", '{"attempt_id": 1', '{"attempt_id": "a"}'])
def test_a_spec_that_says_nothing_is_complained_about(make: Make, text: str | None) -> None:
    attempt = make("true")
    (attempt.folder / "spec.json").unlink() if text is None else (attempt.folder / "spec.json").write_text(text)
    keeper = attempt.supervise()
    assert keeper.wait(10) == 1
    assert attempt.complaints().count("\n") == 1
    assert "Traceback" not in attempt.complaints()


def test_a_folder_that_is_deleted_keeps_nobody(make: Make) -> None:
    attempt = make("echo >ready; sleep 0.5")
    keeper = attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    shutil.rmtree(attempt.folder)
    assert keeper.wait(20) == 0


def test_a_disk_that_is_full_at_the_end_is_waited_for(make: Make, tmp_path: Path) -> None:
    """A folder in the place of exit.json stands for it: no file can be renamed onto that."""
    attempt = make(f"mkdir {tmp_path}/0/attempts/1/exit.json; exit 3")
    keeper = attempt.supervise()
    poll(lambda: list(attempt.folder.glob("exit.json.*")))
    (attempt.folder / "exit.json").rmdir()
    assert keeper.wait(20) == 0
    assert attempt.exit().exit_code == 3


def test_where_the_codebase_is_gone_the_command_is_not_run(make: Make) -> None:
    attempt = make("echo begun")
    attempt.codebase.rmdir()
    ending = run(attempt)
    assert ending.exit_code == 1
    assert "begun" not in attempt.console()
    assert str(attempt.codebase) in attempt.console()


def test_the_command_line_tells_nothing(make: Make) -> None:
    attempt = make(UNTIL_GO)
    keeper = attempt.supervise()
    poll((attempt.codebase / "ready").exists)
    lines = [Path(f"/proc/{pid}/cmdline").read_bytes() for pid in (keeper.pid, attempt.started().pid)]
    assert lines == [b"ajet-keeper\0-SP\0-m\0ajet_inbox.supervisor\0", b"bash\0launch.sh\0"]
    assert Path(f"/proc/{keeper.pid}/comm").read_text() == "keeper\n"


def test_start_up_is_short() -> None:
    """Heavy modules would be paid for between a free slot and the first instruction of every attempt."""
    code = "import sys, ajet_inbox.supervisor.keeper; print(*sys.modules)"
    root = Path(__file__).parents[1]
    shown = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=root, capture_output=True, text=True, check=True, timeout=20
    ).stdout.split()
    assert not {"typing", "pathlib", "subprocess", "dataclasses", "asyncio", "socket", "inspect"} & set(shown)
