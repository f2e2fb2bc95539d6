"""Results in a folder of the user's: what is there stays, what we write is whole, and the flag is last."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from ajet_inbox.edge.deliver import deliver, may_deliver, set_aside

WHEN = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)
STALE = "stale-20260304T050607+0000"
FLAG = b"run: exp\nname: exp.md\ndrop_sha256: aa\noutcome: failed\nfinished_at: '2026-03-04T05:06:07+00:00'\nhost: h\n"
FILES = [
    ("trial_log.md", b"log\n"),
    ("result.md", b"result\n"),
    ("result.json", b"{}\n"),
    ("metrics.csv", b"a,b\n"),
    ("plots/reward.svg", b"<svg/>\n"),
    ("index.html", b"<html>\n"),
]
DELIVERED = ["finish.flag", "metrics.csv", "plots", "result.md", "trial_log.md"]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


# ---- where -------------------------------------------------------------------------------------------------------


def test_a_folder_that_is_there_or_whose_parent_is(tmp_path: Path) -> None:
    assert may_deliver(tmp_path) is None
    assert may_deliver(tmp_path / "new") is None
    (tmp_path / "link").symlink_to(tmp_path)
    assert may_deliver(tmp_path / "link") is None
    assert may_deliver(tmp_path / "link" / "new") is None


def test_a_far_ancestor_must_not_look_like_a_mount_that_is_away(tmp_path: Path) -> None:
    deep = tmp_path / "mount" / "results" / "exp"
    (tmp_path / "mount").mkdir()
    assert "mount, which is empty" in (may_deliver(deep) or "")
    (tmp_path / "mount" / "something").touch()
    assert may_deliver(deep) is None


def test_nothing_is_written_below_the_root_or_below_a_file(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "nowhere").symlink_to(tmp_path / "gone")
    bad = {
        Path("/no-such-mount/results/exp"): "no existing ancestor but /",
        Path("results/exp"): "not an absolute path",
        tmp_path / "file": "not a folder",
        tmp_path / "file" / "a" / "b": "not a folder",
        tmp_path / "nowhere": "not a folder",
        tmp_path / ("x" * 300): "too long",
        Path("/a\0b/c"): "no existing ancestor",
    }
    for path, why in bad.items():
        reason = may_deliver(path)
        assert reason is not None, path
        assert why in reason
        assert reason.endswith(".")


# ---- moving aside ------------------------------------------------------------------------------------------------


def test_what_lies_there_under_our_names_is_moved_aside_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "old.svg").write_text("old")
    for name in ("finish.flag", "result.md", "mine.txt"):
        (tmp_path / name).write_text("old")
    (tmp_path / "trial_log.md").symlink_to("mine.txt")
    moved = set_aside(tmp_path, WHEN)
    assert [path.name for path in moved] == [
        f"{name}.{STALE}" for name in ("finish.flag", "trial_log.md", "result.md", "plots")
    ]
    assert names(tmp_path) == sorted([*(path.name for path in moved), "mine.txt"])
    assert (tmp_path / f"plots.{STALE}" / "old.svg").read_text() == "old"
    assert (tmp_path / f"trial_log.md.{STALE}").is_symlink()
    assert set_aside(tmp_path, WHEN) == []


def test_no_folder_holds_nothing(tmp_path: Path) -> None:
    assert set_aside(tmp_path / "none", WHEN) == []


def test_what_was_delivered_already_is_not_moved_aside_again(tmp_path: Path) -> None:
    deliver(tmp_path, FILES, FLAG)
    assert set_aside(tmp_path, WHEN, FLAG) == []
    assert len(set_aside(tmp_path, WHEN, FLAG.replace(b"05:06:07", b"05:06:08"))) == len(DELIVERED)


# ---- delivery ----------------------------------------------------------------------------------------------------


def assert_delivered(folder: Path) -> None:
    assert (folder / "finish.flag").read_bytes() == FLAG
    for name, data in FILES:
        if name.split("/")[0] in DELIVERED:
            assert (folder / name).read_bytes() == data
            assert not (folder / name).is_symlink()


def test_only_what_belongs_there_is_written_into_a_new_folder(tmp_path: Path) -> None:
    deliver(tmp_path / "a" / "b", FILES, FLAG)
    assert names(tmp_path / "a" / "b") == DELIVERED
    assert_delivered(tmp_path / "a" / "b")


def test_again_changes_nothing(tmp_path: Path) -> None:
    for _ in range(3):
        deliver(tmp_path, FILES, FLAG)
    assert names(tmp_path) == DELIVERED


def test_what_a_crash_left_half_written_goes_away(tmp_path: Path) -> None:
    (tmp_path / "plots").mkdir()
    torn, theirs = ".aj-0123456789abcdef.tmp", ".aj-notes.tmp"
    for folder in (tmp_path, tmp_path / "plots"):
        (folder / torn).write_text("hal")
        (folder / theirs).touch()
    deliver(tmp_path, FILES, FLAG)
    assert names(tmp_path) == [theirs, *DELIVERED]
    assert names(tmp_path / "plots") == [theirs, "reward.svg"]


def test_what_the_experiment_wrote_is_kept(tmp_path: Path) -> None:
    (tmp_path / "finish.flag").write_text("run: exp\nstatus: done\n")
    (tmp_path / "metrics.csv").write_text("step,loss\n")
    (tmp_path / "plots").mkdir()
    (tmp_path / "plots" / "theirs.svg").write_text("theirs")
    (tmp_path / "result.md").mkdir()
    deliver(tmp_path, FILES, FLAG)
    assert_delivered(tmp_path)
    assert (tmp_path / "finish.flag.experiment").read_text() == "run: exp\nstatus: done\n"
    assert (tmp_path / "metrics.csv.experiment").read_text() == "step,loss\n"
    assert (tmp_path / "plots" / "theirs.svg").read_text() == "theirs"
    assert (tmp_path / "result.md.experiment").is_dir()


def test_a_flag_of_ours_is_renewed_in_place(tmp_path: Path) -> None:
    (tmp_path / "finish.flag").write_bytes(FLAG + b"result_sha256: old\n")
    deliver(tmp_path, FILES, FLAG)
    assert names(tmp_path) == DELIVERED


@pytest.mark.parametrize("name", ["finish.flag", "result.md", "plots"])
def test_nothing_is_written_through_a_link(tmp_path: Path, name: str) -> None:
    results, precious = tmp_path / "results", tmp_path / "precious"
    results.mkdir()
    if name == "plots":
        precious.mkdir()
    else:
        precious.write_text("precious")
    (results / name).symlink_to(precious)
    deliver(results, FILES, FLAG)
    assert_delivered(results)
    assert names(precious) == [] if name == "plots" else precious.read_text() == "precious"


def test_a_link_to_a_folder_of_the_users_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    deliver(tmp_path / "link", FILES, FLAG)
    assert_delivered(tmp_path / "real")


def test_no_flag_without_results(tmp_path: Path) -> None:
    """A name that no filesystem takes stands for a full disk."""
    with pytest.raises(OSError, match="too long"):
        deliver(tmp_path, [*FILES, (f"plots/{'x' * 300}", b"")], FLAG)
    assert "finish.flag" not in names(tmp_path)
    deliver(tmp_path, FILES, FLAG)
    assert_delivered(tmp_path)


def test_a_file_in_the_place_of_the_folder_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(OSError, match="file"):
        deliver(tmp_path / "file", FILES, FLAG)


# ---- crashes -----------------------------------------------------------------------------------------------------

CHANGES = frozenset({"open", "os.rename", "os.mkdir", "os.remove", "os.rmdir", "os.link"})


def crash_at(change: int, act: Callable[[], object]) -> bool:
    """Whether a process doing `act` dies before its `change`-th touch of the filesystem; else it has finished."""
    pid = os.fork()
    if pid == 0:
        count = 0

        def hook(event: str, _: object) -> None:
            nonlocal count
            count += event in CHANGES
            if event in CHANGES and count == change:
                os._exit(9)

        try:
            sys.addaudithook(hook)
            act()
        except BaseException:
            os._exit(1)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    assert status in (0, 9)
    return status == 9


def kept(folder: Path, name: str) -> list[str]:
    """What was moved aside under this name, or with a number after it; a crash may leave an empty reserved one."""
    return [text for path in folder.glob(f"{name}*") if (text := path.read_text())]


def homes(tmp_path: Path) -> Iterator[Path]:
    number = 0
    while True:
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        (folder / "mine.txt").write_text("mine")
        (folder / "finish.flag").write_text("theirs")
        (folder / "result.md").write_text("theirs")
        yield folder


def test_a_delivery_may_crash_at_any_point(tmp_path: Path) -> None:
    for change, folder in enumerate(homes(tmp_path), 1):
        crashed = crash_at(change, lambda folder=folder: deliver(folder, FILES, FLAG))  # type: ignore[misc]
        flag = folder / "finish.flag"
        if flag.exists() and flag.read_bytes() == FLAG:
            assert_delivered(folder)
        deliver(folder, FILES, FLAG)
        assert_delivered(folder)
        assert kept(folder, "finish.flag.experiment") == kept(folder, "result.md.experiment") == ["theirs"]
        assert (folder / "mine.txt").read_text() == "mine"
        if not crashed:
            assert change > 10
            return


def test_moving_aside_may_crash_at_any_point(tmp_path: Path) -> None:
    for change, folder in enumerate(homes(tmp_path), 1):
        crashed = crash_at(change, lambda folder=folder: set_aside(folder, WHEN))  # type: ignore[misc]
        set_aside(folder, WHEN)
        assert not {"finish.flag", "result.md"} & set(names(folder))
        assert kept(folder, f"finish.flag.{STALE}") == kept(folder, f"result.md.{STALE}") == ["theirs"]
        if not crashed:
            return
