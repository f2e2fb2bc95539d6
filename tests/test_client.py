"""What a client does on a home: finding it, reading states and signs of life, asking."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from ajet_inbox.app.client import asking
from ajet_inbox.app.client.asking import ask, pause, paused, resume
from ajet_inbox.app.client.states import find, read_all
from ajet_inbox.app.client.watchers import SILENT_AFTER_S, Watchers
from ajet_inbox.app.errors import NoHome, NoSuchRun
from ajet_inbox.app.home import find_home
from ajet_inbox.app.identity import myself
from ajet_inbox.core.events import Ask
from ajet_inbox.core.lifecycle import Outcome, State
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.control import answered, requests
from tests.cli_home import (
    AT,
    add_run,
    finished,
    let_watch,
    make_home,
    queued,
    running,
    set_state,
)

Until = Callable[..., object]
LIMITS = (1 << 20, 1 << 20)


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return make_home(tmp_path / "home")


# ---- the home -----------------------------------------------------------------------------------------------------


def test_the_nearest_home_upward_is_found(home: HomePaths) -> None:
    deep = home.inbox / "a" / "b"
    deep.mkdir(parents=True)
    assert find_home(None, {}, deep) == home


def test_what_is_named_goes_before_what_is_found(home: HomePaths, tmp_path: Path) -> None:
    other, third = make_home(tmp_path / "other"), make_home(tmp_path / "third")
    assert find_home(None, {"AJET_INBOX_HOME": str(other.root)}, home.root) == other
    assert find_home(str(third.root), {"AJET_INBOX_HOME": str(other.root)}, home.root) == third
    assert find_home("../third", {}, home.root) == third


@pytest.mark.parametrize(("folders", "files", "is_one"), [
    (["inbox", "outbox"], [], True),
    ([], ["ajet-inbox.yaml"], True),
    (["inbox"], [], False),
    (["inbox"], ["outbox"], False),
])  # fmt: skip
def test_what_makes_a_home(tmp_path: Path, folders: list[str], files: list[str], is_one: bool) -> None:
    for name in folders:
        (tmp_path / name).mkdir()
    for name in files:
        (tmp_path / name).touch()
    if is_one:
        assert find_home(None, {}, tmp_path).root == tmp_path
    else:
        with pytest.raises(NoHome):
            find_home(None, {}, tmp_path)


def test_a_named_folder_that_is_no_home_is_never_replaced_by_another(home: HomePaths, tmp_path: Path) -> None:
    with pytest.raises(NoHome, match="named by --home"):
        find_home(str(tmp_path / "nothing"), {}, home.root)


def test_a_named_home_stays_one_without_its_inbox(home: HomePaths) -> None:
    home.inbox.rmdir()
    assert find_home(str(home.root), {}, home.root) == home


# ---- states -------------------------------------------------------------------------------------------------------


def test_the_journal_tells_where_the_snapshot_cannot(home: HomePaths) -> None:
    add_run(home, "a", *running(), state_json=False)
    add_run(home, "b", *finished(Outcome.FAILED))
    home.run("b").state.write_text("{torn")
    assert find(home, "a").state is State.RUNNING
    assert find(home, "a").slot == "slot-0"
    assert find(home, "b").outcome is Outcome.FAILED


def test_runs_come_in_the_order_in_which_they_matter(home: HomePaths) -> None:
    later = AT + timedelta(hours=1)
    add_run(home, "done", *finished(Outcome.SUCCEEDED))
    add_run(home, "done-later", *finished(Outcome.FAILED), finished_at=later.isoformat())
    add_run(home, "held", *queued(), state="held")
    add_run(home, "run10", *queued())
    add_run(home, "run9", *queued())
    add_run(home, "late", *queued(), at=later)
    add_run(home, "urgent", *queued(), at=later, priority=3)
    add_run(home, "busy", *running())
    names = [state.run for state in read_all(home).states]
    assert names == ["busy", "urgent", "run9", "run10", "late", "held", "done-later", "done"]


def test_what_is_no_run_is_none_and_a_broken_one_is_named(home: HomePaths) -> None:
    (home.outbox / "index.html").touch()
    (home.outbox / ".receipts").mkdir()
    (home.outbox / "empty").mkdir()
    home.run("broken").journal.mkdir(parents=True)
    home.run("broken").segment(1).write_text('{"event":"from_the_future","at":"2030-01-01T00:00:00Z"}\n')
    assert read_all(home).states == ()
    assert read_all(home).unreadable == ("broken",)


@pytest.mark.parametrize("name", ["lr_sweep_01", "outbox/lr_sweep_1", "lr_sweep_1/", ".", "..", ".receipts", "", "a/b"])
def test_only_exact_names_are_runs(home: HomePaths, name: str) -> None:
    add_run(home, "lr_sweep_1", *queued())
    with pytest.raises(NoSuchRun) as raised:
        find(home, name)
    assert ("lr_sweep_1" in raised.value.advice) == ("lr_sweep" in name)


# ---- watchers -----------------------------------------------------------------------------------------------------


def test_a_watcher_of_this_host_lives_as_long_as_its_process(home: HomePaths) -> None:
    let_watch(home, at=datetime(2020, 1, 1, tzinfo=UTC))
    assert len(Watchers(home).living()) == 1
    let_watch(home, started=myself().started - 1)
    assert not Watchers(home).living()
    let_watch(home, boot_id="an earlier one")
    assert not Watchers(home).living()


def test_a_zombie_is_dead(home: HomePaths, until: Until) -> None:
    child = subprocess.Popen(["true"])
    stat = Path(f"/proc/{child.pid}/stat")
    until(lambda: stat.read_text().rpartition(")")[2].split()[0] == "Z")
    let_watch(home, pid=child.pid, started=int(stat.read_text().rpartition(")")[2].split()[19]))
    assert not Watchers(home).living()
    child.wait()


def test_a_watcher_elsewhere_is_judged_by_its_counter_then_by_its_age(home: HomePaths) -> None:
    now, clock = [datetime.now(UTC)], [0.0]
    watchers = Watchers(home, clock=lambda: clock[0], now=lambda: now[0])

    def is_alive(counter: int, age_s: float) -> bool:
        let_watch(home, host="far", nonce="n", counter=counter, at=now[0] - timedelta(seconds=age_s))
        return "far" in watchers.living()

    assert is_alive(1, age_s=5)
    assert not is_alive(1, age_s=SILENT_AFTER_S + 1)
    assert is_alive(2, age_s=9999), "its clock is wrong, but its counter moves"
    clock[0] += SILENT_AFTER_S + 1
    assert not is_alive(2, age_s=0), "its counter stands still"


def test_another_pid_namespace_is_another_host(home: HomePaths) -> None:
    let_watch(home, pid_ns=1, pid=1, started=1)
    assert Watchers(home).living()


def test_what_is_no_sign_of_life_is_left_out(home: HomePaths) -> None:
    home.watchers.mkdir()
    (home.watchers / "x.json").write_text("no json")
    (home.watchers / ".host.lock").touch()
    assert Watchers(home).look() == ()


# ---- asking -------------------------------------------------------------------------------------------------------


@contextmanager
def watcher_that(home: HomePaths, act: Callable[[str, Ask], None]) -> Iterator[None]:
    """Lives, and answers each request after it has done `act`."""
    let_watch(home)
    stop = threading.Event()

    def serve() -> None:
        while not stop.wait(0.01):
            for request_id, request in requests(home):
                assert request is not None
                act(request.run, request.ask)
                answered(home, request_id)

    serving = threading.Thread(target=serve)
    serving.start()
    try:
        yield
    finally:
        stop.set()
        serving.join()


def test_a_request_is_answered_and_the_new_state_told(home: HomePaths) -> None:
    add_run(home, "a", *queued())
    add_run(home, "b", *queued())
    with watcher_that(home, lambda run, ask: set_state(home, run, state="held")):
        answers = ask(home, ["a", "b", "a"], Ask.HOLD)
    assert [(a.state.run, a.state.state, a.pending, a.refused) for a in answers] == [
        ("a", State.HELD, False, None),
        ("b", State.HELD, False, None),
    ]


def test_without_a_watcher_a_request_is_kept(home: HomePaths) -> None:
    add_run(home, "a", *queued())
    begin = time.monotonic()
    (answer,) = ask(home, ["a"], Ask.CANCEL, reason="not needed")
    assert time.monotonic() - begin < 1.0
    assert answer.pending
    ((_, request),) = requests(home)
    assert request is not None
    assert (request.run, request.ask, request.reason) == ("a", Ask.CANCEL, "not needed")
    assert "@" in request.by


def test_a_watcher_that_does_not_get_to_it_leaves_it_pending(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PATIENCE_S", 0.2)
    let_watch(home)
    add_run(home, "a", *queued())
    assert ask(home, ["a"], Ask.HOLD)[0].pending


def test_a_request_that_was_answered_in_vain_is_refused(home: HomePaths, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(asking, "PATIENCE_S", 0.3)
    add_run(home, "a", *queued())
    with watcher_that(home, lambda run, ask: set_state(home, run, state="preparing")):
        (answer,) = ask(home, ["a"], Ask.HOLD)
    assert answer.refused == "a is preparing: only a queued run can be held."


# A state, what is asked, and whether it is refused at once, is so already (None), or is sent.
IMPOSSIBLE = [
    (finished(Outcome.SUCCEEDED), Ask.CANCEL, "a is finished (succeeded): there is nothing left to cancel."),
    (finished(Outcome.CANCELLED), Ask.CANCEL, None),
    (finished(Outcome.FAILED), Ask.HOLD, "a is finished (failed): only a queued run can be held."),
    (running(), Ask.HOLD, "a is running: only a queued run can be held."),
    (running(), Ask.PRIORITIZE, "a is running: only a run that waits can be moved in the queue."),
    (queued(), Ask.RELEASE, None),
    (queued(), Ask.LOST, "a is queued: only a run that was started can be given up as lost."),
    (finished(Outcome.LOST), Ask.LOST, None),
]


@pytest.mark.parametrize(("entries", "wanted", "refused"), IMPOSSIBLE)
def test_what_cannot_be_granted_is_not_even_asked(home: HomePaths, entries, wanted, refused) -> None:
    add_run(home, "a", *entries)
    (answer,) = ask(home, ["a"], wanted, priority=1)
    assert (answer.pending, answer.refused) == (False, refused)
    assert requests(home) == []


def test_nothing_is_asked_where_one_name_is_wrong(home: HomePaths) -> None:
    add_run(home, "a", *queued())
    with pytest.raises(NoSuchRun):
        ask(home, ["a", "b"], Ask.CANCEL)
    assert requests(home) == []


def test_the_queue_is_paused_once_and_resumed(home: HomePaths) -> None:
    assert paused(home) is None
    first = pause(home)
    assert first.by
    assert pause(home) == first == paused(home)
    assert resume(home)
    assert not resume(home)
    home.paused.write_text("by hand")
    assert paused(home) is not None
