"""Processes seen from a watcher, all of them real."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ajet_inbox.core.attempt import TAG, Fate, StopSignal
from ajet_inbox.edge import processes
from ajet_inbox.supervisor import proc
from tests.contract.attempts import poll

Sleeper = subprocess.Popen[bytes]


@pytest.fixture
def sleeper() -> Iterator[Sleeper]:
    started = subprocess.Popen(["sleep", "300"])
    yield started
    started.kill()
    started.wait()


def identity(process: Sleeper) -> tuple[int, int]:
    start_time = processes.start_time(process.pid)
    assert start_time
    return process.pid, start_time


def test_a_process_is_known_by_its_start_time(sleeper: Sleeper) -> None:
    pid, start_time = identity(sleeper)
    assert processes.alive(pid, start_time)
    assert not processes.alive(pid, start_time + 1)
    sleeper.kill()
    poll(lambda: not processes.alive(pid, start_time))
    assert processes.start_time(pid) == start_time  # a zombie, for nobody has waited for it
    sleeper.wait()
    assert processes.start_time(pid) is None


def test_a_process_whose_first_thread_has_ended_is_alive() -> None:
    code = (
        "import ctypes, threading, time\n"
        "threading.Thread(target=time.sleep, args=(300,)).start()\n"
        "ctypes.CDLL(None).pthread_exit(None)"
    )
    started = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    pid, start_time = identity(started)
    try:
        poll(lambda: (found := proc.read(pid)) and found.state == "Z")
        assert processes.alive(pid, start_time)
    finally:
        started.kill()
        started.wait()


def test_a_signal_meets_only_the_one_it_is_meant_for(sleeper: Sleeper) -> None:
    pid, start_time = identity(sleeper)
    processes.send_signal(pid, start_time - 1, signal.SIGKILL)
    assert sleeper.poll() is None
    processes.send_signal(pid, start_time, signal.SIGKILL)
    assert sleeper.wait(10) == -signal.SIGKILL
    processes.send_signal(pid, start_time, signal.SIGKILL)


def test_an_end_is_waited_for(sleeper: Sleeper) -> None:
    pid, start_time = identity(sleeper)

    async def watch() -> float:
        waiting = asyncio.create_task(processes.ended(pid, start_time))
        await asyncio.sleep(0.05)
        assert not waiting.done()
        sleeper.kill()
        killed = time.monotonic()
        await asyncio.wait_for(waiting, 10)
        return time.monotonic() - killed

    assert asyncio.run(watch()) < 1
    asyncio.run(asyncio.wait_for(processes.ended(pid, start_time), 1))


def test_a_wait_can_be_given_up(sleeper: Sleeper) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))

    async def watch() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(processes.ended(*identity(sleeper)), 0.05)

    asyncio.run(watch())
    assert len(list(Path("/proc/self/fd").iterdir())) == before


def test_the_boot_has_a_name() -> None:
    assert processes.boot_id() == processes.boot_id()
    assert len(processes.boot_id()) == 36


# ---- trees by tag -------------------------------------------------------------------------------------------------


def start(attempt_id: str, script: str, folder: Path) -> Sleeper:
    env = {**os.environ, TAG: attempt_id}
    return subprocess.Popen(["bash", "-c", script], env=env, cwd=folder, start_new_session=True)


def pids(folder: Path, count: int) -> set[int]:
    path = folder / "pids"
    return poll(
        lambda: found if path.exists() and len(found := set(map(int, path.read_text().split()))) == count else set()
    )


@pytest.fixture
def tag() -> str:
    """Tests that run at the same time must not end each other's trees."""
    return uuid.uuid4().hex


def test_the_tag_is_matched_exactly(tmp_path: Path, tag: str) -> None:
    started = [start(each, "exec sleep 300", tmp_path) for each in (tag, f"{tag}x", f"x{tag}")]
    try:
        assert [p.pid for p in poll(lambda: processes.tagged(tag))] == [started[0].pid]
        assert processes.tagged(tag[:-1]) == ()
        assert processes.tagged("") == ()
    finally:
        for each in started:
            each.kill()
            each.wait()


