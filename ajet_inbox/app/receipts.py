"""Receipts: what became of a drop, by the hash of its bytes."""

from __future__ import annotations

import msgspec

from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import Run
from ajet_inbox.core.telling.snapshot import receipt
from ajet_inbox.edge.files import write_quick


def write_receipt(home: HomePaths, run: Run) -> None:
    """Tell by the hash of the dropped bytes what became of them. A duplicate never changes what was told of the first.

    Raises:
        OSError: it could not be written.
    """
    is_duplicate = run.reason is not None and run.reason.code == "duplicate"
    if run.drop.sha256 is None or is_duplicate:
        return
    home.receipts.mkdir(exist_ok=True)
    data = msgspec.json.encode(receipt(run, str(home.run(run.name).root)))
    write_quick(home.receipt(run.drop.sha256), data)
