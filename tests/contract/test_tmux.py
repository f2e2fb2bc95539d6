"""The tmux backend, with a real tmux."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from ajet_inbox.core.attempt import session_name
from ajet_inbox.edge import neutral, processes
from ajet_inbox.edge.tmux import Reply, Tmux, Trouble, read_reply
from ajet_inbox.supervisor import proc
from tests.contract.attempts import Attempt, poll

NAMES = [
    ("train", "train"),
    ("a.b:c d", "a_b_c_d"),
    ("训练 实验-1", "训练_实验-1"),
    ("../..; rm -rf $HOME `x` '\"#{pid}\n", "rm_-rf_HOME_x_pid"),
    ("", "run"),
    ("😀", "run"),
    ("字" * 200, "字" * 65),
]


@pytest.mark.parametrize(("label", "slug"), NAMES)
def test_session_names_are_taken_by_tmux_as_they_are(tmux: Tmux, sleeper: Path, label: str, slug: str) -> None:
    name = session_name(label, "0123456789ab", 3)
    assert name == f"ajet_{slug}_012345_a3"
    assert len(name) <= 80
    assert tmux.launch(name, sleeper).trouble is None
    assert tmux.exists(name) is True
    assert tmux.destroy(name).trouble is None
    assert tmux.exists(name) is False


@pytest.fixture
def runtime(tmp_path: Path) -> Iterator[Path]:
    folder = neutral.runtime_dir(tmp_path)
    neutral.prepare(folder)
    yield folder
    for name in [path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir()]:
        name.unlink()
    (folder / "a").rmdir()
    folder.rmdir()


@pytest.fixture
def tmux(runtime: Path) -> Iterator[Tmux]:
    yield Tmux(runtime, timeout_s=2.0)
    for pid in servers(runtime):
        os.kill(pid, signal.SIGKILL)
    poll(lambda: not servers(runtime))


@pytest.fixture
def sleeper(tmp_path: Path) -> Path:
    script = tmp_path / "sleeper"
    script.write_text("echo shown; exec sleep 300\n")
    return script


def servers(runtime: Path) -> list[int]:
    """The pids of the tmux servers of `runtime`, told by their command lines."""
    line = ["tmux", "-u", "-S", f"{runtime}/tmux", "-f", f"{runtime}/tmux.conf", "start-server"]
    wanted = [part.encode() for part in line]
    return [pid for pid in proc.table() if proc.command_line(pid) == wanted]


def the_server(runtime: Path) -> int:
    """The one server, as soon as what forked it is gone."""
    poll(lambda: len(servers(runtime)) == 1)
    return servers(runtime)[0]


def test_a_session_is_launched_once(tmux: Tmux, runtime: Path, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"echo begun >>{tmp_path}/begun; exec sleep 300\n")
    for _ in range(3):
        assert tmux.launch("ajet_x", script) == Reply()
    poll((tmp_path / "begun").exists)
    assert (tmp_path / "begun").read_text() == "begun\n"
    the_server(runtime)


def test_a_name_is_no_pattern(tmux: Tmux, sleeper: Path) -> None:
    tmux.launch("ajet_x_a10", sleeper)
    assert tmux.exists("ajet_x_a1") is False
    assert tmux.destroy("ajet_x_a1").trouble is None
    assert tmux.capture("ajet_x_a1", 5) == ""
    assert tmux.exists("ajet_x_a10") is True


def test_what_a_session_shows(tmux: Tmux, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"for i in $(seq 300); do echo 行 $i; done; echo {'x' * 500}; exec sleep 300\n")
    tmux.launch("ajet_x", script)
    shown = poll(lambda: tmux.capture("ajet_x", 3) if "x" * 500 in tmux.capture("ajet_x", 3) else "")
    assert shown.split("\n") == ["行 299", "行 300", "x" * 500]


def test_the_commands_for_people_work(tmux: Tmux, sleeper: Path) -> None:
    tmux.launch("ajet_x", sleeper)
    poll(lambda: "shown" in tmux.capture("ajet_x", 5))
    told = tmux.capture_command("ajet_x")
    assert "shown" in subprocess.run(told, shell=True, capture_output=True, text=True, timeout=10, check=True).stdout
    attach = tmux.attach_command("ajet_x")
    assert " attach-session -r -t '=ajet_x'" in attach
    assert " -r " not in tmux.attach_command("ajet_x", write=True)
    viewer = subprocess.run(
        ["timeout", "-s", "INT", "3", "script", "-qec", f"stty cols 80 rows 24; TERM=xterm {attach}", "/dev/null"],
        capture_output=True,
        timeout=20,
        stdin=subprocess.DEVNULL,
    )
    assert b"shown" in viewer.stdout


def test_a_pane_stays_when_its_command_has_ended(tmux: Tmux, tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text(f"echo last words; echo $$ >{tmp_path}/pid; sleep 0.5\n")
    tmux.launch("ajet_x", script)
    poll(lambda: (tmp_path / "pid").exists() and (tmp_path / "pid").read_text())
    poll(lambda: (found := proc.read(int((tmp_path / "pid").read_text()))) is None or found.dead)
    assert "last words" in tmux.capture("ajet_x", 50)


def test_a_stopped_server_blocks_nobody(tmux: Tmux, runtime: Path, sleeper: Path) -> None:
    tmux.launch("ajet_x", sleeper)
    quick = Tmux(runtime, timeout_s=0.3)
    server = the_server(runtime)
    os.kill(server, signal.SIGSTOP)
    begun = time.monotonic()
    assert quick.exists("ajet_x") is None
    assert quick.launch("ajet_y", sleeper).trouble is Trouble.SILENT
    assert quick.destroy("ajet_x").trouble is Trouble.SILENT
    assert quick.capture("ajet_x", 5) == ""
    assert time.monotonic() - begun < 5
    os.kill(server, signal.SIGCONT)
    poll(lambda: tmux.exists("ajet_x") is False)  # what was asked meanwhile is done late


def test_only_an_idle_server_is_closed(tmux: Tmux, runtime: Path, sleeper: Path) -> None:
    tmux.launch("ajet_x", sleeper)
    server = the_server(runtime)
    tmux.close()
    os.kill(server, signal.SIGSTOP)
    Tmux(runtime, timeout_s=0.3).close()
    os.kill(server, signal.SIGCONT)
    assert tmux.exists("ajet_x") is True
    tmux.destroy("ajet_x")
    tmux.close()
    poll(lambda: not servers(runtime))


def test_a_stuck_call_does_not_keep_a_process_from_ending(runtime: Path, tmux: Tmux, sleeper: Path) -> None:
    tmux.launch("ajet_x", sleeper)
    server = the_server(runtime)
    os.kill(server, signal.SIGSTOP)
    code = (
        "from pathlib import Path; from ajet_inbox.edge.tmux import Tmux\n"
        f"print(Tmux(Path('{runtime}'), timeout_s=0.2).exists('x'))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=10, check=True)
    assert done.stdout == "None\n"
    os.kill(server, signal.SIGCONT)


def test_a_killed_server_is_replaced(tmux: Tmux, runtime: Path, sleeper: Path) -> None:
    tmux.launch("ajet_x", sleeper)
    server = the_server(runtime)
    os.kill(server, signal.SIGKILL)
    poll(lambda: not servers(runtime))
    assert tmux.exists("ajet_x") is False
    assert tmux.destroy("ajet_x").trouble is None
    assert tmux.launch("ajet_x", sleeper).trouble is None
    assert tmux.exists("ajet_x") is True


def test_a_lost_socket_is_made_again(tmux: Tmux, runtime: Path, sleeper: Path) -> None:
    tmux.launch("ajet_x", sleeper)
    (runtime / "tmux").unlink()
    assert tmux.exists("ajet_x") is None
    assert tmux.launch("ajet_y", sleeper).trouble is None
    assert tmux.exists("ajet_x") is True
    the_server(runtime)


def test_no_tmux_at_all(runtime: Path, sleeper: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    reply = Tmux(runtime).launch("ajet_x", sleeper)
    assert reply.trouble is Trouble.MISSING
    assert "not installed" in reply.message
    assert Tmux(runtime).exists("ajet_x") is None


def test_the_server_keeps_nothing_of_a_service(
    tmux: Tmux, runtime: Path, sleeper: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOTIFY_SOCKET", "/run/x")
    monkeypatch.setenv("PYTHONPATH", "/x")
    tmux.launch("ajet_x", sleeper)
    server = the_server(runtime)
    environment = Path(f"/proc/{server}/environ").read_bytes()
    assert b"PATH=" in environment
    assert not re.search(rb"NOTIFY_SOCKET|PYTHON", environment)


REPLIES = [
    (0, ["a", "b"], [], None),
    (1, [], ["no server running on /tmp/aj-0/tmux"], Trouble.NO_SERVER),
    (1, [], ["server exited unexpectedly"], Trouble.NO_SERVER),
    (1, [], ["lost server"], Trouble.NO_SERVER),
    (1, [], ["error connecting to /tmp/aj-0/tmux (No such file or directory)"], Trouble.NO_SOCKET),
    (1, [], ["can't find session: x"], Trouble.NO_SESSION),
    (1, ["can't find session: x"], ["can't find session: x"], Trouble.NO_SESSION),
    (1, [], ["can't find window: =x:"], Trouble.NO_SESSION),
    (1, [], ["no current target"], Trouble.NO_SESSION),
    (1, [], ["duplicate session: x"], Trouble.DUPLICATE),
    (1, [], ["command new-session: unknown flag -Z"], Trouble.REFUSED),
    (1, [], [], Trouble.REFUSED),
]


@pytest.mark.parametrize(("code", "out", "err", "trouble"), REPLIES)
def test_what_tmux_says_is_understood(code: int, out: list[str], err: list[str], trouble: Trouble | None) -> None:
    reply = read_reply(code, out, err)
    assert reply.trouble is trouble
    assert bool(reply.message) is (trouble is not None)
    assert reply.lines == (("a", "b") if trouble is None else ())


# ---- attempts in tmux ---------------------------------------------------------------------------------------------


@pytest.fixture
def attempt(runtime: Path, tmp_path: Path) -> Iterator[Attempt]:
    command = "echo the console; echo >ready; while [ ! -e go ]; do sleep 0.01; done; echo the end; exit 9"
    made = Attempt(tmp_path / "run", runtime, command)
    yield made
    made.clear()


def begin(tmux: Tmux, attempt: Attempt) -> str:
    session = session_name("x", attempt.id, 1)
    script = neutral.supervisor_script(attempt.runtime, attempt.id, attempt.folder)
    assert tmux.launch(session, script).trouble is None
    poll((attempt.codebase / "ready").exists)
    return session


def viewers(attempt: Attempt) -> list[int]:
    """The pids of what shows the attempt's console in a pane."""
    wanted = f"--pid={attempt.started().keeper_pid}".encode()
    return [pid for pid in proc.table() if wanted in proc.command_line(pid)]


