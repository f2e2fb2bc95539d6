"""What a drop says, and whether the world agrees: the same look for the watcher and for the command `check`."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

import msgspec
from loguru import logger
from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.app.gathering import Place, gather, glance, policy_facts
from ajet_inbox.app.placing import inbox_place, placed
from ajet_inbox.core.blueprint import Blueprint, Level, Problem, Reading
from ajet_inbox.core.checking.check import policy_problems, text_problems, world_problems, worst_first
from ajet_inbox.core.checking.facts import Facts
from ajet_inbox.core.checking.rule import Case, Finding
from ajet_inbox.core.checking.sources import gpus_needed, sources
from ajet_inbox.core.drafting.text import headline
from ajet_inbox.core.drops import BLUEPRINT_NAME, DropKind, ReadyMark, read_ready, run_slug
from ajet_inbox.core.events import DropRead
from ajet_inbox.core.journal import Drop, Submitted
from ajet_inbox.core.paths import HomePaths, RunPaths
from ajet_inbox.core.reading.parse import decode, read_blueprint
from ajet_inbox.core.run import Run
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge import intake, world
from ajet_inbox.edge.files import Unreadable, list_names, read_regular, write_atomic
from ajet_inbox.edge.intake import Content, Intake

_OWNERS = "owners.json"
_OWNERS_BYTES = 16 * 1024


class Findings(Struct, frozen=True, kw_only=True):
    """A blueprint as read, as it is here (its own files in their folder), and what is wrong in text and world.

    `result_dir` is where results are delivered, whatever links lead there; None where that is in the run's own folder.
    """

    read: Blueprint
    here: Blueprint
    text: tuple[Problem, ...] = ()
    world: tuple[Finding, ...] = ()
    gpus: int = 0
    result_dir: str | None = None

    @property
    def problems(self) -> tuple[Problem, ...]:
        """All of them, errors first."""
        return worst_first((*self.text, *(each.problem for each in self.world)))


def examine(data: bytes, name: str, folder: Path | None, place: Place, dropped_at: Path | None = None) -> Findings:
    """Read a blueprint and look at what it names. `folder` holds what it brought with it, None where it came alone.

    Takes a few seconds at most, for paths that do not answer.
    """
    text, reading = _read(data, name, is_folder=folder is not None)
    read = reading.blueprint
    here = placed(read, folder, dropped_at)
    judged = Case(blueprint=here, text=text, folder_drop=folder is not None, settings=place.settings)
    refused = policy_problems(replace(judged, facts=policy_facts(here, place)))
    if refused:  # nothing of it is asked or looked at any further
        return Findings(read=read, here=here, text=(*refused, *reading.problems))
    facts = gather(here, place)
    known = sources(here, facts)
    read, here = replace(read, mode=known.mode), replace(here, mode=known.mode)
    judged = replace(judged, blueprint=here, facts=facts, sources=known)
    result_dir = _result_dir(here, facts, folder)
    astray = _in_the_home(read, result_dir, place)
    return Findings(
        read=read,
        here=here,
        text=(
            *reading.problems,
            *text_problems(replace(judged, blueprint=read)),
            *_in_the_home(read, result_dir, place),
        ),
        world=world_problems(judged),
        gpus=gpus_needed(here, known),
        result_dir=None if astray else result_dir,
    )


def _in_the_home(read: Blueprint, result_dir: str | None, place: Place) -> tuple[Problem, ...]:
    """Results among the runs would be taken for theirs, and in the inbox for drops."""
    if place.home is None or result_dir is None:
        return ()
    boxes = (place.home.inbox.resolve(), place.home.outbox.resolve())
    ours = Path(result_dir) == place.home.root.resolve() or any(Path(result_dir).is_relative_to(box) for box in boxes)
    section = "exp_result_dir"
    message = f"{result_dir} belongs to the inbox, the outbox or the home itself."
    hint = "Name a folder of the experiment's own."
    problem = Problem(
        code="result_dir_in_home", section=section, line=read.lines.get(section), message=message, hint=hint
    )
    return (problem,) if ours else ()


def _read(data: bytes, name: str, *, is_folder: bool) -> tuple[str, Reading]:
    text, problems = decode(data)
    try:
        reading = read_blueprint(text, name=name, folder_drop=is_folder)
    except Exception:
        logger.exception("A blueprint could not be read, which is a defect of the reader")
        problem = Problem(code="unreadable_blueprint", message="The blueprint could not be read.")
        reading = Reading(blueprint=Blueprint(), problems=(problem,))
    return text, Reading(blueprint=reading.blueprint, problems=(*problems, *reading.problems))


def _result_dir(here: Blueprint, facts: Facts, folder: Path | None) -> str | None:
    if here.result_dir is None:
        return None
    real = Path(facts.about(here.result_dir).real or here.result_dir)
    return None if folder and real.is_relative_to(folder.resolve()) else str(real)


# --- for the watcher -------------------------------------------------------------------------------------------------


def read_drop(
    home: HomePaths, claimed: Intake, settings: Settings, environment: dict[str, str] | None = None
) -> DropRead:
    """Everything about a claimed drop that its admission depends on. `environment` is what experiments get.

    Raises:
        OSError: the outbox cannot be used now; it can be called again.
    """
    limits = (settings.limits.blueprint_bytes, settings.limits.drop_bytes)
    place = Place(settings=settings, home=home, environment=environment, dropped_by=_dropped_by(claimed, settings))
    content = intake.secure(home, claimed, limits)
    mark, mark_problems = read_ready(content.mark) if content.mark is not None else (ReadyMark(), ())
    found = _findings(claimed, content, place)
    errors = tuple(each for each in found.world if each.problem.level is Level.ERROR)
    submitted = Submitted(
        at=claimed.arrival.submitted_at,
        drop=_drop(claimed, content, mark, found.read),
        blueprint=found.read,
        problems=worst_first((*found.problems, *mark_problems)),
        gpus=found.gpus,
        result_dir=found.result_dir,
    )
    return DropRead(
        submitted=submitted,
        name=_name(claimed, found.read),
        world=tuple(each.problem for each in errors),
        certain=tuple(each.problem for each in errors if each.certain),
    )


def _dropped_by(claimed: Intake, settings: Settings) -> tuple[str, ...]:
    """The users that own the drop, where that matters. Noted before its bytes are copied, for the copies are ours, and
    whoever goes on after a crash has nothing but them.

    Raises:
        OSError: the outbox cannot be used now.
    """
    if not settings.security.owners:
        return ()
    note, drop = claimed.folder / _OWNERS, claimed.taken / claimed.arrival.name
    if note.name not in list_names(claimed.folder) and drop.name in list_names(claimed.taken):
        folder = drop.is_dir() and not drop.is_symlink()
        inside = [drop / BLUEPRINT_NAME] if folder and BLUEPRINT_NAME in list_names(drop) else []
        write_atomic(note, msgspec.json.encode(world.owners(drop, *inside)))
    data = read_regular(note, _OWNERS_BYTES)
    return () if isinstance(data, Unreadable) else msgspec.json.decode(data, type=tuple[str, ...])


def _findings(claimed: Intake, content: Content, place: Place) -> Findings:
    arrival = claimed.arrival
    if content.blueprint is None:
        problem = Problem(code="unreadable", message=f"{content.refused or 'The drop cannot be read'}.")
        return Findings(read=Blueprint(), here=Blueprint(), text=(problem,))
    if arrival.kind is DropKind.TASK:
        task = Blueprint(purpose=headline(decode(content.blueprint)[0]) or None)
        return Findings(read=task, here=task)
    folder = claimed.run / "drop" if arrival.kind is DropKind.FOLDER else None
    name = run_slug(arrival.name)
    inbox = place.home.inbox / arrival.name if place.home else None
    return examine(content.blueprint, name, folder, place, inbox)


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
    here = placed(run.blueprint, folder, inbox_place(run, paths))
    facts = glance(here, Place())
    found = world_problems(Case(blueprint=here, facts=facts, sources=sources(here, facts)))
    errors = [each for each in found if each.problem.level is Level.ERROR]
    return tuple(each.problem for each in errors), all(each.certain for each in errors)
