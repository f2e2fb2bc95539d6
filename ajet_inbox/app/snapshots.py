"""state.json and the receipts: renderings of the fleet for programs, renewed when something has changed."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from ajet_inbox.app.attempts import Attempts
from ajet_inbox.app.progress import Progress
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import Run
from ajet_inbox.core.telling.snapshot import Live, receipt, snapshot, waits_for
from ajet_inbox.edge.files import list_names, write_quick

# A run's last state.json is its publication's; one that was begun before must not come after it.
WRITING = threading.Lock()
_ON_SCREEN = (State.STARTING, State.RUNNING, State.STOPPING)


class Snapshots:
    """Writes what differs from what was written last. A finished run's files are its publication's affair."""

    def __init__(
        self, home: HomePaths, attempts: Attempts, progress: Mapping[str, Progress], fleet: Callable[[], Fleet]
    ) -> None:
        self._home, self._attempts, self._progress, self._fleet = home, attempts, progress, fleet
        self._written: dict[str, bytes] = {}

    def renew(self, now: datetime) -> None:
        """Bring the files of all unfinished runs up to date.

        Raises:
            OSError: one of them could not be written.
        """
        current = self._fleet().runs.keys()
        for name in self._written.keys() - current:
            del self._written[name]
        for name in current:
            with WRITING:
                self._renew(name, now)

    def _renew(self, name: str, now: datetime) -> None:
        fleet = self._fleet()
        run = fleet.runs.get(name)
        if run is None or run.state is State.FINISHED or self._is_of_others(fleet, run):
            return
        blocked = waits_for(fleet, run)
        data = msgspec.json.encode(snapshot(run, live=self._live(run, now), blocked=blocked))
        if self._written.get(run.name) == data:
            return
        write_quick(self._home.run(run.name).state, data)
        write_receipt(self._home, run)
        self._written[run.name] = data

    def _is_of_others(self, fleet: Fleet, run: Run) -> bool:
        """Whether another host tells of it, or may have claimed it since we looked: its word must be the last."""
        if not fleet.peers or fleet.mine(run):
            return False
        paths = self._home.run(run.name)
        return run.holder is not None or paths.segment(run.epoch + 1).name in list_names(paths.journal)

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
