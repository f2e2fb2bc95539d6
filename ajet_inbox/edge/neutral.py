"""Processes whose command lines and names tell nothing (contract section 7).

An experiment may end whatever has "python", "ray" or "vllm" anywhere in its command line or name, and the home, the
package and the interpreter may lie in folders called so. So our processes are executed by short names from a folder
with a short name; what is long or personal travels in the environment, where nobody looks.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import stat
import sys
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from ajet_inbox.edge import files

KEEPER = "keeper"

_ROOT = Path("/tmp")  # noqa: S108  (not $TMPDIR, which may be long and called anything; `prepare` refuses traps)
_STARTS = "a"
_CONSOLE = "console.log"
_LUGGAGE = "AJET_NEUTRAL"


class UnsafeFolderError(Exception):
    """The runtime folder is a link, another user's, or open to others, so nothing in it can be trusted."""


class Program(Struct, frozen=True, kw_only=True):
    """Code of ours to execute: `argv` tells nothing, `env` is to be added to the environment."""

    executable: str
    argv: tuple[str, ...]
    env: dict[str, str]


# ---- the runtime folder -------------------------------------------------------------------------------------------


def runtime_dir(home: Path) -> Path:
    """Where this user keeps sockets and start scripts for `home` on this host: short, and called nothing."""
    key = os.fsencode(home.resolve()) + b"\0%d" % os.getuid()
    return _ROOT / f"aj-{hashlib.sha256(key).hexdigest()[:8]}"


def prepare(runtime: Path) -> None:
    """Makes the runtime folder, with the interpreter under its neutral name, or mends what a cleaner of /tmp left.

    Raises:
        UnsafeFolderError: somebody else could change what we execute; the message says which folder to remove.
        OSError: it cannot be made.
    """
    runtime.mkdir(mode=0o700, exist_ok=True)
    found = runtime.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise UnsafeFolderError(f"{runtime} is not a private folder of user {os.getuid()}: remove it")
    (runtime / _STARTS).mkdir(exist_ok=True)
    _link_interpreter(runtime / KEEPER)


def _link_interpreter(link: Path) -> None:
    interpreter = Path("/proc/self/exe").resolve()  # sys.executable is empty where argv[0] is no path
    if link.resolve() != interpreter:
        fresh = link.with_name(f"{KEEPER}.{os.getpid()}")
        fresh.symlink_to(interpreter)
        fresh.replace(link)


# ---- programs -----------------------------------------------------------------------------------------------------


def program(runtime: Path, name: str, *code: str) -> Program:
    """How to execute `code`, `-m` or `-c` and what belongs to it, as a process called `name`, after `prepare`.

    Without `site` (-S) and the working folder (-P), so that the path is exactly this process's.
    """
    return Program(
        executable=str(runtime / KEEPER),
        argv=(name, "-SP", *code),
        env={
            "PYTHONHOME": f"{sys.base_prefix}:{sys.base_exec_prefix}",
            "PYTHONPATH": os.pathsep.join(folder for folder in sys.path if folder),
        },
    )


def reexec(runtime: Path, name: str, module: str, args: list[str]) -> None:
    """Becomes `module` as a process called `name`, which gets `args` from `arrive`; returns where it is that already.

    Raises:
        UnsafeFolderError, OSError: as `prepare`.
    """
    if sys.orig_argv[0] == name:
        return
    prepare(runtime)
    new = program(runtime, name, "-m", module)
    luggage = {"pid": os.getpid(), "args": args, "env": {key: os.environ.get(key) for key in new.env}}
    os.execve(new.executable, new.argv, {**os.environ, **new.env, _LUGGAGE: json.dumps(luggage)})  # noqa: S606


def arrive() -> list[str] | None:
    """The arguments that `reexec` passed to this process, or None. To be called before anything is started.

    Puts the environment back as it was, so that nothing of ours reaches what this process starts.
    """
    luggage = json.loads(os.environ.pop(_LUGGAGE, "null"))
    if luggage is None or luggage["pid"] != os.getpid():
        return None
    for key, value in luggage["env"].items():
        os.environ.pop(key)
        if value is not None:
            os.environ[key] = value
    return list(luggage["args"])


# ---- supervisors --------------------------------------------------------------------------------------------------


def supervisor_script(runtime: Path, attempt_id: str, attempt_dir: Path) -> Path:
    """Writes the start script of an attempt's supervisor, to be run by bash in a terminal, and gives its path.

    The terminal shows the console, by a `tail` that ends after the supervisor; that one leaves the terminal, so that
    neither a Ctrl-C nor a hang-up there can reach it.

    Raises:
        UnsafeFolderError, OSError: as `prepare`.
    """
    prepare(runtime)
    script = runtime / _STARTS / attempt_id
    files.write_quick(script, _supervisor_lines(runtime, attempt_dir))
    return script


def supervisor(runtime: Path) -> Program:
    """How to execute a supervisor, in the folder of its attempt, after `prepare`."""
    # Not by -m, which takes 4 ms more, for which GPUs wait.
    keeper = program(runtime, "ajet-keeper", "-c", "from ajet_inbox.supervisor.keeper import main; main()")
    return replace(keeper, env={**keeper.env, "PYTHONPATH": str(Path(__file__).parents[2])})  # the library alone


def _supervisor_lines(runtime: Path, attempt_dir: Path) -> str:
    keeper = supervisor(runtime)
    assignments = " ".join(f"{name}={shlex.quote(value)}" for name, value in keeper.env.items())
    name, *arguments = keeper.argv
    return (
        "#!/bin/bash\n"
        # The pause: tmux can lose the last words of a pane that ends at once.
        f"cd -- {shlex.quote(str(attempt_dir))} || {{ sleep 1; exit 1; }}\n"
        f": >>{_CONSOLE}\n"
        f"{assignments} exec -a {name} {keeper.executable} {shlex.join(arguments)} &\n"
        # Not by exec: bash reaps the supervisor, and as a zombie it would be alive to `tail` for ever.
        f"tail -n 1000 -F --pid=$! {_CONSOLE}\n"
    )


def lock_path(runtime: Path, attempt_id: str) -> Path:
    """The lock of whoever supervises the attempt, on this host."""
    return runtime / _STARTS / f"{attempt_id}.lock"


def forget(runtime: Path, attempt_id: str) -> None:
    """Removes what the runtime folder holds of an attempt that is over."""
    (runtime / _STARTS / attempt_id).unlink(missing_ok=True)
    lock_path(runtime, attempt_id).unlink(missing_ok=True)
