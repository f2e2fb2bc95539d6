"""Homes for acceptance tests: each test has its own, with its own tmux socket, and leaves no process behind."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.home import Home


@pytest.fixture
def make_home(tmp_path: Path) -> Iterator[Callable[..., Home]]:
    """Makes a home; keyword arguments change its settings."""
    homes: list[Home] = []

    def make(name: str = "home", **settings: object) -> Home:
        homes.append(Home(tmp_path / name, **settings))
        return homes[-1]

    yield make
    for each in homes:
        each.clear()


@pytest.fixture
def home(make_home: Callable[..., Home]) -> Home:
    """A home with one slot without GPUs."""
    return make_home()
