"""One attempt, as the watcher and its supervisor tell each other about it in `attempts/N/` (contract section 3).

The supervisor may not import this package's dependencies, so these records are the meaning of the JSON that both
sides write and read; tests/test_supervisor_files.py holds the two together. Times are ISO 8601 with offset.
"""

from __future__ import annotations

import re
from datetime import datetime
from enum import StrEnum

from msgspec import Struct

SPEC = "spec"  # AttemptSpec as `spec_bytes` has it, written before the supervisor is started
STARTED = "started.json"  # Started, created exclusively: whoever fails to create it must not run the command
HEARTBEAT = "heartbeat"  # a number that grows; judge it by "unchanged for L seconds" on one's own clock
STOP = "stop.json"  # Stop, written before the supervisor is signalled
STATUS = "status"  # "CODE STAGE", written by launch.sh itself: evidence that survives the supervisor
EXIT = "exit.json"  # Exit, the last file of an attempt
CONSOLE = "console.log"

TAG = "AJET_INBOX_ATTEMPT_ID"  # the variable in /proc/PID/environ that marks every process of an attempt

_SESSION_LENGTH = 80


class StopSignal(StrEnum):
    """What a tree of processes is sent first when it is to end."""

    TERM = "SIGTERM"  # the usual
    INT = "SIGINT"  # for programs that save their work at Ctrl-C only


class Cause(StrEnum):
    """Why the supervisor ended an attempt that had not ended by itself."""

    MAX_TIME = "max_time"  # its limit passed
    STOPPED = "stopped"  # asked for; `stop_reason` says why, or is None for a bare signal, as at a shutdown
    NOT_STARTED = "not_started"  # the command never began; `error` says why


class Stage(StrEnum):
    """Which of an attempt's scripts the exit code belongs to."""

    PREPARE = "prepare"  # the prepare command failed, so the command was not run
    COMMAND = "command"  # the command itself


class Fate(StrEnum):
    """What became of a process of the attempt."""

    ENDED = "ended"  # it ended by itself
    TERMINATED = "terminated"  # it followed the stop signal
    KILLED = "killed"  # it had to be killed
    ALIVE = "alive"  # not even that worked: it hangs in the kernel


class AttemptSpec(Struct, frozen=True, kw_only=True):
    """What a supervisor must know. Durations are seconds.

    `attempt_id` is unique over all hosts and time; a service beside the command has an id and a folder of its own.
    `env` is the whole environment of launch.sh: nothing else is passed on but the tag.
    `lock` is held by whoever supervises the attempt, `gpu_locks` for as long as it lives; all are files in folders
    local to the host, where flock can be trusted.
    `limit_s` counts from the start of the command; None: no limit.
    """

    attempt_id: str
    env: dict[str, str]
    lock: str
    gpu_locks: tuple[str, ...] = ()
    limit_s: float | None = None
    grace_s: float = 60.0
    stop_signal: StopSignal = StopSignal.TERM
    cleanup_s: float = 60.0
    beat_s: float = 3.0
    leftover_look_s: float = 5.0
    leftover_idle_s: float = 300.0


def spec_bytes(spec: AttemptSpec) -> bytes:
    """The spec as its supervisor reads it: NAME=VALUE, each ended by a zero byte, as in /proc/PID/environ.

    A list gives one entry a member. Not JSON, for whose reader GPUs would wait 7 ms at every start.
    """
    values = {name: getattr(spec, name) for name in spec.__struct_fields__}
    lists = {"env": [f"{name}={value}" for name, value in spec.env.items()], "gpu_locks": spec.gpu_locks}
    pairs = [(name, member) for name, value in values.items() for member in lists.get(name, [value])]
    # No environment can hold a zero byte: there, too, a value ends at the first.
    rows = [f"{name}={value}".partition("\0")[0] + "\0" for name, value in pairs if value is not None]
    return "".join(rows).encode(errors="surrogateescape")


class Started(Struct, frozen=True, kw_only=True):
    """Proof that the command may have run, and how to find it: pids mean something only on this boot of this host.

    `start_time` is in clock ticks since boot (field 22 of /proc/PID/stat), `monotonic` in seconds of this boot.
    """

    attempt_id: str
    host: str
    boot_id: str
    pid: int
    start_time: int
    keeper_pid: int
    keeper_start_time: int
    started_at: datetime
    monotonic: float


class Stop(Struct, frozen=True, kw_only=True):
    """A request to end an attempt."""

    reason: str


class Leftover(Struct, frozen=True, kw_only=True):
    """A process of an attempt, and what became of it."""

    pid: int
    name: str
    fate: Fate


class Exit(Struct, frozen=True, kw_only=True):
    """How an attempt ended.

    `exit_code` is what bash reports of the command, so 128+N usually but not certainly means signal N; `signal` is set
    only where launch.sh itself was ended by one, which is certain. Both are None where nobody can know any more: the
    supervisor died, and launch.sh after it. `adopted`: another supervisor saw the end than the one that began it.
    `leftovers` are the processes besides launch.sh that outlived the command, or had to be ended with it.
    """

    attempt_id: str
    exit_code: int | None = None
    signal: int | None = None
    stage: Stage | None = None
    cause: Cause | None = None
    stop_reason: str | None = None
    error: str | None = None
    started_at: datetime | None = None
    command_ended_at: datetime | None = None
    ended_at: datetime
    cleanup_exit_code: int | None = None
    leftovers: tuple[Leftover, ...] = ()
    unkillable: tuple[Leftover, ...] = ()
    adopted: bool = False


def session_name(label: str, attempt_id: str, number: int) -> str:
    """The tmux session of an attempt (contract section 8): at most 80 characters, none that tmux changes or refuses."""
    tail = f"_{attempt_id[:6]}_a{number}"
    slug = re.sub(r"[^\w-]+", "_", label).strip("_") or "run"
    return f"ajet_{slug[: _SESSION_LENGTH - len('ajet_') - len(tail)]}{tail}"
