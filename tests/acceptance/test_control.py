"""What people and programs ask for by the command line, and that it happens (contract section 5)."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from tests.acceptance.home import Home, poll

MakeHome = Callable[..., Home]
UNTIL_GO = "until [ -e go ]; do sleep 0.05; done"


def asked(home: Home, *arguments: str) -> None:
    done = home.ajet(*arguments)
    assert done.returncode == 0, (arguments, done.stdout, done.stderr)


# ---- cancel -------------------------------------------------------------------------------------------------------


def test_cancel_a_run_that_waits(home: Home) -> None:
    asked(home, "pause")
    home.watch()
    run = home.submit("true")
    home.until(run, state="queued")
    asked(home, "cancel", run, "--reason", "no longer wanted")
    flag = home.flag(run)
    assert (flag["outcome"], flag["exit_code"], flag["attempts"]) == ("cancelled", None, 0)
    assert flag["reason"]["code"] == "cancelled"
    assert "no longer wanted" in flag["reason"]["text"]


def test_cancel_a_run_that_runs(home: Home) -> None:
    home.watch()
    run = home.submit("trap 'echo told; exit 0' TERM\nsleep 100 & wait")
    home.until(run, state="running")
    without = home.ajet("cancel", run)
    assert (without.returncode, home.state(run)["state"]) == (2, "running")
    asked(home, "cancel", run, "--reason", "wrong data")
    flag = home.flag(run)
    assert flag["outcome"] == "cancelled"
    assert "wrong data" in flag["reason"]["text"]
    assert home.console(run) == "told\n"
    assert home.exit(run)["cause"] == "stopped"
    assert home.ajet("wait", run).returncode == 4


def test_cancel_ends_everything_that_the_run_has_started(home: Home) -> None:
    home.configure(limits={"grace": "500 ms"})
    home.watch()
    run = home.submit("trap '' TERM\nsetsid sleep 1234 & python -c 'import time; print(1); time.sleep(999)'")
    poll(lambda: home.state(run).get("state") == "running" and home.console(run))
    asked(home, "cancel", run, "--reason", "enough")
    assert home.flag(run)["outcome"] == "cancelled"
    assert {row["name"] for row in home.exit(run)["leftovers"]} >= {"sleep", "python"}
    assert home.exit(run)["unkillable"] == []


def test_what_ends_before_it_can_be_cancelled_has_ended_by_itself(home: Home) -> None:
    home.watch()
    run = home.submit("exit 5")
    assert home.flag(run)["outcome"] == "failed"
    done = home.ajet("cancel", run, "--reason", "too late")
    assert done.returncode in (0, 1)
    assert home.flag(run)["outcome"] == "failed"


def test_cancel_between_two_attempts(make_home: MakeHome) -> None:
    home = make_home(repair={"backoff": "10 min"})
    home.watch()
    run = home.submit("exit 5", retry="2")
    home.until(run, state="backoff")
    asked(home, "cancel", run, "--reason", "enough")
    flag = home.flag(run)
    assert (flag["outcome"], flag["attempts"], flag["exit_code"]) == ("cancelled", 1, 5)


# ---- the queue ----------------------------------------------------------------------------------------------------


def test_hold_and_release(home: Home) -> None:
    asked(home, "pause")
    watcher = home.watch()
    for name in ("one", "two"):
        home.submit("true", name)
        home.until(name, state="queued")
    asked(home, "hold", "one")
    home.until("one", state="held")
    asked(home, "resume")
    assert home.flag("two")["outcome"] == "succeeded"
    assert home.state("one")["state"] == "held"
    assert watcher.stop() == 0
    home.drain()  # a held run keeps nobody
    assert home.state("one")["state"] == "held"
    asked(home, "release", "one")
    home.drain()
    assert home.flag("one")["outcome"] == "succeeded"


def test_prioritize(home: Home) -> None:
    asked(home, "pause")
    watcher = home.watch("--drain")
    for name in ("one", "two", "three"):
        home.mark_and_move_in(f"{name}.md", home.counted("true", name))
        home.until(name, state="queued")
    asked(home, "prioritize", "three", "7")
    home.until("three", priority=7)
    asked(home, "prioritize", "one", "-2")
    home.until("one", priority=-2)
    asked(home, "resume")
    assert watcher.wait() == 0
    assert home.order() == ["three", "two", "one"]


def test_a_paused_queue_starts_nothing_and_ends_nothing(home: Home) -> None:
    home.watch()
    first = home.submit(UNTIL_GO, "first")
    home.until(first, state="running")
    asked(home, "pause")
    second = home.submit("true", "second")
    (home.code / "go").touch()
    assert home.flag(first)["outcome"] == "succeeded"
    assert "paused" in poll(lambda: home.state(second)["blocked"])
    assert home.state(second)["state"] == "queued"
    asked(home, "resume")
    assert home.flag(second)["outcome"] == "succeeded"


def test_requests_are_honoured_when_a_watcher_comes(home: Home) -> None:
    home.ajet("pause")
    watcher = home.watch()
    run = home.submit("true")
    home.until(run, state="queued")
    watcher.stop()
    asked(home, "resume")
    answer = home.ajet_json("cancel", run)
    assert answer["pending"] is True
    home.drain()
    assert home.flag(run)["outcome"] == "cancelled"


# ---- the end of a run, by its exit code ---------------------------------------------------------------------------


def test_wait_tells_how_runs_end(make_home: MakeHome) -> None:
    home = make_home(slots=[{"name": name, "gpus": []} for name in ("left", "right")])
    endings = {"good": ("true", 0), "bad": ("exit 9", 1), "gone": (KILL_ALL_ABOVE, 5)}
    for name, (command, _) in endings.items():
        home.mark_and_move_in(f"{name}.md", home.blueprint(command, name), f"key: k-{name}")
    home.mark_and_move_in("wrong.md", b"# nothing\n")
    home.drain()
    codes = {name: home.ajet("wait", name, "--timeout", "0").returncode for name in (*endings, "wrong")}
    assert codes == {"good": 0, "bad": 1, "gone": 5, "wrong": 3}, home.flag("gone")
    assert home.ajet("wait", "good", "bad", "wrong").returncode == 3
    assert home.ajet("wait", "--key", "k-bad").returncode == 1
    assert home.ajet("wait", "no-such-run", "--timeout", "1").returncode == 6


# The supervisor and launch.sh die at once, and take with them all knowledge of how the command would have ended.
KILL_ALL_ABOVE = "kill -9 $(cut -d' ' -f4 /proc/$PPID/stat) $PPID $$"


def test_wait_waits(home: Home) -> None:
    home.watch()
    run = home.submit(UNTIL_GO)
    home.until(run, state="running")
    assert home.ajet("wait", run, "--timeout", "0.3").returncode == 124
    (home.code / "go").touch()
    document = home.ajet_json("wait", run)
    assert (document["run"], document["outcome"], document["exit_code"]) == (run, "succeeded", 0)


def test_submit_and_wait(home: Home) -> None:
    home.watch()
    source = home.root.parent / "exp.md"
    source.write_text(home.blueprint("exit 3"))
    assert home.ajet("submit", str(source), "--wait").returncode == 1


def test_submit_tells_what_it_made(home: Home) -> None:
    home.watch()
    poll(lambda: home.ajet_json("status")["watchers"])
    source = home.root.parent / "exp.md"
    source.write_text(home.blueprint("true"))
    options = ("--name", "renamed", "--priority", "4", "--key", "k 1", "--json")
    document = json.loads(home.ajet("submit", str(source), *options).stdout)
    assert "error" not in {problem["level"] for problem in document.pop("problems")}
    state = home.until("renamed", state="finished")
    assert document == {
        "name": "renamed.md",
        "key": "k 1",
        "drop_sha256": state["drop_sha256"],
        "run": "renamed",
        "run_dir": str(home.run("renamed").root),
        "finish_flag": str(home.run("renamed").flag),
    }
    assert (state["priority"], state["key"], state["name"]) == (4, "k 1", "renamed.md")
    again = home.ajet("submit", str(source), "--key", "k 1")
    assert again.returncode == 3


def test_submit_a_folder_and_a_sweep(home: Home) -> None:
    folder = home.root.parent / "exp"
    folder.mkdir()
    (folder / "blueprint.md").write_text(home.blueprint("cat note.txt", codebase_dir="./"))
    (folder / "note.txt").write_text("a note\n")
    asked(home, "submit", str(folder))
    home.drain()
    assert home.console() == "a note\n"
    assert (folder / "note.txt").exists()


def test_retry_is_a_run_of_its_own(home: Home) -> None:
    home.move_in("exp.md", home.counted("test -e go || exit 3"))
    home.drain()
    assert home.flag()["outcome"] == "failed"
    (home.code / "go").touch()
    asked(home, "retry", "exp")
    home.drain()
    assert (home.flag()["outcome"], home.flag("exp-2")["outcome"]) == ("failed", "succeeded")
    assert home.journal("exp-2")[1]["drop"]["retry_of"] == "exp"
    assert home.counts() == (2, 2)


def test_lost_is_refused_while_the_run_is_known_to_live(home: Home) -> None:
    home.watch()
    run = home.submit(UNTIL_GO)
    home.until(run, state="running")
    refused = home.ajet("lost", run)
    assert refused.returncode == 1
    assert "cancel" in refused.stderr
    (home.code / "go").touch()
    assert home.flag(run)["outcome"] == "succeeded"


@pytest.mark.parametrize("command", ["cancel", "hold", "release", "wait", "show", "peek", "logs", "retry", "lost"])
def test_no_such_run(home: Home, command: str) -> None:
    done = home.ajet(command, "nothing")
    assert done.returncode == 6, done.stderr
    assert done.stderr.count("\n") <= 2


# ---- looking ------------------------------------------------------------------------------------------------------


def test_peek_and_logs(home: Home) -> None:
    home.watch()
    run = home.submit(f"echo first line; {UNTIL_GO}; echo last line")
    home.until(run, state="running")
    poll(lambda: home.console(run))
    going = home.ajet("peek", run)
    assert going.returncode == 0
    assert "first line" in going.stdout
    (home.code / "go").touch()
    home.flag(run)
    over = home.ajet("peek", run, "--after", "20")
    assert over.returncode == 10
    assert "last line" in over.stdout
    assert home.ajet("logs", run).stdout == "first line\nlast line\n"


def test_status_tells_the_whole_home(home: Home) -> None:
    home.watch()
    running = home.submit(UNTIL_GO, "one")
    home.until(running, state="running")
    waiting = home.submit("true", "two")
    home.until(waiting, state="queued")
    document = home.ajet_json("status")
    runs = {run["run"]: run["state"] for run in document["runs"]}
    assert runs == {"one": "running", "two": "queued"}
    (home.code / "go").touch()
    home.flag(waiting)
