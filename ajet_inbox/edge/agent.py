"""One round of a coding agent: the script that runs it in a terminal, and what came of it.

Any command line is an agent that reads its task on standard input and works in the folder it is started in. It runs as
this user and may do what this user may do; `touched` only tells afterwards of changes where none should be.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from pathlib import Path

from msgspec import Struct

from ajet_inbox.edge.files import Unreadable, list_names, tail_from, write_quick

_COMMAND, _PROMPT, _OUTPUT, _STATUS = "command.sh", "prompt.md", "output.log", "status"
_TIMED_OUT = 124  # what timeout says; one that it has to kill ends with 137, as others do that are killed
_KILL_AFTER_S = 10
_TAIL_BYTES = 2000
_TAIL_LINES = 5


class Errand(Struct, frozen=True, kw_only=True):
    """What an agent is started for. `records` is ours: the prompt, what it printed, how it ended.

    `tag` is a variable by which everything that it starts is found again; `limit_s` seconds are what it may take.
    """

    command: str
    folder: Path
    records: Path
    env: Mapping[str, str]
    tag: tuple[str, str]
    limit_s: float


class Ended(Struct, frozen=True, kw_only=True):
    """How a round ended; `output` are the last lines that it printed."""

    exit_code: int
    timed_out: bool
    output: str


def prepare(errand: Errand, prompt: str, script: Path) -> None:
    """Write what a round needs, and last its `script`, to be run by bash. What the round before left there is removed.

    Raises:
        OSError: it could not be written.
    """
    errand.records.mkdir(parents=True, exist_ok=True)
    (errand.records / _STATUS).unlink(missing_ok=True)
    write_quick(errand.records / _PROMPT, prompt)
    write_quick(errand.records / _COMMAND, f"cd -- {shlex.quote(str(errand.folder))} || exit\n{errand.command}\n")
    write_quick(errand.records / _OUTPUT, "")
    write_quick(script, _script(errand), mode=0o600)  # the environment is in it, keys and tokens included


def _script(errand: Errand) -> str:
    """The time limit is kept here as well, for whoever started us may die.

    The command is a file, so that no quoting can change it; its output is redirected, so that what it leaves behind
    cannot hold the terminal open.
    """
    files = {name: shlex.quote(str(errand.records / name)) for name in (_COMMAND, _PROMPT, _OUTPUT, _STATUS)}
    exports = "".join(
        f"export {k}={shlex.quote(v)}\n" for k, v in (*errand.env.items(), errand.tag) if k.isidentifier()
    )
    return (
        f"{exports}timeout --kill-after={_KILL_AFTER_S} {errand.limit_s:g} bash {files[_COMMAND]}"
        f" <{files[_PROMPT]} >{files[_OUTPUT]} 2>&1 &\n"
        f"tail -n +1 -s 0.2 -F --pid=$! {files[_OUTPUT]}\n"
        f"wait $!; echo $? >{files[_STATUS]}.new; mv {files[_STATUS]}.new {files[_STATUS]}\n"
    )


def ended(errand: Errand) -> Ended | None:
    """How the round ended; None while it has not."""
    if _STATUS not in list_names(errand.records):
        return None
    code = int((errand.records / _STATUS).read_text())
    return Ended(exit_code=code, timed_out=code == _TIMED_OUT, output=last_words(errand))


def last_words(errand: Errand) -> str:
    """The last lines that the agent printed so far, as one."""
    path = errand.records / _OUTPUT
    size = path.stat().st_size if _OUTPUT in list_names(errand.records) else 0
    tail = tail_from(path, max(0, size - _TAIL_BYTES), _TAIL_BYTES)
    text = "" if isinstance(tail, Unreadable) else tail.data.decode(errors="replace")
    return " / ".join(" ".join(line.split()) for line in text.strip().splitlines()[-_TAIL_LINES:])


def touched(before: Mapping[str, object], after: Mapping[str, object]) -> tuple[str, ...]:
    """The names of what has appeared, gone or changed between two looks."""
    return tuple(sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name)))
