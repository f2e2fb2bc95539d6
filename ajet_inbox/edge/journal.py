"""The journal of a run on disk: a segment for each claim, made exclusively, so that the newest segment is the claim."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from ajet_inbox.core.journal import AnyEntry, Claimed, Owner, encode
from ajet_inbox.core.paths import RunPaths
from ajet_inbox.edge.files import Appender, create_exclusive, list_names, write_atomic


def segments(run: RunPaths) -> dict[int, bytes]:
    """The segments of a run by number; none where there is no such run.

    Raises:
        OSError: they cannot be read now.
    """
    names = list_names(run.journal)
    numbers = sorted(int(stem) for name in names if (stem := name.removesuffix(".jsonl")).isdecimal())
    return {number: run.segment(number).read_bytes() for number in numbers}


def first_segment(folder: Path, owner: Owner, entries: Iterable[AnyEntry], at: datetime) -> None:
    """Write the first segment of a run that nobody can see yet, over that of a watcher that died at this point.

    Raises:
        OSError: it could not be made durable.
    """
    folder.mkdir(exist_ok=True)
    write_atomic(folder / "1.jsonl", encode([Claimed(at=at, owner=owner, act="accept"), *entries]))


def take(
    run: RunPaths, epoch: int, owner: Owner, act: str, entries: Iterable[AnyEntry], at: datetime
) -> tuple[AnyEntry, ...] | None:
    """Claim a run by making its next segment, `epoch + 1`, with its first entries; None if somebody was faster.

    Raises:
        OSError: it could not be made durable; reading the journal again tells whether the claim stands.
    """
    counts = {str(number): _whole_lines(data) for number, data in segments(run).items()}
    written = (Claimed(at=at, owner=owner, act=act, counts=counts), *entries)
    return written if create_exclusive(run.segment(epoch + 1), encode(written)) else None


def _whole_lines(data: bytes) -> int:
    """The bytes that were durable: a torn last line announces nothing."""
    return data.rfind(b"\n") + 1


class Journals:
    """The open segments of the runs that this watcher holds."""

    def __init__(self) -> None:
        self._open: dict[Path, Appender] = {}

    def append(self, run: RunPaths, epoch: int, entries: Iterable[AnyEntry]) -> None:
        """Make `entries` durable in the segment that this watcher made.

        Raises:
            OSError: they are not durable.
        """
        path = run.segment(epoch)
        if path not in self._open:
            self.close(run)
            self._open[path] = Appender(path)
        self._open[path].append(*encode(entries).splitlines())

    def close(self, run: RunPaths) -> None:
        """Let go of the run's files."""
        for path in [path for path in self._open if path.parent == run.journal]:
            self._open.pop(path).close()
