"""What a draft is made from, and what it says."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.core.blueprint import Blueprint, Level, Mode, Reading
from ajet_inbox.core.drafting.parent import Parent
from ajet_inbox.core.drafting.settings import Axis, Setting
from ajet_inbox.core.drops import BLUEPRINT_NAME
from ajet_inbox.core.settings import Language

YAML_END = ".yaml"


class Place(Struct, frozen=True, kw_only=True):
    """What was found where a draft is made. Paths are absolute.

    `codebase` is the root of the repository that `folder` lies in, else `folder`. `interpreter` is what there is, or
    where one would be looked for. `yamls` could be a base, `clients` are scripts that look like a swarm client.
    """

    folder: str
    codebase: str
    interpreter: str
    has_interpreter: bool = False
    commit: str | None = None
    yamls: tuple[str, ...] = ()
    clients: tuple[str, ...] = ()
    gpus: int | None = None


class Base(Struct, frozen=True, kw_only=True):
    """The yaml that the draft's own is made from."""

    path: str
    text: str


class Wish(Struct, frozen=True, kw_only=True):
    """What the caller asks for beside the task.

    `folder` will hold blueprint.md, or in a sweep a folder for each draft. `axes` make a sweep: a grid, or `zipped`.
    """

    name: str
    folder: str
    language: Language = Language.EN
    base: Base | None = None
    settings: tuple[Setting, ...] = ()
    axes: tuple[Axis, ...] = ()
    zipped: bool = False
    parent: Parent | None = None


class Draft(Struct, frozen=True, kw_only=True):
    """One blueprint to be written into `folder`, with its yaml beside it.

    Every text is one line, but for `task`, `config` and the commands.
    `settings` are those that the caller asked for, by their whole keys; `config` is the text of the yaml at
    `yaml_path`, None where there is no yaml. Durations in seconds.
    """

    name: str
    folder: str
    purpose: str
    differences: tuple[str, ...] = ()
    origin: str
    codebase_dir: str
    venv_exe: str
    yaml_path: str | None
    config: str | None
    launch_command: str
    result_dir: str
    max_time_s: float
    first_step_timeout_s: float
    mode: Mode
    gpus: int | None = None
    env: dict[str, str] = {}
    prepare_command: str | None = None
    cleanup_command: str | None = None
    parent: str | None = None
    settings: tuple[Setting, ...] = ()
    task: str = ""
    notes: tuple[str, ...] = ()
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    todo: tuple[str, ...] = ()

    @property
    def blueprint_path(self) -> str:
        """Where the blueprint is to be written."""
        return f"{self.folder}/{BLUEPRINT_NAME}"


def as_blueprint(draft: Draft) -> Blueprint:
    """What a reader must take from the draft as written; its title, notes and lines are left to the page."""
    return Blueprint(
        purpose="\n".join((draft.purpose, *draft.differences)),
        codebase_dir=draft.codebase_dir,
        venv_exe=draft.venv_exe,
        yaml_path=draft.yaml_path,
        launch_command=draft.launch_command,
        result_dir=draft.result_dir,
        max_time_s=draft.max_time_s,
        first_step_timeout_s=draft.first_step_timeout_s,
        mode=draft.mode,
        gpus=draft.gpus,
        env=draft.env,
        prepare_command=draft.prepare_command,
        cleanup_command=draft.cleanup_command,
        parent=draft.parent,
    )


def misread(draft: Draft, reading: Reading) -> Iterator[str]:
    """Sentences on what a reader takes otherwise than it is meant: none, or the draft must not be given to anybody."""
    yield from (problem.message for problem in reading.problems if problem.level is not Level.INFO)
    meant, read = as_blueprint(draft), replace(reading.blueprint, title=None, notes=None, lines={})
    for field in meant.__struct_fields__:
        written, found = getattr(meant, field), getattr(read, field)
        if written != found:
            yield f"Its {field} {written!r} would be read as {found!r}."
