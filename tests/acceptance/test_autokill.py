"""An experiment that ends every python, ray and vllm that it finds does not find us (contract section 7).

It does so in a process namespace of its own, together with the watcher, the supervisor and the tmux server.
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.acceptance.home import Home, Watcher, poll
from tests.acceptance.promise import assert_kept

MakeHome = Callable[..., Home]

ALONE = ("unshare", "--pid", "--fork", "--kill-child", "--mount-proc")
NAME = "train-vllm-with-ray-in-python"

# As AgentJet's --autokill does it: whole command lines, its own excepted, first TERM, then KILL.
KILLER = """\
import os, signal, sys, time
from pathlib import Path

def of(pid, what):
    try:
        return Path(f"/proc/{pid}/{what}").read_bytes().decode(errors="replace")
    except OSError:
        return ""

def found():
    pids = [int(each) for each in os.listdir("/proc") if each.isdecimal()]
    words = ("ray", "vllm", "VLLM", "python")
    return [p for p in pids if p != os.getpid() and p != 1 and any(word in of(p, sys.argv[1]) for word in words)]

for number in (signal.SIGTERM, signal.SIGKILL):
    for pid in found():
        print("ends", pid, of(pid, "cmdline").replace(chr(0), " "))
        os.kill(pid, number)
    time.sleep(0.5)
assert not found()
Path(sys.argv[2]).touch()
sys.exit(7)
"""
VICTIM = "python -c 'import time; time.sleep(100)' & sleep 0.3; "


@pytest.mark.parametrize("look", ["cmdline", "comm"])
def test_it_ends_all_but_us(make_home: MakeHome, look: str) -> None:
    home = make_home("python_ray/vllm_VLLM_home")
    (home.code / "kill.py").write_text(KILLER)
    watcher = watch_alone(home)
    home.mark_and_move_in(f"{NAME}.md", home.counted(f"{VICTIM}python kill.py {look} killed", NAME))
    home.mark_and_move_in("next.md", home.counted("exit 0", "next"))
    poll(lambda: home.sessions())
    server = home.tmux_server()
    flag = home.flag(NAME)
    home.flag("next")
    poll(lambda: home.sessions() == [])
    assert (home.code / "killed").exists(), home.console(NAME)
    assert "time.sleep" in home.console(NAME), "it did end others"
    assert flag["exit_code"] == 7
    assert_kept(home, {NAME: 7, "next": 0})
    assert home.tmux_server() == server
    assert not home.exit(NAME)["adopted"]
    assert watcher.process.poll() is None
    assert watcher.log.count("Watching") == 1


def watch_alone(home: Home) -> Watcher:
    """`ajet-inbox watch` in the folder of its home. A shell is the namespace's process 1, which nothing can kill."""
    if subprocess.run([*ALONE, "true"], capture_output=True).returncode:
        pytest.skip("a process namespace of one's own is not permitted here")
    script = f'export PATH={Path(sys.executable).parent}:"$PATH"; cd "$0"; ajet-inbox watch; exit'
    watcher = Watcher([*ALONE, "/bin/sh", "-c", script, str(home.root)], home.root.parent / "watch.log")
    home.watchers.append(watcher)
    return watcher
