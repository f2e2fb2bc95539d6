"""Several watchers on one home: on one host one after the other, on several hosts side by side (contract section 1)."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from itertools import accumulate
from typing import Any

import pytest

from tests.acceptance.home import Home, Watcher, poll
from tests.acceptance.promise import CHAOS, UNTIL_LET, assert_kept, assert_told_once, let_end

MakeHome = Callable[..., Home]

DROPS = 120 if CHAOS else 40
TWO_SLOTS = [{"name": "one", "gpus": []}, {"name": "two", "gpus": []}]
# Starts a watcher that believes to be on the host named first.
ON_HOST = ("unshare", "--uts", "/bin/sh", "-c", 'hostname "$0" && exec "$@"')


def test_three_at_once_and_the_active_one_is_killed(make_home: MakeHome) -> None:
    home = make_home(slots=TWO_SLOTS)
    watchers = [home.watch() for _ in range(3)]
    ends = {f"run{n}": n % 3 for n in range(DROPS)}
    for name, code in ends.items():
        home.mark_and_move_in(f"{name}.md", home.counted(f"sleep 0.0{code}; exit {code}", name))
    poll(lambda: home.counts()[1] >= DROPS // 4)
    active = active_pid(home)
    os.kill(active, signal.SIGKILL)
    killed_at, before = time.monotonic(), home.counts()[0]
    poll(lambda: home.counts()[0] > before + 2)
    assert time.monotonic() - killed_at < 10, "another takes over at once"
    for name in ends:
        home.flag(name, timeout=90)
    poll(lambda: home.sessions() == [])
    assert_kept(home, ends)
    assert most_at_a_time(home) == len(TWO_SLOTS)
    living = [watcher for watcher in watchers if watcher.pid != active]
    assert [watcher.process.poll() for watcher in living] == [None, None]
    assert [watcher.stop() for watcher in living] == [0, 0]


def test_who_stands_by_can_be_stopped(home: Home) -> None:
    first = home.watch()
    poll(lambda: "Watching" in first.log)
    second = home.watch()
    poll(lambda: "standing by" in second.log)
    assert second.stop() == 0
    assert first.process.poll() is None


@pytest.fixture
def hosts(home: Home) -> Callable[[str], Watcher]:
    """Starts a watcher on a host of that name."""
    if subprocess.run([*ON_HOST, "somewhere", "true"], capture_output=True).returncode:
        pytest.skip("a host name of one's own is not permitted here")
    return lambda name: home.watch(prefix=(*ON_HOST, name))


def test_two_hosts_share_the_work(home: Home, hosts: Callable[[str], Watcher]) -> None:
    watchers = [hosts("alpha"), hosts("beta")]
    poll(lambda: set(shown(home)) == {"alpha", "beta"})
    ends = {f"run{n}": n % 2 for n in range(10)}
    for name, code in ends.items():
        home.mark_and_move_in(f"{name}.md", home.counted(f"sleep 0.5; exit {code}", name))
    for name in ends:
        home.flag(name)
    poll(lambda: home.sessions() == [])
    assert {str(home.flag(name)["host"]) for name in ends} == {"alpha", "beta"}
    for watcher in watchers:
        watcher.stop()
    assert_kept(home, ends)


def test_nobody_takes_what_runs_on_another_host(home: Home, hosts: Callable[[str], Watcher]) -> None:
    alpha = hosts("alpha")
    home.mark_and_move_in("long.md", home.counted(UNTIL_LET, "long"))
    home.until("long", state="running")
    hosts("beta")
    poll(lambda: set(shown(home)) == {"alpha", "beta"})
    alpha.kill()
    home.mark_and_move_in("short.md", home.counted("exit 0", "short"))
    assert home.flag("short")["host"] == "beta"
    let_end(home)
    poll(lambda: home.counts("long")[1])
    assert not home.has_flag("long"), "its end is for its own host to tell"
    hosts("alpha")
    assert (home.flag("long")["exit_code"], home.flag("long")["host"]) == (3, "alpha")
    assert home.counts("long") == (1, 1)
    assert_told_once(home, "long")


def active_pid(home: Home) -> int:
    """The watcher that shows itself on this host."""
    [told] = shown(home).values()
    return int(told["pid"])


def shown(home: Home) -> dict[str, dict[str, Any]]:
    """What `status` says of the watchers, by host."""
    return {told["host"]: told for told in home.ajet_json("status")["watchers"]}


def most_at_a_time(home: Home) -> int:
    """How many counted experiments were at work together at most."""
    lines = (home.code / "counts").read_text().splitlines()
    return max(accumulate(1 if line.startswith("start") else -1 for line in lines))
