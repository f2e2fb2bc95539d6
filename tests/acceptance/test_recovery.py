"""What watches an experiment dies, hangs or cannot write, and the experiment goes on to its true end."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from ajet_inbox.edge import processes
from tests.acceptance.home import Home, Watcher, poll
from tests.acceptance.promise import CHAOS, UNTIL_LET, assert_kept, assert_told_once, keepers, let_end, started

MakeHome = Callable[..., Home]


def drop(home: Home, command: str = UNTIL_LET, name: str = "exp", **sections: str) -> None:
    home.mark_and_move_in(f"{name}.md", home.counted(command, name, **sections))


def begun(home: Home, name: str = "exp") -> None:
    poll(lambda: home.counts(name)[0], what=f"{name} has not begun:")
    home.until(name, state="running")


def watching(home: Home) -> Watcher:
    """A watcher that has begun to look around, as its sign of life tells."""
    watcher = home.watch()
    poll(lambda: list(home.paths.watchers.glob("*.json")))
    return watcher


# ---- the watcher --------------------------------------------------------------------------------------------------


def test_an_end_that_nobody_saw(home: Home) -> None:
    drop(home)
    watcher = home.watch()
    begun(home)
    watcher.kill()
    let_end(home)
    poll(lambda: (home.run().attempt(1) / "exit.json").exists())
    home.drain()
    assert_kept(home, {"exp": 3})


def test_an_end_without_watcher_and_supervisor(home: Home) -> None:
    drop(home)
    watcher = home.watch()
    begun(home)
    watcher.kill()
    kill_keeper(home)
    let_end(home)
    poll(lambda: home.counts("exp")[1])
    home.drain()
    assert_kept(home, {"exp": 3})
    assert home.exit()["adopted"]


def test_a_stop_as_systemd_does_it_leaves_experiments_alone(home: Home) -> None:
    drop(home)
    watcher = home.watch()
    begun(home)
    assert watcher.stop() == 0
    assert home.counts("exp") == (1, 0)
    again = home.watch("--drain")
    poll(lambda: home.events().count("claimed") == 3)
    let_end(home)
    assert again.wait() == 0
    assert_kept(home, {"exp": 3})
    assert home.events().count("launched") == 1
    assert not home.exit()["adopted"], "its supervisor had gone on as well"


# ---- tmux and the supervisor --------------------------------------------------------------------------------------


def test_the_tmux_server_is_killed(home: Home) -> None:
    drop(home)
    drop(home, "exit 0", "next")
    watcher = home.watch("--drain")
    begun(home)
    kill_server(home)
    let_end(home)
    assert watcher.wait() == 0
    assert_kept(home, {"exp": 3, "next": 0})


def test_the_supervisor_is_killed(home: Home) -> None:
    drop(home)
    drop(home, "exit 0", "next")
    watcher = home.watch("--drain")
    begun(home)
    kill_keeper(home)
    let_end(home)
    assert watcher.wait() == 0
    assert_kept(home, {"exp": 3, "next": 0})
    assert home.exit()["adopted"]


def test_both_are_killed(home: Home) -> None:
    drop(home)
    watcher = home.watch("--drain")
    begun(home)
    kill_server(home)
    kill_keeper(home)
    let_end(home)
    assert watcher.wait() == 0
    assert_kept(home, {"exp": 3})


@pytest.mark.skipif(not CHAOS, reason="only in the long form: a second death is noticed after 10 s")
def test_one_supervisor_after_the_other_is_killed(home: Home) -> None:
    drop(home)
    watcher = home.watch("--drain")
    begun(home)
    kill_keeper(home)
    [adopter] = poll(lambda: keepers(home))
    os.kill(adopter, signal.SIGKILL)
    let_end(home)
    assert watcher.wait() == 0
    assert_kept(home, {"exp": 3})


def test_what_lost_its_supervisor_can_still_be_cancelled(home: Home) -> None:
    drop(home, "sleep 100")
    watcher = home.watch("--drain")
    begun(home)
    kill_keeper(home)
    poll(lambda: keepers(home))
    home.ajet("cancel", "exp", "--reason", "enough")
    assert watcher.wait() == 0
    assert home.flag()["outcome"] == "cancelled"
    assert home.counts("exp") == (1, 1)


def test_the_supervisor_is_killed_before_it_has_begun(home: Home) -> None:
    """Whatever it had come to, the command runs once or never, and the flag says which."""
    drop(home, "exit 3")
    watcher = home.watch("--drain")
    [keeper, *_] = poll(lambda: keepers(home))
    os.kill(keeper, signal.SIGKILL)
    assert watcher.wait(60) == 0
    flag = home.flag()
    told = (flag["outcome"], flag["exit_code"], home.counts("exp"))
    assert told in [("failed", 3, (1, 1)), ("lost", None, (0, 0))]


def test_the_tmux_server_hangs_at_a_launch(home: Home) -> None:
    """The request of a watcher that has died meanwhile is fulfilled as well, and changes nothing."""
    watcher = watching(home)
    server = home.tmux_server()
    assert server
    os.kill(server[0], signal.SIGSTOP)
    drop(home)
    poll(lambda: home.run().journal.exists() and "starting" in home.events())
    watcher.kill()
    again = home.watch("--drain")
    poll(lambda: home.events().count("claimed") == 3)
    os.kill(server[0], signal.SIGCONT)
    let_end(home)
    assert again.wait() == 0
    assert_kept(home, {"exp": 3})


def kill_server(home: Home) -> None:
    server = home.tmux_server()
    assert server
    os.kill(server[0], signal.SIGKILL)
    poll(lambda: not processes.alive(*server))


def kill_keeper(home: Home, name: str = "exp") -> None:
    told = started(home, name)
    os.kill(told["keeper_pid"], signal.SIGKILL)


# ---- the disk -----------------------------------------------------------------------------------------------------


@pytest.fixture
def small_home(make_home: MakeHome, tmp_path: Path) -> Iterator[Home]:
    """A home on a disk of its own of 4 MB; its codebase lies on another."""
    root = tmp_path / "home"
    root.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(root)], capture_output=True)
    if mounted.returncode:
        pytest.skip("mounting is not permitted here")
    home = make_home()
    yield home
    home.clear()
    subprocess.run(["umount", str(root)], check=True)


@contextlib.contextmanager
def full(home: Home) -> Iterator[None]:
    """Not a byte is left on the home's disk meanwhile."""
    filler = home.root / "filler"
    with filler.open("wb", buffering=0) as file, contextlib.suppress(OSError):
        for size in (1 << 16, 1 << 12, 1):
            with contextlib.suppress(OSError):
                while file.write(b"x" * size):
                    pass
    yield
    filler.unlink()


