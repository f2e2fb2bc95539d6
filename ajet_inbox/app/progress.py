"""What an attempt is seen to do: its console and its metrics files, read as they grow."""

from __future__ import annotations

import re
import threading
from datetime import datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from ajet_inbox.app.placing import config_of, placed_run
from ajet_inbox.core.attempt import CONSOLE
from ajet_inbox.core.journal import Seen
from ajet_inbox.core.paths import RunPaths
from ajet_inbox.core.reading.resolve import join
from ajet_inbox.core.run import Attempt, Run
from ajet_inbox.core.telling.snapshot import Live
from ajet_inbox.core.training.ajet_keys import NAME_OF_YAML
from ajet_inbox.core.training.console_events import EvalSeen, Phase, PhaseSeen
from ajet_inbox.core.training.evals import Eval, timeline
from ajet_inbox.core.training.metrics import Format, Metrics, read_metrics, read_train_steps
from ajet_inbox.core.training.progress import Console
from ajet_inbox.core.training.step_lines import StepSeen
from ajet_inbox.edge.files import Unreadable, list_names, read_regular, tail_from, write_quick

_SOURCES = "sources.json"
_CHUNK = 4 << 20
_YAML_BYTES = 1 << 20
_FILE_BYTES = 64 << 20
_CHECKPOINT = re.compile(r"global_step_\d+|latest_checkpointed_iteration\.txt")


class Sources(Struct, frozen=True, kw_only=True):
    """The files beside the console that tell of progress, with the size each had before the run began.

    `checkpoints` is the folder of checkpoints; `saved` what was there before, with the time (ns) of its last change:
    the filesystem's own, which may differ from this host's. `new_name`: the trainer makes itself a name at each start,
    and so never finds its checkpoints again.
    """

    val_file: str | None = None
    val_size: int = 0
    train_file: str | None = None
    train_size: int = 0
    checkpoints: str | None = None
    saved: dict[str, int] = {}
    new_name: bool = False


def note_sources(run: Run, paths: RunPaths, number: int) -> None:
    """Before an attempt begins: write down where its metrics files stand, for earlier runs append to the same ones.

    Raises:
        OSError: it cannot be written.
    """
    place = paths.attempt(number)
    if _SOURCES in list_names(place):
        return
    place.mkdir(parents=True, exist_ok=True)
    b = placed_run(run, paths)
    config = config_of(b.yaml_path)
    named = (config.val_file, config.train_file, config.checkpoints)
    val_file, train_file, checkpoints = (name and join(name, b.codebase_dir) for name in named)
    noted = Sources(
        val_file=val_file,
        val_size=_size(val_file),
        train_file=train_file,
        train_size=_size(train_file),
        checkpoints=checkpoints,
        saved=_saved(checkpoints),
        new_name=config.experiment_name == NAME_OF_YAML,
    )
    write_quick(place / _SOURCES, msgspec.json.encode(noted))


def sources(paths: RunPaths, number: int) -> Sources:
    """What `note_sources` wrote down for an attempt."""
    data = read_regular(paths.attempt(number) / _SOURCES, _YAML_BYTES)
    return Sources() if isinstance(data, Unreadable) else msgspec.json.decode(data, type=Sources)


def _size(path: str | None) -> int:
    try:
        return Path(path).stat().st_size if path else 0
    except OSError:
        return 0


def _saved(folder: str | None) -> dict[str, int]:
    """The checkpoints in `folder` and the trainer's note of the newest, with the time of their last change."""
    try:
        found = [path for path in Path(folder).iterdir() if _CHECKPOINT.fullmatch(path.name)] if folder else []
        return {path.name: path.stat().st_mtime_ns for path in found}
    except OSError:  # none yet, or one that is being removed: the next look will tell
        return {}


class _Grown:
    """A file that is appended to, from an offset on; at most its last 64 MiB are kept."""

    def __init__(self, path: str | None, offset: int) -> None:
        self._path = Path(path) if path else None
        self._offset = offset
        self._inode: int | None = None
        self.text = ""

    def read(self) -> bool:
        """Take in what was added; whether there was anything."""
        found = tail_from(self._path, self._offset, _FILE_BYTES, self._inode) if self._path else None
        if found is None or isinstance(found, Unreadable) or not found.data:
            return False
        kept = "" if found.restarted else self.text
        self.text = (kept + found.data.decode(errors="replace"))[-_FILE_BYTES:]
        self._offset, self._inode = found.offset, found.inode
        return True


