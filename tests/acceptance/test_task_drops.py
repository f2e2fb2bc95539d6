"""A task that is dropped is drafted, told and flagged like every drop (contract section 9)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ajet_inbox.core.reading.parse import read_blueprint
from tests.acceptance.home import Home, names, poll

MakeHome = Callable[..., Home]

# Writes nothing that passes, then a blueprint whose experiment leaves a trace; what it was told it keeps.
AGENT = """\
#!/bin/bash
cat >>"$LOG"
echo round >>"$LOG"
if [ -e blueprint.md ]; then cp "$GOOD" blueprint.md; else echo "# Nothing yet" >blueprint.md; fi
"""


def task(home: Home, text: str = "Study the learning rate for 2 hours.") -> str:
    return f"{text}\n\n[exp_codebase_dir]: {home.code}\n[exp_venv_exe]: {home.python}\n"


def with_agent(make_home: MakeHome, script: str = AGENT, **draft: object) -> tuple[Home, Path]:
    """A home with this agent, and the file into which the agent writes what it is told."""
    home = make_home()
    agent, log, good = (home.root.parent / name for name in ("agent.sh", "agent.log", "good.md"))
    agent.write_text(script)
    agent.chmod(0o755)
    good.write_text(home.blueprint("echo ran >>drafted", "by_agent"))
    command = f"LOG={log} GOOD={good} {agent}"
    home.configure(draft={"agent": {"command": command, "timeout": "20 s"}, **draft})
    return home, log


def lives(pid: str) -> bool:
    """A dead process that nobody has reaped yet has no command line."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())
    except OSError:
        return False


def drafted(home: Home, run: str = "lr") -> str:
    return (home.run(run).draft / "blueprint.md").read_text()


def test_a_task_is_drafted_for_review(home: Home) -> None:
    text = task(home)
    home.move_in("lr.task.md", text)
    home.drain()
    flag = home.flag("lr")
    assert (flag["outcome"], flag["reason"]["code"], flag["attempts"]) == ("succeeded", "drafted", 0)
    assert home.runs() == ["lr"]
    assert names(home.run("lr").draft) == {"blueprint.md", "lr.yaml"}
    assert (home.run("lr").drop / "lr.task.md").read_text() == text
    read = read_blueprint(drafted(home)).blueprint
    assert (read.codebase_dir, read.venv_exe, read.max_time_s) == (str(home.code), str(home.python), 7200.0)
    assert read.yaml_path == str(home.run("lr").draft / "lr.yaml")
    assert home.ajet("wait", "lr").returncode == 0
    assert home.events("lr") == ["claimed", "submitted", "finished", "published"]


def test_a_task_waits_for_no_slot(make_home: MakeHome) -> None:
    home = make_home()
    home.move_in("busy.md", home.blueprint("sleep 600", "busy"))
    home.watch()
    home.until("busy", state="running")
    home.move_in("lr.task.md", task(home))
    assert home.flag("lr")["outcome"] == "succeeded"


def test_a_draft_may_be_run_at_once(make_home: MakeHome) -> None:
    home, _ = with_agent(make_home, auto_submit=True)
    home.move_in("lr.task.md", task(home))
    home.drain()
    assert home.runs() == ["lr", "lr_draft"]
    assert "dropped as lr_draft" in home.flag("lr")["reason"]["text"]
    assert home.flag("lr_draft")["outcome"] == "succeeded"
    assert home.wrote("drafted") == "ran"


def test_the_agent_is_told_what_does_not_pass(make_home: MakeHome) -> None:
    home, log = with_agent(make_home)
    home.move_in("lr.task.md", task(home, "Study the learning rate: 一个任务"))
    home.drain()
    assert home.flag("lr")["reason"]["code"] == "drafted"
    assert "echo ran >>drafted" in drafted(home)
    first, second, rest = log.read_text().split("round\n")
    assert "一个任务" in first
    assert "[exp_launch_command] is missing" in second
    assert "[exp_launch_command] is missing" not in first
    assert rest == ""
    assert home.sessions() == []


def test_an_agent_that_never_passes_is_a_failure_and_no_loop(make_home: MakeHome) -> None:
    home, log = with_agent(make_home, 'cat >>"$LOG"; echo I cannot; exit 3')
    home.move_in("lr.task.md", task(home))
    home.drain()
    flag = home.flag("lr")
    assert (flag["outcome"], flag["reason"]["code"]) == ("failed", "not_drafted")
    assert "in 3 rounds: It ended with exit code 3: I cannot." in flag["reason"]["text"]
    assert log.read_text().count("# Your task:") == 3
    assert home.ajet("wait", "lr").returncode == 1


def test_a_task_that_asks_for_what_is_not_there_is_a_failure(home: Home) -> None:
    home.move_in("lr.task.md", task(home) + "[exp_yaml_path]: /nowhere/base.yaml\n")
    home.drain()
    assert home.flag("lr")["outcome"] == "failed"
    assert "base cannot be read" in home.flag("lr")["reason"]["text"]


@pytest.mark.parametrize("text", ["", "\0\n\x1b[31m", "## [exp_codebase_dir]\n" * 1000])
def test_a_strange_task_is_told_of_and_keeps_nobody_waiting(home: Home, text: str) -> None:
    home.move_in("lr.task.md", text)
    home.move_in("exp.md", home.blueprint("true"))
    home.drain()
    assert home.flag("lr")["outcome"] in ("succeeded", "failed")
    assert home.flag()["outcome"] == "succeeded"


def test_the_same_task_twice_is_a_duplicate_while_the_first_is_drafted(make_home: MakeHome) -> None:
    home, log = with_agent(make_home, 'echo begun >>"$LOG"; sleep 600')
    home.move_in("lr.task.md", task(home))
    home.watch()
    poll(log.exists)
    home.move_in("lr.task.md", task(home))
    assert home.flag("lr-2")["reason"]["code"] == "duplicate"
    assert home.state("lr")["state"] == "submitted"


def test_a_task_is_cancelled_with_its_agent(make_home: MakeHome) -> None:
    home, log = with_agent(make_home, 'echo $$ >>"$LOG"; sleep 600')
    home.move_in("lr.task.md", task(home))
    home.watch()
    pid = poll(lambda: log.read_text().strip() if log.exists() else "")
    assert home.ajet("cancel", "lr", "--reason", "not now").returncode == 0
    assert home.flag("lr")["outcome"] == "cancelled"
    assert not lives(pid)
    assert home.sessions() == []


@pytest.mark.parametrize("auto_submit", [False, True])
def test_a_watcher_that_dies_while_the_agent_works_costs_nothing_twice(make_home: MakeHome, auto_submit: bool) -> None:
    script = 'echo $$ >>"$LOG.pids"; [ $(wc -l <"$LOG.pids") = 1 ] && sleep 600\n' + AGENT
    home, log = with_agent(make_home, script, auto_submit=auto_submit)
    home.move_in("lr.task.md", task(home))
    watcher = home.watch()
    pids = Path(f"{log}.pids")
    poll(pids.exists)
    watcher.kill()
    home.drain()
    assert home.flag("lr")["reason"]["code"] == "drafted"
    assert not any(map(lives, pids.read_text().split()))
    assert home.runs() == (["lr", "lr_draft"] if auto_submit else ["lr"])
    assert home.events("lr").count("finished") == 1
    assert home.sessions() == []
