"""The tmux session of an attempt (contract section 8)."""

from __future__ import annotations

import re
import subprocess

from tests.acceptance.home import Home, environment, poll


def shell(command: str) -> str:
    """What a command prints that state.json told, as a person would paste it."""
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=10, env=environment())
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_run_can_be_watched_while_it_runs_and_is_gone_after_its_flag(home: Home) -> None:
    text = home.blueprint("echo hello from inside; until [ -e go ]; do sleep 0.05; done", purpose="Try lr 0.1: a/b")
    home.move_in("exp.md", text)
    home.watch()
    state = home.until("exp", state="running")
    (session,) = home.sessions()
    assert re.fullmatch(r"ajet_Try_lr_0_1_a_b_[0-9a-f]{6}_a1", session)
    assert session in state["attach_command"]
    assert "-r" in state["attach_command"].split()
    poll(lambda: "hello from inside" in shell(state["capture_command"]))
    assert attached_sees(state["attach_command"], "hello from inside")
    (home.code / "go").touch()
    assert home.flag()["outcome"] == "succeeded"
    poll(lambda: not home.sessions())
    ended = home.state()
    assert (ended["attach_command"], ended["capture_command"]) == (None, None)


def attached_sees(command: str, words: str) -> bool:
    """Whether a terminal shows `words` when the command runs in it; the terminal is closed afterwards."""
    typescript = subprocess.Popen(
        ["script", "-qfec", command, "/dev/null"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=environment(TERM="xterm"),
    )  # fmt: skip
    assert typescript.stdout is not None
    seen = b""
    try:
        while words.encode() not in seen and (more := typescript.stdout.read1()):
            seen += more
    finally:
        typescript.kill()
        typescript.communicate()
    return words.encode() in seen


def test_ending_what_a_person_looks_at_does_not_end_the_experiment(home: Home) -> None:
    home.move_in("exp.md", home.counted("until [ -e go ]; do sleep 0.05; done"))
    watcher = home.watch("--drain")
    home.until("exp", state="running")
    home.tmux("kill-session", "-t", f"={home.sessions()[0]}")
    home.tmux("kill-server")
    (home.code / "go").touch()
    assert watcher.wait() == 0
    assert home.flag()["outcome"] == "succeeded"
    assert home.counts() == (1, 1)


def test_sessions_of_runs_side_by_side_have_names_of_their_own(home: Home) -> None:
    home.configure(slots=[{"name": name, "gpus": []} for name in ("a", "b", "c")])
    for name in ("one", "two", "three"):
        wait = "until [ -e go ]; do sleep 0.05; done"
        home.move_in(f"{name}.md", home.blueprint(wait, name, purpose="the same words"))
    watcher = home.watch("--drain")
    for name in ("one", "two", "three"):
        home.until(name, state="running")
    assert len(set(home.sessions())) == 3
    (home.code / "go").touch()
    assert watcher.wait() == 0


def test_the_watchers_end_leaves_the_experiment_alone(home: Home) -> None:
    home.move_in("exp.md", home.counted("until [ -e go ]; do sleep 0.05; done"))
    first = home.watch()
    home.until("exp", state="running")
    assert first.stop() == 0
    assert home.sessions()
    (home.code / "go").touch()
    home.drain()
    assert home.flag()["outcome"] == "succeeded"
    assert home.counts() == (1, 1)
