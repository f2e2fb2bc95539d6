"""The console as verl under Ray prints it: a coloured prefix, one long `step:N` line a step, a bar redrawn by \\r."""

from __future__ import annotations

import numbers
import os
import pprint
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

PREFIX = f"\033[36m(TaskRunner pid={os.getpid()})\033[0m"


def say(text: str) -> None:
    print(f"{PREFIX} {text}", flush=True)


def say_step(step: int, metrics: Mapping[str, Any]) -> None:
    """One line with every number of `metrics`, as verl's local logger writes it."""
    shown = [f"{key}:{pprint.pformat(value)}" for key, value in metrics.items() if isinstance(value, numbers.Number)]
    say(" - ".join([f"step:{step}", *shown]))


def append_dict(path: str, values: Mapping[str, Any]) -> None:
    """Adds `str(values)` as a line. A bare file name fails just as AgentJet's own code does."""
    os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
    with Path(path).open("a", encoding="utf-8") as file:
        file.write(f"{dict(values)}\n")


class Bar:
    """A progress bar in the form of tqdm's."""

    def __init__(self, total: int, initial: int) -> None:
        self.total, self.initial, self.began = total, initial, time.monotonic()
        self.show(initial)

    def show(self, done: int) -> None:
        spent, made = time.monotonic() - self.began, done - self.initial
        rest = f"{self._clock(spent / made * (self.total - done))}, {spent / made:5.2f}s/it" if made else "?, ?it/s"
        share = min(1.0, done / self.total)
        cells = ("█" * int(share * 10)).ljust(10)
        line = f"\rTraining Progress: {share:4.0%}|{cells}| {done}/{self.total} [{self._clock(spent)}<{rest}]"
        print(line, end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        print(file=sys.stderr, flush=True)

    @staticmethod
    def _clock(seconds: float) -> str:
        return f"{int(max(0, seconds)) // 60:02d}:{int(max(0, seconds)) % 60:02d}"
