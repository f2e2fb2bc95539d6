"""The supervisor knows nothing of the watcher's records; here the two are held together."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from datetime import datetime
from pathlib import Path

import msgspec
import pytest

from ajet_inbox.core import attempt
from ajet_inbox.core.attempt import AttemptSpec, Exit, Fate, Started, StopSignal
from ajet_inbox.supervisor import command, files, proc, records, refused, tree, watch
from ajet_inbox.supervisor.leftovers import Leftovers, is_daemon
from ajet_inbox.supervisor.spec import Spec

NAMES = ("SPEC", "STARTED", "HEARTBEAT", "STOP", "STATUS", "EXIT", "CONSOLE")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_both_sides_use_the_same_words() -> None:
    assert [getattr(files, name) for name in NAMES] == [getattr(attempt, name) for name in NAMES]
    assert tree.TAG == attempt.TAG
    assert {refused.NOT_STARTED, watch.MAX_TIME, records.STOPPED} == set(attempt.Cause)
    assert {tree.ENDED, tree.TERMINATED, tree.KILLED, tree.ALIVE} == set(Fate)


@pytest.mark.parametrize("first", StopSignal)
def test_a_spec_arrives_whole(folder: Path, first: StopSignal) -> None:
    env = {"N": "字\n", "RAW": "\udcff=", "EMPTY": ""}
    told = AttemptSpec(
        attempt_id="a", env=env, lock="/l", gpu_locks=("/g", "/h"), limit_s=1.5, grace_s=2, stop_signal=first
    )
    (folder / files.SPEC).write_bytes(attempt.spec_bytes(told))
    got = vars(Spec())
    assert got.pop("stop_signals") == {"SIGTERM": [signal.SIGTERM], "SIGINT": [signal.SIGINT, signal.SIGTERM]}[first]
    assert got.pop("env") == {os.fsencode(name): os.fsencode(value) for name, value in env.items()}
    want = msgspec.structs.asdict(told)
    assert want.pop("stop_signal") == first
    assert want.pop("env") == env
    assert got == {**want, "gpu_locks": ["/g", "/h"]}


def test_a_spec_may_have_no_limit_no_gpus_and_no_environment(folder: Path) -> None:
    (folder / files.SPEC).write_bytes(attempt.spec_bytes(AttemptSpec(attempt_id="a", env={}, lock="/l")))
    got = Spec()
    assert (got.limit_s, got.gpu_locks, got.env) == (None, [], {})


def test_no_value_of_the_environment_can_say_more_than_itself(folder: Path) -> None:
    told = AttemptSpec(attempt_id="a", env={"N": "1\0lock=/other", "M": "lock=/other"}, lock="/l", limit_s=2)
    (folder / files.SPEC).write_bytes(attempt.spec_bytes(told))
    got = Spec()
    assert (got.lock, got.limit_s, got.env) == ("/l", 2.0, {b"N": b"1", b"M": b"lock=/other"})


@pytest.mark.parametrize(("name", "record"), [("exit.json", Exit), ("started.json", Started)])
def test_every_field_is_written(folder: Path, name: str, record: type[msgspec.Struct]) -> None:
    """Through the real thing: a field that only one side knows would be lost in silence."""
    (folder / "launch.sh").write_text("exit 3")
    told = AttemptSpec(attempt_id="a", env={}, lock=str(folder / "lock"))
    (folder / files.SPEC).write_bytes(attempt.spec_bytes(told))
    run = [sys.executable, "-c", "from ajet_inbox.supervisor.keeper import main; main()"]
    subprocess.run(run, env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}, check=True, timeout=20)
    written = msgspec.json.decode((folder / name).read_bytes())
    assert written.keys() == set(record.__struct_fields__)
    msgspec.convert(written, record)


HOSTS = ["node-1", "", 'a"b', "a\\b\\", "a\n\t\0b", "字", "\U0001f600", "}, {"]


@pytest.mark.parametrize("host", HOSTS)
def test_any_text_can_be_recorded(folder: Path, host: str) -> None:
    record: dict[str, str | int | float] = {"host": host, "pid": 7, "monotonic": 1234.5}
    assert files.create("it", record)
    assert records.read("it") == record


@pytest.mark.parametrize("zone", ["UTC", "Asia/Shanghai", "Asia/Kolkata", "America/St_Johns", "<-0930>9:30"])
def test_times_carry_their_offset(zone: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        before, told, after = time.time(), datetime.fromisoformat(files.now()), time.time()
        assert before - 0.001 <= told.timestamp() <= after
        assert told.utcoffset() == datetime.now().astimezone().utcoffset()
    finally:
        monkeypatch.undo()
        time.tzset()


RACE = """
import os, sys
from ajet_inbox.supervisor import files
sys.stdin.read()
print(files.create("it", {"by": os.getpid()}))
"""


def test_one_of_many_creates(folder: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])}
    racers = [
        subprocess.Popen([sys.executable, "-c", RACE], env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        for _ in range(8)
    ]
    for racer in racers:
        assert racer.stdin
        racer.stdin.close()
        racer.stdin = None
    said = {racer.pid: racer.communicate(timeout=30)[0].strip() for racer in racers}
    assert sorted(said.values()) == [b"False"] * 7 + [b"True"]
    assert said[records.read("it")["by"]] == b"True"
    assert [path.name for path in folder.iterdir()] == ["it"]


@pytest.mark.parametrize(
    ("text", "answer"),
    [("0 command\n", (0, "command")), ("137 prepare\n", (137, "prepare")), ("", None), ("0", None), ("x y", None)],
)
def test_the_status_file(folder: Path, text: str, answer: tuple[int, str] | None) -> None:
    assert files.status() is None
    (folder / files.STATUS).write_text(text)
    assert files.status() == answer


@pytest.mark.parametrize(
    ("status", "answer"), [(0, (0, None)), (3 << 8, (3, None)), (9, (137, 9)), (11 | 128, (139, 11))]
)
def test_a_wait_status(status: int, answer: tuple[int, int | None]) -> None:
    assert command.exit_code(status) == answer


DAEMONS = [
    (["/venv/lib/python3.11/site-packages/ray/core/src/ray/raylet/raylet", "--raylet_socket_name=x"], True),
    (["/venv/lib/python3.11/site-packages/ray/core/src/ray/gcs/gcs_server", "--log_dir=x"], True),
    (["raylet"], True),
    (["ray::IDLE"], True),
    (["ray::TaskRunner.run"], True),
    (["/venv/bin/python", "-u", "/venv/lib/python3.11/site-packages/ray/autoscaler/_private/monitor.py"], True),
    (["/venv/bin/python", "-u", "/venv/lib/python3.11/site-packages/ray/dashboard/dashboard.py", "--host"], True),
    (["/venv/bin/python", "-u", "/venv/lib/python3.11/site-packages/ray/_private/log_monitor.py"], True),
    (["/venv/bin/python", "-m", "ray.util.client.server", "--address=x"], True),
    (["python", "train.py", "--ray"], False),
    (["python", "-m", "ajet.launcher", "--with-ray"], False),
    (["python", "/home/ray/train.py"], False),
    (["python", "/home/ray/x/monitor.py"], False),
    (["rayletter"], False),
    (["bash", "-c", "ray::IDLE"], False),
    ([], False),
]


@pytest.mark.parametrize(("line", "daemon"), DAEMONS)
def test_known_daemons(line: list[str], daemon: bool) -> None:
    assert is_daemon([part.encode() for part in line]) is daemon


# ---- leftovers over time, as data ---------------------------------------------------------------------------------


def process(cpu_s: float, *, state: str = "S", age_s: float | None = None) -> proc.Process:
    """A process as the kernel would show it, as old as the machine; its pid is one that no process can have."""
    cpu = round(cpu_s * proc.TICKS_PER_S)
    now_s = time.clock_gettime(time.CLOCK_BOOTTIME)
    born = 0 if age_s is None else round((now_s - age_s) * proc.TICKS_PER_S)
    return proc.Process(f"99999999 (left) {state} 1 1 1 0 -1 0 0 0 0 0 {cpu} 0 0 0 20 0 1 0 {born} 0")


# Seconds after the end of the command, CPU used by then, bytes of console by then: whether it is at work.
# It is looked at after 5 s at the earliest and counts as idle after 300 s.
LIVES = {
    "never did anything": [(0, 0.01, 0, False)],
    "worked before the end": [(0, 9.0, 0, True), (299, 9.0, 0, True), (301, 9.0, 0, False)],
    "works": [(0, 9.0, 0, True), (200, 9.1, 0, True), (400, 9.2, 0, True), (600, 9.2, 0, True), (701, 9.2, 0, False)],
    "hardly works": [(0, 9.0, 0, True), (200, 9.03, 0, True), (301, 9.04, 0, False)],
    "slowly works": [(0, 9.0, 0, True), (200, 9.03, 0, True), (299, 9.06, 0, True), (500, 9.06, 0, True)],
    "prints": [(0, 9.0, 10, True), (299, 9.0, 20, True), (500, 9.0, 20, True), (600, 9.0, 20, False)],
    "printed before the end": [(0, 0.01, 10, False)],
}


@pytest.mark.parametrize("life", LIVES)
def test_at_work_over_time(life: str) -> None:
    leftovers = Leftovers(5.0, 300.0, 1000.0, LIVES[life][0][2])
    for seconds, cpu, console, at_work in LIVES[life]:
        got = leftovers.at_work([process(cpu)], 1000.0 + seconds, console)
        assert got is at_work, f"after {seconds} s"


def test_the_young_and_those_in_the_kernel_are_at_work() -> None:
    leftovers = Leftovers(5.0, 300.0, 1000.0, 0)
    assert leftovers.at_work([process(0.0, age_s=1.0)], 1000.0, 0)
    assert leftovers.at_work([process(0.0, state="D")], 9000.0, 0)
    assert not leftovers.at_work([process(0.0, age_s=9.0)], 1000.0, 0)
    assert leftovers.at_work([process(0.0), process(0.0, state="D")], 9000.0, 0)
    assert not leftovers.at_work([], 1000.0, 50)
