"""The scripts of one attempt: launch.sh, which is what was run, and the blueprint's commands beside it."""

from __future__ import annotations

import functools
import shlex
from pathlib import Path, PurePosixPath

import jinja2
from msgspec import Struct

_TEMPLATES = Path(__file__).parents[1] / "templates"


class Launch(Struct, frozen=True, kw_only=True):
    """What one attempt runs. Paths are absolute; `interpreter` names the executable whose folder comes first in PATH.

    `env` is the blueprint's `[exp_env]` and whatever else is special to this run; it must not name what we export.
    """

    run: str
    number: int
    drop: str
    codebase: str
    interpreter: str
    command: str
    yaml_path: str | None = None
    result_dir: str
    prepare: str | None = None
    cleanup: str | None = None
    env: dict[str, str] = {}


def render_launch(launch: Launch) -> dict[str, str]:
    """The text of each script, by its name in the attempt's folder.

    Each command is a file of its own, exactly as written but for the `cd` before it: so its syntax errors, `exit` and
    `exec` are its own affair and its status is true, and no quoting can change it.
    """
    commands = {"prepare.sh": launch.prepare, "command.sh": launch.command, "cleanup.sh": launch.cleanup}
    texts = {name: _in_codebase(launch.codebase, command) for name, command in commands.items() if command}
    return {"launch.sh": _render(launch), **texts}


def _in_codebase(codebase: str, command: str) -> str:
    return f"cd -- {shlex.quote(codebase)} || exit\n{command}\n"


def _render(launch: Launch) -> str:
    return _template().render(
        run=launch.run,
        number=launch.number,
        exports=_exports(launch),
        bin=str(PurePosixPath(launch.interpreter).parent),
        prepare=launch.prepare,
    )


@functools.cache
def _template() -> jinja2.Template:
    """Compiled once: that takes milliseconds, which a free slot would wait for at every launch."""
    environment = jinja2.Environment(  # noqa: S701  (shell, not HTML: `quote` is applied to every value)
        loader=jinja2.FileSystemLoader(_TEMPLATES), undefined=jinja2.StrictUndefined, trim_blocks=True
    )
    environment.filters["quote"] = shlex.quote
    return environment.get_template("launch.sh.j2")


def _exports(launch: Launch) -> list[tuple[str, str]]:
    ours = {
        "AJET_INBOX_RUN": launch.run,
        "AJET_INBOX_ATTEMPT": str(launch.number),
        "AJET_INBOX_DROP": launch.drop,
        "EXP_YAML_PATH": launch.yaml_path,
        "EXP_RESULT_DIR": launch.result_dir,
    }
    # A redirected Python buffers: without this the console can stay empty for hours, and for ever after a KILL.
    given = {"PYTHONUNBUFFERED": "1", **launch.env}
    return [(name, value) for name, value in {**given, **ours}.items() if value is not None]
