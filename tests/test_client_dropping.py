"""Drops by a client: whole, with their own mark, over nobody else's."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from ajet_inbox.app.client import dropping
from ajet_inbox.app.client.dropping import accepted, drop
from ajet_inbox.app.errors import UsageError, UserError
from ajet_inbox.app.identity import myself
from ajet_inbox.core.drops import DropKind, ReadyMark, read_ready
from ajet_inbox.core.lifecycle import Outcome
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.edge.files import list_names
from ajet_inbox.edge.intake import Arrival, claim, secure
from tests.cli_home import (
    AT,
    add_run,
    finished,
    make_home,
    queued,
)

Until = Callable[..., object]
LIMITS = (1 << 20, 1 << 20)


@pytest.fixture
def home(tmp_path: Path) -> HomePaths:
    return make_home(tmp_path / "home")


def blueprint(folder: Path, name: str = "exp.md", text: str = "# exp\n") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def take(home: HomePaths, name: str, kind: DropKind = DropKind.FILE) -> tuple[bytes | None, ReadyMark | None]:
    """What a watcher would take: the blueprint and its mark. None where there is nothing."""
    arrival = Arrival(name=name, kind=kind, submitted_at=AT)
    intake = claim(home, myself(), os.urandom(4).hex(), arrival)
    if intake is None:
        return None, None
    content = secure(home, intake, LIMITS)
    return content.blueprint, None if content.mark is None else read_ready(content.mark)[0]


def test_a_file_lies_in_the_inbox_whole_with_its_mark(home: HomePaths, tmp_path: Path) -> None:
    mark = ReadyMark(key="007", priority=-2, after=("a", "b"), replace="old")
    dropped = drop(home, blueprint(tmp_path), mark)
    assert list_names(home.inbox) == ("exp.md", "exp.md.ready")
    assert (dropped.name, dropped.key, dropped.kind) == ("exp.md", "007", DropKind.FILE)
    assert take(home, "exp.md") == (b"# exp\n", mark)
    assert list_names(home.inbox) == ()


def test_a_folder_comes_with_all_that_is_in_it(home: HomePaths, tmp_path: Path) -> None:
    blueprint(tmp_path, "exp/blueprint.md")
    blueprint(tmp_path, "exp/conf/a.yaml", "x: 1\n")
    blueprint(tmp_path, "exp/.ready", "key: own\npriority: 4\n")
    dropped = drop(home, tmp_path / "exp", ReadyMark(priority=9), name="other")
    assert list_names(home.inbox) == ("other",)
    assert (home.inbox / "other/conf/a.yaml").read_text() == "x: 1\n"
    assert dropped.key == "own"
    assert take(home, "other", DropKind.FOLDER)[1] == ReadyMark(key="own", priority=9)


def test_a_retry_does_not_bring_the_old_mark_along(home: HomePaths, tmp_path: Path) -> None:
    blueprint(tmp_path, "exp/blueprint.md")
    blueprint(tmp_path, "exp/.ready", "key: own\n")
    drop(home, tmp_path / "exp", ReadyMark(retry_of="exp"))
    assert take(home, "exp", DropKind.FOLDER)[1] == ReadyMark(retry_of="exp")


@pytest.mark.parametrize("name", [".hidden", "~x", "a/b", "README", "a\nb", "#x#.md.sync-conflict-1"])
def test_a_name_that_the_inbox_would_not_take_is_refused(home: HomePaths, tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        drop(home, blueprint(tmp_path), ReadyMark(), name)
    assert list_names(home.inbox) == ()


@pytest.mark.parametrize(
    ("name", "called"), [("x", "x.md"), ("x.md", "x.md"), ("4913", "4913.md"), ("x.tmp", "x.tmp.md")]
)
def test_a_name_becomes_that_of_a_blueprint(home: HomePaths, tmp_path: Path, name: str, called: str) -> None:
    assert drop(home, blueprint(tmp_path), ReadyMark(), name).name == called
    assert called in list_names(home.inbox)


def test_what_is_no_blueprint_is_refused_and_leaves_nothing(home: HomePaths, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "linked").mkdir()
    blueprint(tmp_path, "linked/blueprint.md")
    (tmp_path / "linked/fifo").symlink_to("/etc/passwd")
    for source, told in (("empty", "holds no blueprint.md"), ("linked", "symbolic link")):
        with pytest.raises(UserError, match=told):
            drop(home, tmp_path / source, ReadyMark())
    with pytest.raises(UsageError, match="key"):
        drop(home, blueprint(tmp_path), ReadyMark(key="a\nb"))
    assert list_names(home.inbox) == ()


@pytest.mark.parametrize("kind", [DropKind.FILE, DropKind.FOLDER])
def test_a_drop_that_is_still_there_is_never_overwritten(
    home: HomePaths, tmp_path: Path, kind: DropKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dropping, "PATIENCE_S", 0.2)
    source = blueprint(tmp_path, "a/blueprint.md").parent if kind is DropKind.FOLDER else blueprint(tmp_path, "a.md")
    standing = blueprint(home.inbox, source.name, "first\n")
    with pytest.raises(UserError, match="has not been taken"):
        drop(home, source, ReadyMark())
    assert list_names(home.inbox) == (source.name,)
    assert standing.read_text() == "first\n"


def test_the_mark_is_not_given_to_a_drop_that_is_just_being_taken(
    home: HomePaths, tmp_path: Path, until: Until
) -> None:
    blueprint(home.inbox, "exp.md", "first\n")
    arrival = Arrival(name="exp.md", kind=DropKind.FILE, submitted_at=AT)
    intake = claim(home, myself(), "d1", arrival)
    assert intake is not None
    with ThreadPoolExecutor() as pool:
        dropping_second = pool.submit(drop, home, blueprint(tmp_path), ReadyMark(key="second"))
        until(lambda: any(name.startswith(".aj-submit") for name in list_names(home.inbox)))
        content = secure(home, intake, LIMITS)
        dropping_second.result()
    assert (content.blueprint, content.mark) == (b"first\n", None)
    assert take(home, "exp.md") == (b"# exp\n", ReadyMark(key="second"))


def test_of_many_at_once_each_is_taken_with_its_own_mark(home: HomePaths, tmp_path: Path) -> None:
    numbers = range(12)
    taken: list[tuple[bytes | None, ReadyMark | None]] = []
    stop = threading.Event()

    def watch() -> None:
        while not stop.is_set() or "exp.md" in list_names(home.inbox):
            found = take(home, "exp.md")
            if found[0] is not None:
                taken.append(found)
            time.sleep(0.001)

    watching = threading.Thread(target=watch)
    watching.start()
    try:
        with ThreadPoolExecutor(4) as pool:
            sources = [blueprint(tmp_path / str(n), text=f"{n}\n") for n in numbers]
            list(pool.map(lambda n: drop(home, sources[n], ReadyMark(key=str(n))), numbers))
    finally:
        stop.set()
        watching.join()
    assert sorted(taken, key=str) == sorted(((b"%d\n" % n, ReadyMark(key=str(n))) for n in numbers), key=str)
    assert list_names(home.inbox) == ()


def test_the_run_of_a_drop_is_never_that_of_an_earlier_one_with_the_same_bytes(home: HomePaths, tmp_path: Path) -> None:
    sha256 = drop(home, blueprint(tmp_path), ReadyMark()).sha256
    take(home, "exp.md")
    add_run(home, "exp", *finished(Outcome.FAILED), sha256=sha256)
    search = accepted(home, drop(home, blueprint(tmp_path), ReadyMark()))
    assert search() is None
    add_run(home, "other", *queued(), sha256=sha256, drop="other.md")
    assert search() is None
    add_run(home, "exp-2", *queued(), sha256=sha256, drop="exp.md")
    assert search() == "exp-2"
