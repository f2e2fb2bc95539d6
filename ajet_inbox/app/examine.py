"""What a drop says, and whether the world agrees: the same look for the watcher and for the command `check`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from loguru import logger
from msgspec import Struct

from ajet_inbox.app.placing import config_of, inbox_place, placed
from ajet_inbox.core.blueprint import Blueprint, Mode, Problem, Reading
from ajet_inbox.core.drops import DropKind, ReadyMark, read_ready, run_slug
from ajet_inbox.core.events import DropRead
from ajet_inbox.core.journal import Drop, Submitted
from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.core.reading.check import WorldProblem, looked_up, text_problems, world_problems
from ajet_inbox.core.reading.parse import decode, read_blueprint
from ajet_inbox.core.run import Run
from ajet_inbox.core.settings import Autokill, Settings
from ajet_inbox.edge import intake, world
from ajet_inbox.edge.intake import Content, Intake

LOOK_S = 5.0
_DEFAULT_GPUS = 8


class Findings(Struct, frozen=True, kw_only=True):
    """A blueprint as read, as it is here (its own files in their folder), and what is wrong in text and world."""

    read: Blueprint
    here: Blueprint
    text: tuple[Problem, ...] = ()
    world: tuple[WorldProblem, ...] = ()
    gpus: int = 0

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of them."""
        return (*self.text, *(each.problem for each in self.world))


def examine(
    data: bytes, name: str, folder: Path | None, autokill: Autokill, dropped_at: Path | None = None
) -> Findings:
    """Read a blueprint and look at what it names. `folder` holds what it brought with it, None where it came alone.

    Takes at most `LOOK_S` seconds for paths that do not answer.
    """
    reading = _read(data, name, is_folder=folder is not None)
    text = (*reading.problems, *_unsaid(reading, folder, autokill))
    here = placed(reading.blueprint, folder, dropped_at)
    found = _look(here)
    return Findings(read=reading.blueprint, here=here, text=text, world=found, gpus=_gpus(here, found))


def _read(data: bytes, name: str, *, is_folder: bool) -> Reading:
    text, problems = decode(data)
    try:
        reading = read_blueprint(text, name=name, folder_drop=is_folder)
    except Exception:
        logger.exception("A blueprint could not be read, which is a defect of the reader")
        problem = Problem(code="unreadable_blueprint", message="The blueprint could not be read.")
        reading = Reading(blueprint=Blueprint(), problems=(problem,))
    return Reading(blueprint=reading.blueprint, problems=(*problems, *reading.problems))


def _unsaid(reading: Reading, folder: Path | None, autokill: Autokill) -> tuple[Problem, ...]:
    return text_problems(reading.blueprint, folder_drop=folder is not None, autokill_policy=autokill)


def _look(here: Blueprint) -> tuple[WorldProblem, ...]:
    return world_problems(here, world.look(*looked_up(here), timeout_s=LOOK_S))


def _gpus(here: Blueprint, found: tuple[WorldProblem, ...]) -> int:
    """How many GPUs a run needs (contract section 1). A yaml that could not be looked at is not opened."""
    if here.gpus is not None:
        return here.gpus
    is_there = not any(each.problem.section == "exp_yaml_path" for each in found)
    config = config_of(here.yaml_path if is_there else None)
    if config.n_gpus_per_node is not None:
        return config.n_gpus_per_node
    return 0 if here.mode is Mode.GENERIC else _DEFAULT_GPUS


# --- for the watcher -------------------------------------------------------------------------------------------------


def read_drop(home: HomePaths, claimed: Intake, settings: Settings) -> DropRead:
    """Everything about a claimed drop that its admission depends on.

    Raises:
        OSError: the outbox cannot be used now; it can be called again.
    """
    limits = (settings.limits.blueprint_bytes, settings.limits.drop_bytes)
    content = intake.secure(home, claimed, limits)
    mark, mark_problems = read_ready(content.mark) if content.mark is not None else (ReadyMark(), ())
    found = _findings(home, claimed, content, settings)
    errors = tuple(each.problem for each in found.world)
    submitted = Submitted(
        at=claimed.arrival.submitted_at,
        drop=_drop(claimed, content, mark, found.read),
        blueprint=found.read,
        problems=(*found.text, *mark_problems, *errors),
        gpus=found.gpus,
        result_dir=found.here.result_dir if found.here.result_dir == found.read.result_dir else None,
    )
    certain = tuple(each.problem for each in found.world if each.certain)
    return DropRead(submitted=submitted, name=_name(claimed, found.read), world=errors, certain=certain)


def _findings(home: HomePaths, claimed: Intake, content: Content, settings: Settings) -> Findings:
    arrival = claimed.arrival
    if content.blueprint is None:
        problem = Problem(code="unreadable", message=f"{content.refused or 'The drop cannot be read'}.")
        return Findings(read=Blueprint(), here=Blueprint(), text=(problem,))
    if arrival.kind is DropKind.TASK:
        problem = Problem(code="task_not_supported", message="Drafting from a task description is not built yet.")
        return Findings(read=Blueprint(), here=Blueprint(), text=(problem,))
    folder = claimed.run / "drop" if arrival.kind is DropKind.FOLDER else None
    name = run_slug(arrival.name)
    return examine(content.blueprint, name, folder, settings.security.autokill, home.inbox / arrival.name)


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


def look_again(run: Run, paths: RunPaths) -> tuple[tuple[Problem, ...], bool]:
    """What is wrong here and now with the paths of a queued run, and whether all of it is certain."""
    folder = paths.drop if run.drop.kind is DropKind.FOLDER else None
    found = _look(placed(run.blueprint, folder, inbox_place(run, paths)))
    return tuple(each.problem for each in found), all(each.certain for each in found)