class Progress:
    """One attempt as seen from outside. `read` takes in what is new; the rest says what is known."""

    def __init__(self, run: Run, attempt: Attempt, paths: RunPaths) -> None:
        self.attempt_id = attempt.id
        self._reading = threading.Lock()  # the last look may begin while one that was given up is still under way
        self._console_path = paths.attempt(attempt.number) / CONSOLE
        self._console = Console()
        self._offset = 0
        noted, first = sources(paths, attempt.number), sources(paths, 1)
        self._val = _Grown(noted.val_file, first.val_size)
        self._train = _Grown(noted.train_file, noted.train_size)
        self._on_console: list[Eval] = []
        self._in_file: tuple[Eval, ...] = ()
        self._steps = 0
        self._observable = noted.train_file is not None
        self._nan_steps = 0
        self._noted = noted
        self._saved = False
        self.first_step: tuple[int, str] | None = None

    def read(self) -> None:
        """Read what the experiment has written since the last time."""
        with self._reading:
            self._read_all()

    def _read_all(self) -> None:
        while self._read_console():
            pass
        if self._train.read():
            for number, _ in read_train_steps(self._train.text):
                self._trained(number, "train file")
        if self._val.read():
            self._in_file = read_metrics(self._val.text).evals
        if not self._saved:
            self._saved = bool(_saved(self._noted.checkpoints).items() - self._noted.saved.items())

    def _read_console(self) -> bool:
        found = tail_from(self._console_path, self._offset, _CHUNK)
        if isinstance(found, Unreadable) or not found.data:
            return False
        self._offset = found.offset
        for event in self._console.feed(found.data):
            match event:
                case StepSeen():
                    self._step(event)
                case EvalSeen():
                    self._on_console.append(event.eval)
                case PhaseSeen():
                    self._saved = self._saved or event.phase is Phase.SAVING
        return True

    def _step(self, event: StepSeen) -> None:
        self._observable = True
        if event.trained:
            self._trained(event.step, "console")
            self._nan_steps += bool(event.not_finite)

    def _trained(self, number: int, source: str) -> None:
        self._steps = max(self._steps, number)
        if number >= 1 and self.first_step is None:
            self.first_step = (number, source)

    @property
    def _evals(self) -> tuple[Eval, ...]:
        return self._in_file or timeline((*self._on_console, *self._console.unplaced))

    @property
    def _total(self) -> int | None:
        bar = self._console.training_bar
        return bar.total if bar else None

    @property
    def seen(self) -> Seen:
        """What the journal keeps of it."""
        evals = self._evals
        numbered = [e.global_steps for e in evals if e.global_steps is not None]
        return Seen(
            observable=self._observable,
            first_step=self.first_step[0] if self.first_step else None,
            step=self._steps or None,
            total_steps=self._total,
            evals=len(evals),
            last_eval_step=max(numbered, default=None),
            nan_steps=self._nan_steps,
            checkpoint=self._saved and not self._noted.new_name,
        )

    def live(self, at: datetime) -> Live:
        """What state.json shows of it."""
        bar = self._console.training_bar
        return Live(
            at=at,
            step=self._steps or None,
            total_steps=self._total,
            eta_s=bar.eta_s if bar else None,
            metrics=next(reversed(self._evals), None),
        )


def run_metrics(run: Run, paths: RunPaths) -> Metrics:
    """The evaluations of a run: of its val file what it added, else what its consoles show."""
    if run.attempt is None:
        return Metrics(format=Format.NONE)
    val = _Grown(sources(paths, run.attempt.number).val_file, sources(paths, 1).val_size)
    val.read()
    found = read_metrics(val.text)
    return found if found.evals else _on_consoles(run, paths)


def _on_consoles(run: Run, paths: RunPaths) -> Metrics:
    """Each console by itself: what one attempt left half said is not for the next one's first line to complete."""
    read = [read_metrics(_console(paths, attempt.number)) for attempt in run.attempts]
    forms = [each.format for each in read if each.evals] or [Format.NONE]
    return Metrics(format=forms[-1], evals=timeline(found for each in read for found in each.evals))


def _console(paths: RunPaths, number: int) -> str:
    """The end of a console, in one piece: one that is still written to may grow as fast as it is read."""
    path = str(paths.attempt(number) / CONSOLE)
    console = _Grown(path, max(0, _size(path) - _FILE_BYTES))
    console.read()
    return console.text
