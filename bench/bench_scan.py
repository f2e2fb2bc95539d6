"""What one scan of a large inbox costs, and how long a rename takes to be told.

Usage: python bench/bench_scan.py [FILES]
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from pathlib import Path

from ajet_inbox.edge.inbox import Inbox
from ajet_inbox.edge.inbox_events import InboxEvents

TURNS = 15


def main() -> None:
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    for title, ending in (("drops", ".md"), ("strangers", ".txt"), ("ignored", ".md.part")):
        with tempfile.TemporaryDirectory() as folder:
            for number in range(count):
                Path(folder, f"experiment-{number}{ending}").write_text(f"# blueprint {number}\n")
            scan_times(Path(folder), f"{count} {title}")
    with tempfile.TemporaryDirectory() as folder:
        rename_times(Path(folder))


def scan_times(folder: Path, title: str) -> None:
    now = 0.0
    inbox = Inbox(folder, 3.0, clock=lambda: now)
    print(f"{title}: first look {1000 * timed(inbox.scan):.0f} ms", end="")
    print(f", settling {median(inbox.scan):.1f} ms", end="")
    now = 3.0
    print(f", second look {1000 * timed(inbox.scan):.0f} ms", end="")
    print(f", unchanged since {median(inbox.scan):.1f} ms a scan")


def rename_times(folder: Path) -> None:
    inbox, told = folder / "inbox", threading.Event()
    inbox.mkdir()
    events = InboxEvents(inbox, told.set, lambda name: None)
    events.check()
    took = []
    for number in range(TURNS):
        outside = folder / f"{number}.md"
        outside.write_text("x")
        told.clear()
        took.append(timed(lambda source=outside: (source.rename(inbox / source.name), told.wait(5))))
        (inbox / outside.name).rename(outside)  # what leaves must not hold back what comes
    events.close()
    print(f"rename to wake: median {1000 * statistics.median(took):.1f} ms, worst {1000 * max(took):.1f} ms")


def median(call: object) -> float:
    return 1000 * statistics.median(timed(call) for _ in range(TURNS))


def timed(call: object) -> float:
    began = time.perf_counter()
    call()  # type: ignore[operator]
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
