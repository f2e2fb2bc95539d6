"""The sample journals: whole lives as data, one for each way to end (tests/data/journals)."""

from __future__ import annotations

from pathlib import Path

from ajet_inbox.core.journal import AnyEntry, decode
from ajet_inbox.core.paths import RunPaths
from ajet_inbox.core.run import Run, fold
from ajet_inbox.core.telling.report import Report, report
from ajet_inbox.core.training.metrics import read_metrics

DATA = Path(__file__).parent / "data" / "journals"
JOURNALS = sorted(path.stem for path in DATA.glob("*.jsonl"))


def read(name: str, ending: str) -> bytes:
    """A file that lies beside a journal; nothing where there is none."""
    path = DATA / f"{name}.{ending}"
    return path.read_bytes() if path.exists() else b""


def life(name: str) -> tuple[Run, tuple[AnyEntry, ...]]:
    """A run and its journal."""
    entries = decode(read(name, "jsonl"))
    run = fold(name, entries)
    assert run is not None
    return run, entries


def told(name: str) -> Report:
    """The report of a sample."""
    return tell(*life(name), console=read(name, "console.txt"), values=read(name, "val.md").decode())


def tell(run: Run, entries: tuple[AnyEntry, ...], *, console: bytes = b"", values: str = "") -> Report:
    """The report of a run whose home is always the same, so that pages can be compared."""
    paths = RunPaths(Path("/home/lab/outbox") / run.name)
    return report(run, entries, metrics=read_metrics(values), console_tail=console, paths=paths)
