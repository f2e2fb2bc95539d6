"""Looks up all that the rules want to know about a blueprint, within a few seconds whatever hangs."""

from __future__ import annotations

import os
import time
from concurrent.futures import Future
from functools import lru_cache, partial
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.app.client.states import read_all
from ajet_inbox.app.client.watchers import Watchers
from ajet_inbox.app.placing import placed_run
from ajet_inbox.core import journal
from ajet_inbox.core.blueprint import Blueprint
from ajet_inbox.core.checking.facts import Facts, Interpreter, Syntax
from ajet_inbox.core.checking.rules.paths import PYTHON_NAME
from ajet_inbox.core.checking.sources import experiment, project_folder, sources, wanted
from ajet_inbox.core.lifecycle import InvalidTransition, State
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.run import fold
from ajet_inbox.core.settings import Settings
from ajet_inbox.core.training.ajet_config import read_config
from ajet_inbox.edge import programs, world
from ajet_inbox.edge.journal import segments

LOOK_S = 5.0
_PROGRAM_S = 4.0  # of a program that is asked
_FILE_BYTES = 1 << 20
_MOST_RUNS = 100
_ROUNDS = 4  # blueprint -> script -> its base yaml -> the paths in that


class Place(Struct, frozen=True, kw_only=True):
    """Where and for whom a blueprint is judged.

    `environment` is what experiments get, None where it is not known. `dropped_by` are the owners of the drop.
    `patient`: whether somebody waits for a thorough answer; a watcher that is about to launch does not, and asks for
    nothing that takes longer than the files of the blueprint themselves.
    """

    settings: Settings = Settings()
    home: HomePaths | None = None
    environment: dict[str, str] | None = None
    dropped_by: tuple[str, ...] = ()
    patient: bool = False


def policy_facts(here: Blueprint, place: Place) -> Facts:
    """What the settings' policy depends on: the owners, and where the codebase really lies."""
    paths = [path for path in (here.codebase_dir, *place.settings.security.codebases) if path]
    asked = paths if place.settings.security.codebases else []
    return replace(world.look(*asked, timeout_s=LOOK_S), dropped_by=place.dropped_by)


def gather(here: Blueprint, place: Place) -> Facts:
    """All that can be known of `here` within `LOOK_S` seconds."""
    deadline = time.monotonic() + LOOK_S
    bash = {script: _asked_bash(script) for script in _scripts(here)}  # beside the looks, not behind them
    facts = glance(here, place)
    if place.home is not None:
        facts = replace(facts, inbox=str(place.home.inbox), slot_gpus=_slot_gpus(place.home))
        facts = replace(facts, experiments=_rivals(here, facts, place.home, deadline))
    if place.environment is not None:
        facts = replace(facts, env=frozenset(place.environment))
    if place.patient:
        facts = _thorough(here, facts, place, deadline)
    said = world.answers(bash, _left(deadline))
    return replace(facts, syntax={script: wrong for script, wrong in said.items() if wrong is not None})


def glance(here: Blueprint, place: Place) -> Facts:
    """What may change while a run waits for its slot: the paths and files that it names, and its interpreter."""
    deadline = time.monotonic() + LOOK_S
    facts = _looked(here, place, deadline)
    return replace(facts, interpreter=_interpreter(here, facts, place, deadline))


def _left(deadline: float) -> float:
    return max(0.0, deadline - time.monotonic())


def _looked(here: Blueprint, place: Place, deadline: float) -> Facts:
    """Paths and files, and those that the files name, until nothing new is named."""
    facts = Facts()
    inbox = [str(place.home.inbox)] if place.home is not None else []
    for _ in range(_ROUNDS):
        want = wanted(here, facts)
        paths, files = {*want.paths, *inbox} - facts.paths.keys(), want.files - facts.files.keys()
        if not (paths or files):
            break
        more = world.look(*paths, files=files, limit=_FILE_BYTES, timeout_s=_left(deadline))
        facts = replace(facts, paths=facts.paths | more.paths, files=facts.files | more.files)
    return facts


