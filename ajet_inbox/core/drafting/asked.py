"""What the text of a task asks for, as far as it can be told (contract section 9)."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TypeVar

from msgspec import Struct

from ajet_inbox.core.reading.entries import Entry
from ajet_inbox.core.reading.labels import Role
from ajet_inbox.core.reading.parse import MAX_LINES, read_blueprint
from ajet_inbox.core.reading.times import Seconds, first_steps, max_times
from ajet_inbox.core.training.ajet import mentions_swarm

T = TypeVar("T")

_LARGEST = 1024
_NUMBERS = {"single": 1, "one": 1, "two": 2, "four": 4, "eight": 8, "单": 1, "一": 1, "两": 2, "四": 4, "八": 8}
_COUNT = rf"(?P<{{}}>\d{{{{1,4}}}}|{'|'.join(_NUMBERS)})"
_MODEL = r"(?:nvidia\s+)?(?:[AHBVL]\d{2,3}\w{0,4}|RTX\s?\w{1,8})"
_UNIT = rf"(?:(?:{_MODEL}\s*)?(?:GPUs?|cards?)(?![A-Za-z])|[张块]?\s*(?:{_MODEL}\s*)?(?:GPU|显卡|卡))"
# A number of something else may stand before the word: "32 GPU hours".
_GPUS = re.compile(
    rf"(?<![\w.]){_COUNT.format('before')}[\s-]*(?:[x×*]\s*)?{_UNIT}(?!\s*-?\s*(?:memory|hours?|util|小时|显存|利用))"
    rf"|(?<![\w.]){_COUNT.format('times')}\s*[x×*]\s*{_MODEL}(?![A-Za-z])"
    rf"|\bGPUs?\s*(?:数量?|个数|count)?\s*[:=：]\s*{_COUNT.format('behind')}(?![\d.])",
    re.I,
)
_NO_GPU = re.compile(
    r"\b(?:no|without(?: a| any)?|needs? no|zero|0)\s+GPUs?\b|\bCPU[- ]only\b"
    r"|不需要\s*GPU|无需\s*GPU|不用\s*GPU|纯\s*CPU",
    re.I,
)


class Asked(Struct, frozen=True, kw_only=True):
    """A task, and what it names. Durations in seconds; several values of one kind are left to a person.

    The three paths are what sections such as `[exp_codebase_dir]` in the text say, as written.
    """

    text: str
    max_times_s: tuple[float, ...] = ()
    first_steps_s: tuple[float, ...] = ()
    gpus: tuple[int, ...] = ()
    swarm: bool = False
    codebase_dir: str | None = None
    venv_exe: str | None = None
    yaml_path: str | None = None


def read_task(text: str) -> Asked:
    """What `text` asks for. Never fails: what it does not say, or says unclearly, is left out."""
    # "2 H200" would be two hours.
    said = [Entry(role=Role.PLAIN, line=1, lines=tuple(_GPUS.sub(" ", text).splitlines()[:MAX_LINES]))]
    sections = read_blueprint(text).blueprint
    return Asked(
        text=text,
        max_times_s=_seconds(max_times(said)),
        first_steps_s=_seconds(first_steps(said)),
        gpus=_gpus(text),
        swarm=mentions_swarm(text),
        codebase_dir=sections.codebase_dir,
        venv_exe=sections.venv_exe,
        yaml_path=sections.yaml_path,
    )


def only(values: tuple[T, ...]) -> T | None:
    """The one value; None where there is none, or a choice."""
    return values[0] if len(values) == 1 else None


def _seconds(found: Iterable[Seconds]) -> tuple[float, ...]:
    """A number without a unit is no duration in free text."""
    return tuple(each.value for each in found if not each.bare)


def _gpus(text: str) -> tuple[int, ...]:
    if _NO_GPU.search(text):
        return (0,)
    written = (next(filter(None, match.groups())).lower() for match in _GPUS.finditer(text))
    counts = dict.fromkeys(_NUMBERS.get(each) or int(each) for each in written)
    return tuple(count for count in counts if 0 < count <= _LARGEST)
