"""What all tests share."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

import hypothesis
import pytest

# Some machines export it; without it a Python that is redirected buffers, and that is what experiments meet.
os.environ.pop("PYTHONUNBUFFERED", None)

# A busy machine makes single examples slow without anything being wrong; the tests themselves have a time limit.
hypothesis.settings.register_profile("default", deadline=None)
hypothesis.settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
hypothesis.settings.load_profile("ci" if os.environ.get("CI") else "default")

T = TypeVar("T")


def _until(condition: Callable[[], T], timeout: float = 20.0) -> T:
    deadline = time.monotonic() + timeout
    while not (answer := condition()):
        if time.monotonic() > deadline:
            pytest.fail(f"still {answer!r} after {timeout:g} s")
        time.sleep(0.02)
    return answer


@pytest.fixture(scope="session")
def until() -> Callable[..., object]:
    """Polls a condition until it holds and gives what it gave; fails the test after `timeout` seconds."""
    return _until
