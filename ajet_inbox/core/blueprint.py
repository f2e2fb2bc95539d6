"""What a blueprint says, as plain values, and what is doubtful about it (CONTRACT sections 5 and 6)."""

from __future__ import annotations

from enum import StrEnum

from msgspec import Struct

DEFAULT_MAX_TIME_S = 24 * 3600.0
DEFAULT_FIRST_STEP_S = 20 * 60.0


class Mode(StrEnum):
    """What kind of experiment a command starts, and so what can be observed of it."""

    CLASSIC = "classic"  # `ajet.launcher`: steps on the console, val and train files
    SWARM = "swarm"  # a swarm server and a client beside it
    GENERIC = "generic"  # anything else: only its exit counts


class Level(StrEnum):
    """How much a problem matters."""

    ERROR = "error"  # the run does not start
    WARNING = "warning"  # the run starts; the trial log says it
    INFO = "info"  # worth knowing


class Kind(StrEnum):
    """Where a problem lies, which decides whether waiting can cure it (CONTRACT section 4)."""

    TEXT = "text"  # in the blueprint itself: stays wrong for ever
    WORLD = "world"  # in the machine: a mount may come back


class Problem(Struct, frozen=True, kw_only=True):
    """One thing that is wrong or doubtful. `line` counts from 1 in the dropped file."""

    code: str
    kind: Kind = Kind.TEXT
    level: Level = Level.ERROR
    section: str | None = None
    line: int | None = None
    message: str
    hint: str = ""


class Service(Struct, frozen=True, kw_only=True):
    """A program that has to run beside the command, such as a swarm server.

    `ready` says how it is known to be up (a URL, `port N`, `log PATTERN` or `file PATH`); None: it is not waited for.
    """

    name: str
    command: str
    ready: str | None = None


class Blueprint(Struct, frozen=True, kw_only=True):
    """The values of one blueprint. What could not be read is None; durations are seconds.

    Paths are absolute wherever the text allows it: relative ones have been joined to the codebase folder.
    `lines` maps a section's name, without brackets, to the line (from 1) that its value came from.
    """

    title: str | None = None
    purpose: str | None = None
    codebase_dir: str | None = None
    venv_exe: str | None = None
    yaml_path: str | None = None
    launch_command: str | None = None
    services: tuple[Service, ...] = ()
    result_dir: str | None = None
    max_time_s: float | None = None
    first_step_timeout_s: float | None = None
    mode: Mode = Mode.GENERIC
    notes: str | None = None
    prepare_command: str | None = None
    cleanup_command: str | None = None
    env: dict[str, str] = {}
    priority: int | None = None
    after: tuple[str, ...] = ()
    gpus: int | None = None
    host: str | None = None
    plateau: str | None = None
    retry: str | None = None
    parent: str | None = None
    snapshot: bool | None = None
    lines: dict[str, int] = {}


class Reading(Struct, frozen=True, kw_only=True):
    """A blueprint as read: its values as far as they could be told, and every doubt on the way."""

    blueprint: Blueprint
    problems: tuple[Problem, ...] = ()


def errors(problems: tuple[Problem, ...], kind: Kind | None = None) -> tuple[Problem, ...]:
    """Those of `problems` that keep a run from starting, of one kind where it is given."""
    return tuple(p for p in problems if p.level is Level.ERROR and kind in (None, p.kind))
