"""Results of a finished run: rendered into its folder, delivered where they are waited for, and last the flag."""

from __future__ import annotations

import errno
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import msgspec
from loguru import logger
from msgspec import Struct

from ajet_inbox.app.placing import result_folder
from ajet_inbox.app.progress import run_metrics
from ajet_inbox.app.receipts import write_receipt
from ajet_inbox.app.running_pages import WRITING, tell_here, templates_of
from ajet_inbox.core.admission import NOT_DELIVERED
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.journal import AnyEntry, Submitted
from ajet_inbox.core.lifecycle import Outcome, State
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import Run
from ajet_inbox.core.settings import Settings
from ajet_inbox.core.telling.report import Report
from ajet_inbox.core.telling.snapshot import Live, snapshot
from ajet_inbox.core.training.metrics import Metrics
from ajet_inbox.edge import deliver
from ajet_inbox.edge.files import write_atomic
from ajet_inbox.edge.pages import RESULT, flag, render_run

# What a person has to mend; any other error may pass by itself, and is tried again.
_LASTING = frozenset({errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.ELOOP, errno.ENAMETOOLONG})


class Results(Struct, frozen=True, kw_only=True):
    """What was rendered of a run, by file name, and the folder that it is delivered into."""

    report: Report
    files: dict[str, bytes]
    folder: Path | None


def write_results(home: HomePaths, run: Run, entries: Sequence[AnyEntry], settings: Settings) -> Results:
    """Render everything but the flag into the run's folder, and make it durable.

    Raises:
        OSError: it could not be written.
    """
    paths = home.run(run.name)
    metrics = run_metrics(run, paths)
    told = tell_here(run, tuple(entries), metrics, paths)
    files = dict(render_run(told, settings.language, templates_of(home, settings)))
    for name, data in files.items():
        with WRITING:
            write_atomic(paths.root / name, data)
    _write_state(home, run, metrics)
    return Results(report=told, files=files, folder=result_folder(run, paths))


def _write_state(home: HomePaths, run: Run, metrics: Metrics) -> None:
    live = Live(at=run.finished_at or run.submitted_at, metrics=metrics.evals[-1] if metrics.evals else None)
    with WRITING:
        write_atomic(home.run(run.name).state, msgspec.json.encode(snapshot(run, live=live)))
        write_receipt(home, run)


def write_flag(home: HomePaths, run: Run, results: Results) -> None:
    """The last act: whoever finds the flag finds everything else.

    Raises:
        OSError: it could not be written.
    """
    paths = home.run(run.name)
    write_atomic(paths.flag, flag(results.report, results.files[RESULT], paths.root))


def is_delivered(run: Run, settings: Settings) -> bool:
    """Whether the run's results go into its exp_result_dir, as far as that is known without a look at the disk."""
    refused = run.reason is not None and run.reason.code in NOT_DELIVERED
    may_be_own = run.drop.kind is DropKind.FOLDER and run.blueprint.result_dir is not None
    return settings.deliver and (run.result_dir is not None or may_be_own) and not refused


def deliver_results(run: Run, results: Results) -> None:
    """Write the results into exp_result_dir, where that is allowed. May hang with the mount.

    Raises:
        OSError: it could not be done; `lasting` tells whether to try again.
    """
    if (folder := results.folder) is None:
        return
    if (refusal := deliver.may_deliver(folder)) is not None:
        logger.warning("The results of {} stay in the outbox: {}", run.name, refusal)
        return
    ours = flag(results.report, results.files[RESULT], folder)
    if run.outcome is Outcome.REJECTED:
        deliver.set_aside(folder, run.finished_at or run.submitted_at, mine=ours)
    deliver.deliver(folder, results.files.items(), ours)


def lasting(error: OSError) -> bool:
    """Whether an error stays until a person mends something."""
    return error.errno in _LASTING


def set_aside_for(entries: Sequence[AnyEntry], settings: Settings, at: datetime) -> None:
    """At acceptance: move what an earlier run left in exp_result_dir out of the way of whoever waits there.

    Raises:
        OSError: it could not be moved.
    """
    submitted = next((entry for entry in entries if isinstance(entry, Submitted)), None)
    if settings.deliver and submitted is not None and submitted.result_dir is not None:
        folder = Path(submitted.result_dir)
        if deliver.may_deliver(folder) is None:
            deliver.set_aside(folder, at)


def render_again(home: HomePaths, run: Run, entries: Sequence[AnyEntry], settings: Settings) -> None:
    """Make all that is derived from the journal anew, in the outbox only.

    Raises:
        OSError: it could not be written.
    """
    results = write_results(home, run, entries, settings)
    if run.state is State.FINISHED:
        write_flag(home, run, results)