@contextlib.contextmanager
def read_only(home: Home) -> Iterator[None]:
    """Nothing in the outbox can be changed meanwhile, not even what is open."""
    with frozen(home.paths.outbox):
        yield


@contextlib.contextmanager
def frozen(folder: Path, how_deep: str = "-R") -> Iterator[None]:
    """Nothing below the folder, or with `-d` in the folder itself, can be changed meanwhile."""
    if subprocess.run(["chattr", how_deep, "+i", str(folder)], capture_output=True).returncode:
        pytest.skip("this filesystem freezes no files")
    try:
        yield
    finally:
        subprocess.run(["chattr", how_deep, "-i", str(folder)], check=True)


def drop_in_place(home: Home, command: str, name: str = "exp") -> None:
    """As `drop`, from the home's own disk."""
    fresh = home.root / f"{name}.md"
    fresh.write_text(home.counted(command, name))
    (home.paths.inbox / f"{name}.md.ready").touch()
    fresh.rename(home.paths.inbox / fresh.name)


@pytest.mark.parametrize("trouble", [full, read_only])
def test_nothing_can_be_written_when_a_run_ends(
    small_home: Home, trouble: Callable[[Home], contextlib.AbstractContextManager[None]]
) -> None:
    home = small_home
    drop_in_place(home, UNTIL_LET)
    drop_in_place(home, "exit 0", "next")
    watcher = home.watch("--drain")
    begun(home)
    with trouble(home):
        let_end(home)
        poll(lambda: home.counts("exp")[1])
        poll(lambda: "could not be" in watcher.log or keepers(home))
        time.sleep(0.5)  # in which something wrong could be done
        assert not home.has_flag()
        assert watcher.process.poll() is None, watcher.log
    assert watcher.wait(60) == 0
    assert_kept(home, {"exp": 3, "next": 0})


