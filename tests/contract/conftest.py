"""Attempts for all backends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ajet_inbox.edge import neutral
from tests.contract.attempts import Attempt, Make


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    """Makes attempts without a terminal; whatever is left of them is ended after the test."""
    runtime = neutral.runtime_dir(tmp_path)
    neutral.prepare(runtime)
    made: list[Attempt] = []

    def attempt(command: str, **spec: Any) -> Attempt:
        made.append(Attempt(tmp_path / str(len(made)), runtime, command, **spec))
        return made[-1]

    yield attempt
    for each in made:
        each.clear()
    shutil.rmtree(runtime)
