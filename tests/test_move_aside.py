"""Moving results of an earlier run aside, overwriting nothing."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from ajet_inbox.edge.files import list_names, move_aside


def test_moves_aside_and_overwrites_nothing(tmp_path: Path) -> None:
    assert move_aside(tmp_path / "finish.flag", "stale-T") is None
    for number in range(3):
        (tmp_path / "finish.flag").write_text(str(number))
        (tmp_path / "plots").mkdir()
        (tmp_path / "plots" / "a.svg").write_text(str(number))
        assert move_aside(tmp_path / "finish.flag", "stale-T")
        assert move_aside(tmp_path / "plots", "stale-T")
    endings = ("stale-T", "stale-T-2", "stale-T-3")
    assert [(tmp_path / f"finish.flag.{e}").read_text() for e in endings] == ["0", "1", "2"]
    assert [(tmp_path / f"plots.{e}" / "a.svg").read_text() for e in endings] == ["0", "1", "2"]
    assert len(list_names(tmp_path)) == 6


def test_moves_a_link_not_its_target(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to("real")
    assert move_aside(tmp_path / "link", "stale") == tmp_path / "link.stale"
    assert (tmp_path / "link.stale").is_symlink()
    assert (tmp_path / "real").is_dir()


def test_a_long_name_is_shortened(tmp_path: Path) -> None:
    (tmp_path / ("实" * 85)).write_text("x")
    moved = move_aside(tmp_path / ("实" * 85), "stale-T")
    assert moved is not None
    assert moved.read_text() == "x"
    assert moved.name == "实" * 82 + ".stale-T"


def test_what_cannot_be_moved_leaves_no_placeholder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise OSError(errno.EBUSY, "a mount point")

    for make in (Path.touch, Path.mkdir):
        make(tmp_path / "a")
        with monkeypatch.context() as patch:
            patch.setattr(Path, "rename", refuse)
            with pytest.raises(OSError, match="mount point"):
                move_aside(tmp_path / "a", "stale")
        assert list_names(tmp_path) == ("a",)
        move_aside(tmp_path / "a", "aside")
        (tmp_path / "a.aside").rename(tmp_path.parent / f"{tmp_path.name}-{make.__name__}")
