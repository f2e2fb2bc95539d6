"""state.json and the receipts: renderings of the fleet for programs, renewed when something has changed."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

import msgspec
from msgspec.structs import replace

from ajet_inbox.app.acts import World
from ajet_inbox.app.progress import Progress
from ajet_inbox.app.receipts import write_receipt
from ajet_inbox.app.running_pages import ON_SCREEN, WRITING, Pages
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.run import Run
from ajet_inbox.core.telling.snapshot import Live, snapshot, waits_for
from ajet_inbox.edge.files import list_names, write_quick


class Snapshots:
    """Writes what differs from what was written last. A finished run's files are its publication's affair."""

    def __init__(self, world: World, progress: Mapping[str, Progress]) -> None:
        self._home, self._attempts, self._progress, self._fleet = world.home, world.attempts, progress, world.fleet
        self._written: dict[str, bytes] = {}
        self._pages = Pages(world.home, world.settings, progress, world.fleet, self._ours)

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
        self._pages.begin()

    def _renew(self, name: str, now: datetime) -> None:
        if (run := self._ours(name)) is None:
            return
        blocked = waits_for(self._fleet(), run)
        data = msgspec.json.encode(snapshot(run, live=self._live(run, now), blocked=blocked))
        if self._written.get(run.name) == data:
            return
        write_quick(self._home.run(run.name).state, data)
        write_receipt(self._home, run)
        self._written[run.name] = data

    def _ours(self, name: str) -> Run | None:
        """The run where it is ours to tell of it: it is not finished, and not another host's."""
        fleet = self._fleet()
        run = fleet.runs.get(name)
        return None if run is None or run.state is State.FINISHED or self._is_of_others(fleet, run) else run

    def _is_of_others(self, fleet: Fleet, run: Run) -> bool:
        """Whether another host tells of it, or may have claimed it since we looked: its word must be the last."""
        if not fleet.peers or fleet.mine(run):
            return False
        paths = self._home.run(run.name)
        return run.holder is not None or paths.segment(run.epoch + 1).name in list_names(paths.journal)

    def _live(self, run: Run, now: datetime) -> Live | None:
        if run.state not in ON_SCREEN or run.current is None:
            return None
        progress = self._progress.get(run.name)
        live = progress.live(now) if progress else Live(at=now)
        session = run.current.session
        return replace(
            live,
            attach_command=self._attempts.attach_command(session),
            capture_command=self._attempts.capture_command(session),
        )
