"""What all drafts of one wish share: where they run, how, for how long, and their command."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath

from msgspec import Struct

from ajet_inbox.core.blueprint import DEFAULT_FIRST_STEP_S, DEFAULT_MAX_TIME_S, Mode
from ajet_inbox.core.drafting.asked import Asked, only
from ajet_inbox.core.drafting.config import Config
from ajet_inbox.core.drafting.draft import Place, Wish
from ajet_inbox.core.reading.resolve import join
from ajet_inbox.core.training.ajet import SKIP_GPU_CHECK, conf_path, strip_autokill

RESULTS = "auto_agent/exp_results"
CLIENT = "agent_roll.py"  # what a swarm client is called as a rule


class Frame(Struct, frozen=True, kw_only=True):
    """What all drafts of one wish share. `results` holds their result folders; durations in seconds."""

    asked: Asked
    wish: Wish
    place: Place
    codebase: str
    interpreter: str
    results: str
    mode: Mode
    gpus: int | None
    max_time_s: float
    first_step_s: float


def frame_of(asked: Asked, wish: Wish, place: Place) -> Frame:
    """What the task asks for goes first, then what the parent has, then what was found."""
    before = wish.parent.blueprint if wish.parent else None
    codebase = join(asked.codebase_dir or (before and before.codebase_dir) or place.codebase, place.folder)
    results = str(PurePosixPath(before.result_dir).parent) if before and before.result_dir else f"{codebase}/{RESULTS}"
    return Frame(
        asked=asked,
        wish=wish,
        place=place,
        codebase=codebase,
        interpreter=join(asked.venv_exe or (before and before.venv_exe) or place.interpreter, codebase),
        results=results,
        mode=before.mode if before else Mode.SWARM if asked.swarm else Mode.CLASSIC,
        gpus=only(asked.gpus),
        max_time_s=only(asked.max_times_s) or (before and before.max_time_s) or DEFAULT_MAX_TIME_S,
        first_step_s=only(asked.first_steps_s) or (before and before.first_step_timeout_s) or DEFAULT_FIRST_STEP_S,
    )


def base_config(frame: Frame) -> Config | None:
    """The base, not yet changed; None where the experiment has no yaml.

    Raises:
        DraftError: the base is no yaml with keys.
    """
    base = frame.wish.base
    if base is None and frame.mode is Mode.GENERIC:
        return None
    return Config(base.text, base.path) if base else Config("", "the new yaml")


def launch_command(frame: Frame, yaml_path: str) -> str:
    """What starts the experiment with this yaml."""
    if frame.wish.parent:
        return _next_command(frame.wish.parent.blueprint.launch_command or "", yaml_path)
    if frame.mode is Mode.CLASSIC:
        return f"python -m ajet.launcher --conf {shlex.quote(yaml_path)} --with-ray {SKIP_GPU_CHECK}"
    client = next(iter(frame.place.clients), CLIENT)
    return f"python {shlex.quote(client.removeprefix(f'{frame.codebase}/'))}"


def _next_command(command: str, yaml_path: str) -> str:
    """The command of the parent with this yaml, and without what would end other experiments."""
    conf = conf_path(command)
    if conf:
        quoted = next((q + conf + q for q in ('"', "'") if q + conf + q in command), conf)
        command = command.replace(quoted, shlex.quote(yaml_path), 1)
    return strip_autokill(command)[0]
