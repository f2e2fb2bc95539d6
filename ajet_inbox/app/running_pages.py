"""What people read of a run while it waits or goes on: its trial log and its page."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from pathlib import Path

from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.app.placing import placed_run, result_folder
from ajet_inbox.app.progress import Progress
from ajet_inbox.core.attempt import CONSOLE
from ajet_inbox.core.fleet import Fleet
from ajet_inbox.core.journal import AnyEntry, join
from ajet_inbox.core.lifecycle import State
from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.core.run import Run, fold
from ajet_inbox.core.settings import Settings
from ajet_inbox.core.telling.report import Report, report
from ajet_inbox.core.training.metrics import Format, Metrics
from ajet_inbox.edge.files import Unreadable, tail_from, write_quick
from ajet_inbox.edge.journal import segments
from ajet_inbox.edge.pages import render_pages

# The last files of a run are its publication's; one that was begun before must not come after them.
WRITING = threading.Lock()
ON_SCREEN = (State.STARTING, State.RUNNING, State.STOPPING)
_LAUNCHING = (State.PREPARING, State.STARTING)
_PAUSE_S = 1.0  # between two renderings of one run, whose journal may lag behind what is known of it
_TAIL_BYTES = 64 * 1024


class _Shown(Struct, frozen=True, kw_only=True):
    """The run that the pages tell of, and when that was by the monotonic clock."""

    run: Run
    at: float


class Pages:
    """The trial log and the page of each run while it waits or goes on, in a thread of their own.

    What they show lies on disks that may hang. Nothing waits for them, and a launch goes before them.
    """

    def __init__(
        self,
        home: HomePaths,
        settings: Settings,
        progress: Mapping[str, Progress],
        fleet: Callable[[], Fleet],
        ours: Callable[[str], Run | None],
    ) -> None:
        self._home, self._settings, self._progress, self._fleet, self._ours = home, settings, progress, fleet, ours
        self._shown: dict[str, _Shown] = {}
        self._thread: threading.Thread | None = None
        self._rested_at = time.monotonic()

    def begin(self) -> None:
        """Write what is due, unless that is under way; returns at once."""
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(target=self._write_due, name="pages", daemon=True)
            self._thread.start()

    def _write_due(self) -> None:
        runs = self._fleet().runs
        self._shown = {name: shown for name, shown in self._shown.items() if name in runs}
        for name, run in runs.items():
            if self._is_launching():
                return
            if self._is_due(run):
                self._try_to_write(name, run)
        self._rested_at = time.monotonic()

    def _is_launching(self) -> bool:
        """Whether an experiment is about to begin; one that takes long holds up the pages of the others for a while."""
        fleet = self._fleet()
        about_to = fleet.arriving or fleet.looking or fleet.taking
        busy = bool(about_to) or any(run.state in _LAUNCHING for run in fleet.runs.values())
        return busy and time.monotonic() - self._rested_at < self._settings.progress.render

    def _is_due(self, run: Run) -> bool:
        if run.state in (State.SUBMITTED, State.FINISHED):
            return False
        if (shown := self._shown.get(run.name)) is None:
            return True
        age = time.monotonic() - shown.at
        return age >= (_PAUSE_S if run != shown.run else self._every(run))

    def _every(self, run: Run) -> float:
        return self._settings.progress.render if run.state in ON_SCREEN else float("inf")

    def _try_to_write(self, name: str, run: Run) -> None:
        """Pages are a courtesy: whatever goes wrong with one is told, and the run goes on."""
        try:
            shown = self._write(name)
        except Exception as error:
            logger.warning("The pages of {} could not be written: {!r}", name, error)
            shown = run
        self._shown[name] = _Shown(run=shown or run, at=time.monotonic())

    def _write(self, name: str) -> Run | None:
        """Write the pages of a run as its journal tells it; None where it is not ours to tell of it.

        Raises:
            OSError: they cannot be made or written now.
        """
        paths = self._home.run(name)
        entries = join(segments(paths))
        run = fold(name, entries)
        if run is None or run.state is State.FINISHED:
            return None
        at = datetime.now().astimezone()
        told = self._told(run, entries, paths, at)
        pages = list(render_pages(told, self._settings.language, templates_of(self._home, self._settings), at))
        with WRITING:
            if self._ours(name) is None:
                return None
            for page, data in pages:
                write_quick(paths.root / page, data)
        return run

    def _told(self, run: Run, entries: tuple[AnyEntry, ...], paths: RunPaths, at: datetime) -> Report:
        """Of evaluations the newest only: to read all of them again would cost too much, too often."""
        newest = None
        progress = self._progress.get(run.name)
        if run.current is not None and progress is not None and progress.attempt_id == run.current.id:
            seen = replace(run.current, seen=progress.seen)
            run, newest = replace(run, attempts=(*run.attempts[:-1], seen)), progress.live(at).metrics
        metrics = Metrics(format=Format.NONE, evals=(newest,) if newest else ())
        return tell_here(run, entries, metrics, paths)


def tell_here(run: Run, entries: tuple[AnyEntry, ...], metrics: Metrics, paths: RunPaths) -> Report:
    """The report of a run with its paths as they are on this host, which is what a reader can follow."""
    folder = result_folder(run, paths)
    here = replace(run, blueprint=placed_run(run, paths), result_dir=str(folder) if folder else None)
    return report(here, entries, metrics=metrics, console_tail=_console_tail(run, paths), paths=paths)


def _console_tail(run: Run, paths: RunPaths) -> bytes:
    if run.attempt is None:
        return b""
    console = paths.attempt(run.attempt.number) / CONSOLE
    try:
        size = console.stat().st_size
    except OSError:
        return b""
    found = tail_from(console, max(0, size - _TAIL_BYTES), _TAIL_BYTES)
    return b"" if isinstance(found, Unreadable) else found.data


def templates_of(home: HomePaths, settings: Settings) -> Path | None:
    """The folder of the user's own templates."""
    return home.root / settings.templates_dir if settings.templates_dir else None
