"""state.json and the receipts: renderings of the fleet for programs, renewed when something has changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from ajet_inbox.app.attempts import Attempts
from ajet_inbox.app.progress import Progress
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import Run
from ajet_inbox.core.snapshot import Live, receipt, snapshot, waits_for
from ajet_inbox.edge.files import write_quick

_ON_SCREEN = (State.STARTING, State.RUNNING, State.STOPPING)


class Snapshots:
    """Writes what differs from what was written last. A finished run's files are its publication's affair."""

    def __init__(self, home: HomePaths, attempts: Attempts, progress: Mapping[str, Progress]) -> None:
        self._home, self._attempts, self._progress = home, attempts, progress
        self._written: dict[str, bytes] = {}

    def renew(self, fleet: Fleet, now: datetime) -> None:
        """Bring the files of all unfinished runs up to date.

        Raises:
            OSError: one of them could not be written.
        """
        current = {name: run for name, run in fleet.runs.items() if run.state is not State.FINISHED}
        for name in self._written.keys() - current.keys():
            del self._written[name]
        for run in current.values():
            self._renew(run, waits_for(fleet, run), now)

    def _renew(self, run: Run, blocked: str | None, now: datetime) -> None:
        data = msgspec.json.encode(snapshot(run, live=self._live(run, now), blocked=blocked))
        if self._written.get(run.name) == data:
            return
        write_quick(self._home.run(run.name).state, data)
        write_receipt(self._home, run)
        self._written[run.name] = data

    def _live(self, run: Run, now: datetime) -> Live | None:
        if run.state not in _ON_SCREEN or run.current is None:
            return None
        progress = self._progress.get(run.name)
        live = progress.live(now) if progress else Live(at=now)
        session = run.current.session
        return replace(
            live,
            attach_command=self._attempts.attach_command(session),
            capture_command=self._attempts.capture_command(session),
        )


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
