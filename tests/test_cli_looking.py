"""The real command: looking at runs, on any terminal."""

from __future__ import annotations

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from ajet_inbox.app.heartbeat import SlotSign
from ajet_inbox.app.identity import host_name
from ajet_inbox.core import journal
from ajet_inbox.core.blueprint import Level, Problem
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import HomePaths
from tests.cli_home import (
    AT,
    ATTACH,
    add_run,
    ajet,
    ajet_json,
    console,
    end,
    environment,
    finished,
    let_watch,
    make_busy,
    make_home,
    on_a_terminal,
    queued,
    running,
    set_state,
    start,
    state_of,
)

TYPED = ATTACH.replace("=ajet_x", "'=ajet_x'")  # zsh takes an open `=ajet_x` for the name of a program


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return make_home(tmp_path / "home")


@pytest.fixture
def busy(home: HomePaths) -> HomePaths:
    return make_busy(home)


def test_status_shows_who_runs_who_waits_and_why(busy: HomePaths) -> None:
    done = ajet(busy, "status")
    lines = done.stdout.splitlines()
    assert done.returncode == 0
    assert [line.split()[0] for line in lines[-3:]] == ["runs", "waits", "done"]
    assert "34/200" in lines[-3]
    assert lines[-2].endswith("no_free_slot: No slot is free.")
    assert "No watcher is running here" in done.stdout
    assert "\x1b" not in done.stdout


def test_status_tells_what_is_odd(busy: HomePaths) -> None:
    busy.inbox.rmdir()
    let_watch(busy, strangers=("notes.txt",), slots_trouble="nvidia-smi gave no answer.")
    let_watch(busy, host="gone", at="2020-01-01T00:00:00Z")
    ajet(busy, "pause")
    set_state(busy, "runs", host="gone")
    done = ajet(busy, "status")
    for told in ("notes.txt", "inbox is missing", "paused since", "nvidia-smi gave no answer", "gone is silent"):
        assert told in done.stdout
    assert "No watcher is running here" not in done.stdout
    _, document = ajet_json(busy, "status")
    assert document["inbox_missing"]
    assert {w["host"]: w["alive"] for w in document["watchers"]}["gone"] is False
    assert [run["run"] for run in document["runs"]] == ["runs", "waits", "done"]


@pytest.mark.parametrize("columns", [40, 80, 200])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_status_fits_any_terminal(busy: HomePaths, columns: int, encoding: str) -> None:
    add_run(busy, "一个很长的名字" * 5, *queued(), blocked="原因：\x1b[2J\u202e没有")
    code, shown = on_a_terminal(busy, "status", columns=columns, PYTHONIOENCODING=encoding, NO_COLOR="1")
    assert code == 0
    assert "\x1b[2J" not in shown
    assert "\u202e" not in shown
    if encoding == "utf-8":
        assert max(map(wide, shown.splitlines())) <= columns


def wide(line: str) -> int:
    from rich.cells import cell_len
    from rich.text import Text

    return cell_len(Text.from_ansi(line).plain)


def test_colours_only_on_a_terminal_that_wants_them(busy: HomePaths) -> None:
    assert "\x1b[32m" in on_a_terminal(busy, "status")[1]
    assert "\x1b[32m" not in on_a_terminal(busy, "status", NO_COLOR="1")[1]


def test_status_is_shown_anew_until_ctrl_c(busy: HomePaths) -> None:
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "ajet_inbox", "--home", str(busy.root), "status", "--watch"]
    child = subprocess.Popen(
        command, stdin=theirs, stdout=theirs, stderr=theirs, env=environment(COLUMNS="120", TERM="xterm-256color")
    )
    os.close(theirs)
    shown = ""
    while "34/200" not in shown:
        shown += os.read(ours, 65536).decode(errors="replace")
    set_state(busy, "runs", step=35)
    while "35/200" not in shown:
        shown += os.read(ours, 65536).decode(errors="replace")
    child.send_signal(signal.SIGINT)
    assert child.wait(timeout=20) == 130
    os.close(ours)


def test_a_narrow_terminal_shows_the_step_and_the_priority_in_the_note(busy: HomePaths) -> None:
    shown = on_a_terminal(busy, "status", columns=80, NO_COLOR="1")[1]
    assert "step 34/200" in shown
    assert "priority 2; no_free_slot" in shown
    assert "priority  2\n" in ajet(busy, "show", "waits").stdout


def test_status_tells_how_many_finished_runs_it_leaves_out(home: HomePaths) -> None:
    for number in range(12):
        add_run(home, f"run{number}", *finished(Outcome.FAILED))
    shown = ajet(home, "status").stdout
    assert sum(line.startswith("run") for line in shown.splitlines()) == 10
    assert shown.endswith("And 2 more that are finished: 'ajet-inbox status --all' shows them.\n")
    shown = ajet(home, "status", "--all").stdout
    assert sum(line.startswith("run") for line in shown.splitlines()) == 12
    assert "more that are finished" not in shown