def _scripts(here: Blueprint) -> tuple[str, ...]:
    scripts = (here.launch_command, here.prepare_command, here.cleanup_command, *(s.command for s in here.services))
    return tuple(script for script in scripts if script)


def _asked_bash(script: str) -> Future[Syntax | None]:
    return world.begin(("bash", script), partial(programs.ask_bash, script, _PROGRAM_S))


def _interpreter(here: Blueprint, facts: Facts, place: Place, deadline: float) -> Interpreter | None:
    """What the interpreter says of itself: what it said before, where it has not changed since and was in order.

    A watcher never waits for the answer, which takes as long as a Python takes to start from a network filesystem; it
    has it at the next look.
    """
    path = here.venv_exe
    found = facts.about(path) if path else None
    if path is None or found is None or found.edition is None or not (found.is_file and found.executable):
        return None
    if not PYTHON_NAME.fullmatch(Path(path).name):
        return None  # it might be anything: nothing is run that does not at least call itself a Python
    edition = (path, *found.edition)
    known = programs.known_version(edition)
    if known is not None and known.version is not None:
        return known
    environment = place.environment if place.environment is not None else dict(os.environ)
    asked = world.begin(("version", edition), partial(programs.ask_version, edition, environment, _PROGRAM_S))
    return world.answer(asked, _left(deadline)) if place.patient else known


def _slot_gpus(home: HomePaths) -> tuple[int, ...]:
    """How many GPUs each slot of the living watchers has."""
    return tuple(len(slot.gpus) for watcher in Watchers(home).look() if watcher.alive for slot in watcher.sign.slots)


# ---- what only somebody waits for who asks ------------------------------------------------------------------------


def _thorough(here: Blueprint, facts: Facts, place: Place, deadline: float) -> Facts:
    """Who else is on the machine, and how large checkpoints become."""
    folder = project_folder(here, sources(here, facts))
    lines = world.begin("processes", programs.command_lines)
    size = world.begin(("size", folder), partial(world.largest_below, folder)) if folder else None
    return replace(
        facts,
        processes=world.answer(lines, _left(deadline)),
        checkpoint_bytes=world.answer(size, _left(deadline)) if size else None,
    )


# ---- what else is trained -----------------------------------------------------------------------------------------


def _rivals(here: Blueprint, facts: Facts, home: HomePaths, deadline: float) -> dict[tuple[str, str], str]:
    """What the unfinished runs train; nobody asks where the names of `here` cannot be those of another."""
    if experiment(sources(here, facts)) is None:
        return {}
    queued = world.begin(("queued", str(home.root)), partial(_experiments, home))
    return world.answer(queued, _left(deadline)) or {}


def _experiments(home: HomePaths) -> dict[tuple[str, str], str]:
    """What the unfinished runs of a home train, by the names in their yaml."""
    try:
        waiting = [state.run for state in read_all(home).states if state.state is not State.FINISHED]
    except OSError:
        return {}
    found: dict[tuple[str, str], str] = {}
    for name in waiting[:_MOST_RUNS]:
        try:
            path = _yaml_of(home, name)
        except (OSError, journal.Unreadable, InvalidTransition):
            continue
        text = world.read_text(path, _FILE_BYTES).text if path else None
        if text is not None and (names := _names_in(text)) is not None:
            found.setdefault(names, name)
    return found


@lru_cache(maxsize=_MOST_RUNS)  # a burst of drops asks about the same runs again and again; a blueprint never changes
def _yaml_of(home: HomePaths, name: str) -> str | None:
    paths = home.run(name)
    run = fold(name, journal.join(segments(paths)))
    if run is None:
        raise FileNotFoundError(f"{name} has no record")  # it is not remembered, for it may come
    return placed_run(run, paths).yaml_path


@lru_cache(maxsize=_MOST_RUNS)
def _names_in(yaml: str) -> tuple[str, str] | None:
    config = read_config(yaml)
    return (config.project_name, config.experiment_name) if config.project_name and config.experiment_name else None
