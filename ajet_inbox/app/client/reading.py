"""What a blueprint says, read from where its author keeps it."""

from __future__ import annotations

from pathlib import Path

from ajet_inbox.app.examine import examine
from ajet_inbox.app.gathering import Place
from ajet_inbox.core.blueprint import Blueprint, Problem, Reading
from ajet_inbox.core.drops import BLUEPRINT_NAME
from ajet_inbox.core.paths import HomePaths
from ajet_inbox.core.settings import Settings
from ajet_inbox.edge import environment
from ajet_inbox.edge.files import Unreadable, read_regular
from ajet_inbox.edge.settings import load
from ajet_inbox.edge.world import current_user


def patient_place(home: HomePaths | None) -> Place:
    """For whoever waits for a thorough answer: with the settings of `home`, in the environment that its runs get.

    Takes as long as a login shell takes to start.

    Raises:
        SettingsError: the settings of the home cannot be used.
    """
    settings = load(home.config) if home else Settings()
    here = environment.gather(settings.env, home.root if home else Path.cwd())
    return Place(settings=settings, home=home, environment=here, dropped_by=(current_user(),), patient=True)


def read_from(path: Path, place: Place | None = None) -> Reading:
    """The blueprint in a file, or in a folder that holds `blueprint.md`, with what is wrong in text and world.

    The paths of a folder's own files are those in the folder; all others are as they are written.
    """
    place = place or Place(dropped_by=(current_user(),))
    is_folder = path.is_dir()
    file = (path / BLUEPRINT_NAME if is_folder else path).resolve()
    data = read_regular(file, place.settings.limits.blueprint_bytes)
    if isinstance(data, Unreadable):
        problem = Problem(code="unreadable", message=f"{data.message}.")
        return Reading(blueprint=Blueprint(), problems=(problem,))
    found = examine(data, path.resolve().stem, file.parent if is_folder else None, place)
    return Reading(blueprint=found.here if is_folder else found.read, problems=found.problems)