def test_status_says_once_that_the_watcher_here_is_gone(home: HomePaths) -> None:
    let_watch(home, slots=(SlotSign(name="only", gpus=()),))
    assert ajet(home, "status").stdout.startswith(f"Watcher on {host_name()}: 1 slot, 1 free.\n")
    let_watch(home, boot_id="another", at="2020-01-01T00:00:00Z")
    shown = ajet(home, "status").stdout
    assert shown.count("watcher") == 1
    assert shown.startswith(f"The watcher on {host_name()} is gone, last seen 2020-01-01 00:00: start one with")


def test_show_tells_what_the_check_found_and_what_to_do_next(home: HomePaths) -> None:
    told = (
        Problem(code="a", level=Level.WARNING, line=7, message="It says --api-key abc.", hint="Take it out."),
        Problem(code="b", level=Level.INFO, message="Nobody reads this."),
    )
    add_run(home, "runs", *running(), problems=told, attach_command=ATTACH)
    shown = ajet(home, "show", "runs").stdout
    assert "warning   line 7: It says --api-key *** Take it out.\n" in shown
    assert "Nobody reads this" not in shown
    assert "ajet-inbox logs runs -f" in shown
    assert "claimed" not in shown
    assert "limit 1 h" in shown
    document = ajet_json(home, "show", "runs")[1]
    assert [(p["code"], "abc" in p["message"]) for p in document["problems"]] == [("a", False), ("b", False)]


NEXT = [
    (Outcome.SUCCEEDED, "because", None),
    (Outcome.FAILED, "because", "ajet-inbox logs exp"),
    (Outcome.CANCELLED, "because", "ajet-inbox retry exp"),
    (Outcome.LOST, "because", "ajet-inbox retry exp"),
    (Outcome.REJECTED, "duplicate", "another --name or --key"),
    (Outcome.REJECTED, "result_dir_in_use", "another exp_result_dir"),
    (Outcome.REJECTED, "value_missing", "ajet-inbox check FILE"),
]


@pytest.mark.parametrize(("outcome", "code", "told"), NEXT)
def test_show_names_the_next_step(home: HomePaths, outcome: Outcome, code: str, told: str | None) -> None:
    add_run(home, "exp", *finished(outcome), reason={"code": code, "text": "It was so."})
    step = [line for line in ajet(home, "show", "exp").stdout.splitlines() if line.startswith("next ")]
    assert len(step) == (1 if told else 0)
    assert (told or "") in "".join(step)


def test_show_breaks_lines_between_words(busy: HomePaths) -> None:
    set_state(busy, "waits", blocked="no_free_slot: " + "No slot with 8 GPUs or more is free. " * 4)
    shown = on_a_terminal(busy, "show", "waits", columns=60)[1].splitlines()
    begin = next(number for number, line in enumerate(shown) if line.startswith("waits for "))
    assert shown[begin + 1].startswith(" " * 10)
    assert max(len(line) for line in shown if "/" not in line) <= 60


def test_show_tells_the_story_and_where_things_lie(busy: HomePaths) -> None:
    shown = ajet(busy, "show", "done").stdout
    for told in ("finished, succeeded", "It was succeeded.", "task_pass_rate@1 0.1235", "finish.flag", "launched"):
        assert told in shown
    _, document = ajet_json(busy, "show", "done")
    assert document["files"]["finish.flag"] == str(busy.run("done").flag)
    assert document["journal"][-1]["event"] == "finished"
    assert (
        document.items()
        >= {**state_of(busy, "done"), **{k: document[k] for k in document if k.endswith("_at")}}.items()
    )


def test_peek_gives_the_last_lines_and_says_whether_it_goes_on(busy: HomePaths) -> None:
    code, document = ajet_json(busy, "peek", "runs")
    assert (code, document["state"], document["step"]) == (0, "running", 34)
    assert document["console"] == [f"line {n}" for n in range(50, 100)]
    assert ajet_json(busy, "peek", "done", "--after", "60")[0] == 10


def test_peek_cuts_long_lines_for_people(busy: HomePaths) -> None:
    console(busy, "runs", 1, b"x" * 1000 + b"\n")
    last = ajet(busy, "peek", "runs").stdout.splitlines()[-1]
    assert last == "x" * 197 + "..."
    assert len(on_a_terminal(busy, "peek", "runs", columns=60)[1].splitlines()[-1]) == 60
    assert len(ajet_json(busy, "peek", "runs")[1]["console"][-1]) == 1000


def test_peek_returns_as_soon_as_the_state_changes(busy: HomePaths) -> None:
    timer = threading.Timer(1.0, lambda: set_state(busy, "runs", state="stopping"))
    timer.start()
    begin = time.monotonic()
    code, document = ajet_json(busy, "peek", "runs", "--after", "60")
    timer.join()
    assert (code, document["state"]) == (0, "stopping")
    assert time.monotonic() - begin < 30
    assert ajet_json(busy, "peek", "runs", "--after", "0.3")[1]["state"] == "stopping"