TREE = """
setsid bash -c 'echo $$ >>pids; exec sleep 300' &
(setsid bash -c '(echo $BASHPID >>pids; exec sleep 300) &' &)
env -i bash -c 'echo $$ >>pids; exec sleep 300' &
echo $$ >>pids
"""


def test_a_sweep_takes_the_whole_tree(tmp_path: Path, tag: str) -> None:
    started = start(tag, f"{TREE}wait", tmp_path)
    members = pids(tmp_path, 4)
    assert members <= {p.pid for p in processes.tagged(tag)}
    swept = processes.sweep(tag, 5.0)
    started.wait(10)
    assert members <= {leftover.pid for leftover in swept}
    assert {leftover.fate for leftover in swept} == {Fate.TERMINATED}
    assert processes.tagged(tag) == ()
    assert processes.sweep(tag, 5.0) == ()


@pytest.mark.parametrize(
    ("trap", "first", "fate"),
    [
        ("trap '' TERM", StopSignal.TERM, Fate.KILLED),
        ("trap '' INT", StopSignal.INT, Fate.TERMINATED),
        ("trap '' INT TERM", StopSignal.INT, Fate.KILLED),
        ("kill -STOP $$", StopSignal.TERM, Fate.TERMINATED),
    ],
)
def test_a_sweep_goes_as_far_as_needed(tmp_path: Path, tag: str, trap: str, first: StopSignal, fate: Fate) -> None:
    script = f"echo $$ >pids; {trap}; echo >ready; while :; do sleep 0.05; done"
    started = start(tag, script, tmp_path)
    (pid,) = pids(tmp_path, 1)
    poll(lambda: (tmp_path / "ready").exists() or ((found := proc.read(pid)) and found.state == "T"))
    swept = {leftover.pid: leftover.fate for leftover in processes.sweep(tag, 0.6, first)}
    started.wait(10)
    assert swept[pid] == fate


def test_a_sweep_remembers_whose_parent_it_has_ended(tmp_path: Path, tag: str) -> None:
    script = "env -i setsid bash -c 'trap \"\" TERM; echo $$ >pids; exec sleep 300' & wait"
    started = start(tag, script, tmp_path)
    (pid,) = pids(tmp_path, 1)
    swept = {leftover.pid: leftover.fate for leftover in processes.sweep(tag, 0.5)}
    started.wait(10)
    assert swept[pid] is Fate.KILLED
    poll(lambda: (found := proc.read(pid)) is None or found.dead)


def test_a_sweep_wins_against_what_multiplies(tmp_path: Path, tag: str) -> None:
    script = "trap '' TERM; for i in 1 2 3; do (trap '' TERM; while :; do sleep 0.01 & sleep 0.01; done) & done; wait"
    started = start(tag, script, tmp_path)
    poll(lambda: len(processes.tagged(tag)) > 3)
    processes.sweep(tag, 0.2)
    started.wait(10)
    assert processes.tagged(tag) == ()


# ---- what the kernel writes ---------------------------------------------------------------------------------------


@given(
    name=st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=15),
    numbers=st.lists(st.integers(0, 2**63), min_size=9, max_size=9),
)
def test_any_name_can_stand_in_the_line(name: str, numbers: list[int]) -> None:
    pid, parent, session, user, system, child_user, child_system, threads, born = numbers
    line = (
        f"{pid} ({name}) S {parent} 0 {session} 0 -1 0 0 0 0 0 {user} {system} {child_user} {child_system} 20 0"
        f" {threads} 0 {born} 0 0\n"
    )
    process = proc.Process(line)
    assert (process.pid, process.name, process.state, process.parent) == (pid, name, "S", parent)
    assert (process.session, process.threads, process.start_time) == (session, threads, born)
    assert process.cpu == user + system + child_user + child_system


def test_this_very_process() -> None:
    process = proc.read(os.getpid())
    assert process
    assert process.parent == os.getppid()
    assert process.session == os.getsid(0)
    assert 0 <= proc.age(process) < 24 * 3600
    assert os.getpid() in proc.table()
    assert proc.command_line(os.getpid())[0]
    assert proc.environment(2**30) == []
