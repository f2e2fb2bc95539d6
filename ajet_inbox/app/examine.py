"""What a drop says, and whether the world agrees: the same look for the watcher and for the command `check`."""

from __future__ import annotations

from pathlib import PurePosixPath

from ajet_inbox.app.progress import config_of
from ajet_inbox.core.blueprint import Blueprint, Mode, Problem, Reading
from ajet_inbox.core.drops import DropKind, ReadyMark, read_ready, run_slug
from ajet_inbox.core.events import DropRead
from ajet_inbox.core.journal import Drop, Submitted
from ajet_inbox.core.parse import decode, read_blueprint
from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.core.run import Run
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge import intake
from ajet_inbox.edge.intake import Content, Intake

_DEFAULT_GPUS = 8


def read_drop(home: HomePaths, claimed: Intake, settings: Settings) -> DropRead:
    """Everything about a claimed drop that its admission depends on.

    Raises:
        OSError: the outbox cannot be used now; it can be called again.
    """
    limits = (settings.limits.blueprint_bytes, settings.limits.drop_bytes)
    content = intake.secure(home, claimed, limits)
    mark, mark_problems = read_ready(content.mark) if content.mark is not None else (ReadyMark(), ())
    reading = _reading(claimed, content)
    b = reading.blueprint
    submitted = Submitted(
        at=claimed.arrival.submitted_at,
        drop=_drop(claimed, content, mark, b),
        blueprint=b,
        problems=(*reading.problems, *mark_problems),
        gpus=gpus_of(b),
        result_dir=b.result_dir,
    )
    return DropRead(submitted=submitted, name=_name(claimed, b))


def _reading(claimed: Intake, content: Content) -> Reading:
    if content.blueprint is None:
        problem = Problem(code="unreadable", message=content.refused or "It cannot be read.")
        return Reading(blueprint=Blueprint(), problems=(problem,))
    text, problems = decode(content.blueprint)
    reading = read_blueprint(text, name=claimed.arrival.name, folder_drop=claimed.arrival.kind is DropKind.FOLDER)
    return Reading(blueprint=reading.blueprint, problems=(*problems, *reading.problems))


def _drop(claimed: Intake, content: Content, mark: ReadyMark, b: Blueprint) -> Drop:
    arrival = claimed.arrival
    return Drop(
        id=claimed.drop_id,
        name=arrival.name,
        kind=arrival.kind,
        sha256=content.sha256,
        key=mark.key,
        priority=mark.priority if mark.priority is not None else b.priority or 0,
        after=mark.after or b.after,
        retry_of=mark.retry_of,
        replaces=mark.replace,
    )


def _name(claimed: Intake, b: Blueprint) -> str:
    fallback = PurePosixPath(b.result_dir).name if b.result_dir else b.title
    return run_slug(claimed.arrival.name, fallback)


def gpus_of(b: Blueprint) -> int:
    """How many GPUs a run needs (contract section 1)."""
    if b.gpus is not None:
        return b.gpus
    config = config_of(b.yaml_path)
    if config.n_gpus_per_node is not None:
        return config.n_gpus_per_node
    return 0 if b.mode is Mode.GENERIC else _DEFAULT_GPUS


def look_again(run: Run, paths: RunPaths) -> tuple[tuple[Problem, ...], bool]:
    """What is wrong here and now with the paths of a queued run, and whether that is certain."""
    return (), False