def test_logs_pass_every_byte_through_a_pipe(busy: HomePaths) -> None:
    console(busy, "runs", 2, b"\xff\x00\x1b[2Jraw\r\n")
    command = [sys.executable, "-m", "ajet_inbox", "--home", str(busy.root), "logs", "runs"]
    assert subprocess.run(command, capture_output=True, timeout=30).stdout == b"\xff\x00\x1b[2Jraw\r\n"
    assert subprocess.run([*command, "--attempt", "1"], capture_output=True, timeout=30).stdout.startswith(b"line 0\n")
    assert ajet(busy, "logs", "runs", "--attempt", "3").returncode == 1
    assert "no console yet" in ajet(busy, "logs", "waits").stderr
    assert "'ajet-inbox show done' says why" in ajet(busy, "logs", "done").stderr


def test_logs_cannot_steer_a_terminal(busy: HomePaths) -> None:
    console(busy, "runs", 2, b"\x1b]0;title\x07\x1b[2J\x1b[31mred\x1b[0m\n")
    assert on_a_terminal(busy, "logs", "runs")[1] == "\x1b[31mred\x1b[0m\r\n"


def test_logs_follow_to_the_end(busy: HomePaths) -> None:
    with start(busy, "logs", "runs", "-f") as following:
        assert following.stdout
        assert following.stdout.readline() == "line 0\n"
        console(busy, "runs", 2, b"second attempt\n")
        end(busy, "runs", Outcome.FAILED)
        rest = following.stdout.read()
    assert rest.endswith("line 99\nsecond attempt\n")
    assert following.returncode == 0


@pytest.mark.parametrize(("host", "arguments", "told"), [
    (None, [], TYPED),
    (None, ["--write"], TYPED.replace(" -r", "")),
    ("gpu7", [], f"It is on another host: ssh -t gpu7 {shlex.quote(TYPED)}"),
])  # fmt: skip
def test_attach_is_read_only_unless_asked(busy: HomePaths, host: str | None, arguments: list[str], told: str) -> None:
    set_state(busy, "runs", **({"host": host} if host else {}))
    done = ajet(busy, "attach", "runs", *arguments)
    assert (done.returncode, done.stdout.strip()) == (0, told)


def test_attach_executes_nothing_but_ours(busy: HomePaths, tmp_path: Path) -> None:
    for command in (f"touch {tmp_path}/x", "tmux new 'evil'", f"{ATTACH} ; evil", "env -u TMUX tmux 'torn"):
        set_state(busy, "runs", attach_command=command)
        code, shown = on_a_terminal(busy, "attach", "runs")
        assert code == 1
        assert "not one of ours" in shown
    assert not (tmp_path / "x").exists()
    assert "has no tmux session" in ajet(busy, "attach", "waits").stderr


def test_attach_opens_the_session_on_a_terminal(busy: HomePaths, tmp_path: Path) -> None:
    socket = tmp_path / "s"
    tmux = ["tmux", "-u", "-S", str(socket), "-f", "/dev/null"]
    subprocess.run([*tmux, "new-session", "-d", "-s", "ajet_x", "echo hello; exec sleep 60"], check=True, timeout=20)
    detach = threading.Timer(2.0, lambda: subprocess.run([*tmux, "detach-client", "-s", "ajet_x"], timeout=20))
    detach.start()
    try:
        set_state(busy, "runs", attach_command=ATTACH.replace("/tmp/aj-0/s", str(socket)))
        code, shown = on_a_terminal(busy, "attach", "runs")
    finally:
        detach.join()
        subprocess.run([*tmux, "kill-server"], check=True, timeout=20)
    assert code == 0
    assert "hello" in shown


def test_slots_are_those_of_living_watchers(home: HomePaths) -> None:
    assert ajet(home, "slots").returncode == 7
    let_watch(home)
    code, document = ajet_json(home, "slots")
    assert (code, [(s["name"], s["run"]) for s in document]) == (0, [("slot-0", "busy"), ("slot-1", None)])
    assert "slot-1" in ajet(home, "slots").stdout


def test_metrics_are_told_as_in_the_file(tmp_path: Path) -> None:
    file = tmp_path / "val.md"
    file.write_text("{'global_steps': 5, 'pass_n': 4, 'task_pass_rate@1': np.float64(0.25), 'mean_reward': 0.5}\n")
    done = ajet(None, "metrics", str(file), "--json", cwd=tmp_path)
    assert (done.returncode, json.loads(done.stdout)["evals"][0]["task_pass_rate@1"]) == (0, 0.25)
    assert "0.25" in ajet(None, "metrics", str(file), cwd=tmp_path).stdout
    file.write_text("nothing\n")
    assert ajet(None, "metrics", str(file), cwd=tmp_path).returncode == 1


def test_a_run_without_a_limit_is_shown_too(home: HomePaths) -> None:
    starting = journal.Starting(at=AT, attempt=1, id="d-1", session="ajet_x", limit_s=None)
    add_run(home, "free", *queued()[:1], journal.Allocated(at=AT, slot="slot-0"), starting)
    shown = ajet(home, "show", "free").stdout
    assert shown.endswith("starting       attempt 1\n")