def test_an_attempt_shows_its_console_to_the_end(tmux: Tmux, attempt: Attempt) -> None:
    session = begin(tmux, attempt)
    poll(lambda: "the console" in tmux.capture(session, 50))
    (attempt.codebase / "go").touch()
    assert attempt.exit().exit_code == 9
    poll(lambda: "the end" in tmux.capture(session, 50))
    poll(lambda: not viewers(attempt))
    assert tmux.exists(session) is True


@pytest.mark.parametrize("harm", ["kill the server", "destroy the session", "Ctrl-C"])
def test_nothing_done_to_tmux_touches_an_attempt(tmux: Tmux, attempt: Attempt, runtime: Path, harm: str) -> None:
    session = begin(tmux, attempt)
    started = attempt.started()
    poll(lambda: viewers(attempt))
    if harm == "kill the server":
        os.kill(the_server(runtime), signal.SIGKILL)
        poll(lambda: not servers(runtime))
    elif harm == "destroy the session":
        tmux.destroy(session)
    else:
        told = tmux.capture_command(session).partition("capture-pane")[0]
        subprocess.run(f"{told} send-keys -t '={session}:' C-c", shell=True, check=True, timeout=10)
        poll(lambda: not viewers(attempt))
    assert processes.alive(started.keeper_pid, started.keeper_start_time)
    assert processes.alive(started.pid, started.start_time)
    (attempt.codebase / "go").touch()
    assert attempt.exit().exit_code == 9


