"""What is done once before anything waits for it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loguru import logger

from ajet_inbox.app.warmup import warm_up
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Language, Settings


@pytest.fixture
def told() -> Iterator[list[str]]:
    """What is logged meanwhile."""
    lines: list[str] = []
    sink = logger.add(lambda message: lines.append(str(message)), level="DEBUG")
    yield lines
    logger.remove(sink)


@pytest.mark.parametrize("language", Language)
def test_all_of_it_is_done_and_leaves_nothing(tmp_path: Path, told: list[str], language: Language) -> None:
    warm_up(HomePaths(tmp_path), Settings(language=language))
    assert told == []
    assert list(tmp_path.iterdir()) == []


def test_a_template_that_fails_keeps_no_watcher_from_starting(tmp_path: Path, told: list[str]) -> None:
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "result.en.md.j2").write_text("{{ nothing }}")
    warm_up(HomePaths(tmp_path), Settings(templates_dir="own"))
    assert [line for line in told if "result.en.md.j2" in line and "built-in one is used" in line]