def test_the_journal_cannot_be_written(home: Home) -> None:
    """What is not recorded has not been decided: the request to cancel stays until it is."""
    drop(home, "exit 3", "ends")
    drop(home, "sleep 100", "cancelled")
    home.configure(slots=[{"name": "one", "gpus": []}, {"name": "two", "gpus": []}])
    watcher = home.watch("--drain")
    home.until("cancelled", state="running")
    home.flag("ends")
    drop(home, name="later")
    home.until("later", state="running")
    with frozen(home.run("later").journal), frozen(home.run("cancelled").journal):
        home.ajet("cancel", "cancelled", "--reason", "enough")
        let_end(home)
        poll(lambda: watcher.log.count("Record could not be done") == 2)
        assert not home.has_flag("later")
        assert not home.has_flag("cancelled")
    assert watcher.wait(60) == 0
    assert home.counts() == (3, 3)
    assert_told_once(home, "later")
    flag = home.flag("cancelled")
    assert (flag["outcome"], "enough" in flag["reason"]["text"]) == ("cancelled", True)
    assert_told_once(home, "cancelled")


@pytest.mark.parametrize("trouble", [full, read_only])
def test_nothing_can_be_written_when_a_drop_comes(
    small_home: Home, trouble: Callable[[Home], contextlib.AbstractContextManager[None]]
) -> None:
    home = small_home
    (home.root / "later").write_text(home.counted("exit 3"))
    watcher = watching(home)
    with trouble(home):
        (home.root / "later").rename(home.paths.inbox / "exp.md")
        poll(lambda: "could not be claimed" in watcher.log or "cannot be read now" in watcher.log)
        assert watcher.process.poll() is None, watcher.log
        assert home.runs() == []
    home.flag()
    watcher.stop()
    assert_kept(home, {"exp": 3})


def test_a_run_folder_that_cannot_appear_appears_later(home: Home) -> None:
    watcher = watching(home)
    with frozen(home.paths.outbox, "-d"):
        drop(home, "exit 3")
        poll(lambda: "Admit could not be done" in watcher.log)
        assert home.runs() == []
    home.flag()
    assert watcher.stop() == 0
    assert_kept(home, {"exp": 3})


def test_a_home_that_cannot_be_looked_at_for_a_while(home: Home) -> None:
    watcher = watching(home)
    control = home.paths.control
    away = control.rename(control.with_name(".away"))
    control.touch()
    drop(home, "exit 3")
    poll(lambda: "cannot be looked at" in watcher.log)
    control.unlink()
    away.rename(control)
    home.flag()
    assert watcher.stop() == 0
    assert_kept(home, {"exp": 3})


def test_the_disk_is_full_when_a_watcher_starts(small_home: Home) -> None:
    """Whether it waits or says so and ends: what lies there stays, and is run when there is room."""
    home = small_home
    drop_in_place(home, "exit 3")
    with full(home):
        watcher = home.watch()
        time.sleep(1)
        watcher.kill()
    home.drain()
    assert_kept(home, {"exp": 3})


def test_without_tmux_runs_wait_and_go_on_when_it_is_back(home: Home, tmp_path: Path) -> None:
    """A queue must not be burned because tmux is missing: nothing is wrong with the runs."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in ("bash", "env", "nvidia-smi", "sh"):
        if found := shutil.which(name):
            (tools / name).symlink_to(found)
    home.submit(":", "patient")
    watcher = home.watch("--drain", prefix=("env", f"PATH={tools}"))
    home.until("patient", state="queued")
    poll(lambda: "tmux_trouble" in (home.state("patient")["blocked"] or ""))
    (tools / "tmux").symlink_to(shutil.which("tmux") or "tmux")
    (tools / "tail").symlink_to(shutil.which("tail") or "tail")
    watcher.wait()
    assert home.flag("patient")["outcome"] == "succeeded"


def test_a_supervisor_that_was_stopped_goes_on(home: Home) -> None:
    """While it stands still nobody would end the run at its limit, or when it is cancelled."""
    home.submit("sleep 100", "slow", max_time="3 seconds")
    home.watch("--drain")
    home.until("slow", state="running")
    os.kill(started(home, "slow")["keeper_pid"], signal.SIGSTOP)
    assert home.flag("slow")["reason"]["code"] == "max_time"