def test_an_orphan_is_adopted_in_a_window_of_its_session(tmux: Tmux, attempt: Attempt) -> None:
    session = begin(tmux, attempt)
    attempt.kill_supervisor()
    script = neutral.supervisor_script(attempt.runtime, attempt.id, attempt.folder)
    assert tmux.add_window(session, script).trouble is None
    poll(lambda: "the console" in tmux.capture(session, 50))
    (attempt.codebase / "go").touch()
    ending = attempt.exit()
    assert (ending.exit_code, ending.adopted) == (9, True)


def test_an_orphan_is_adopted_where_the_session_is_gone(tmux: Tmux, attempt: Attempt) -> None:
    session = begin(tmux, attempt)
    attempt.kill_supervisor()
    tmux.destroy(session)
    script = neutral.supervisor_script(attempt.runtime, attempt.id, attempt.folder)
    assert tmux.add_window(session, script).trouble is None
    (attempt.codebase / "go").touch()
    assert attempt.exit().adopted


def test_a_folder_that_is_gone_is_said_in_the_pane(tmux: Tmux, runtime: Path, tmp_path: Path) -> None:
    script = neutral.supervisor_script(runtime, "0" * 32, tmp_path / "nowhere")
    tmux.launch("ajet_x", script)
    poll(lambda: "No such file or directory" in tmux.capture("ajet_x", 50))
