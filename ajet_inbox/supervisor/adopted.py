"""launch.sh, as started by a supervisor that has died since."""

from __future__ import annotations

from ajet_inbox.supervisor import files, proc, records
from ajet_inbox.supervisor.command import Gone, Taken


class AdoptedCommand:
    """launch.sh as begun by a supervisor that died: seen by its identity, its exit code known from its own file."""

    adopted = True

    def __init__(self) -> None:
        """Takes the attempt over.

        Raises:
            Gone: it was begun elsewhere.
            Taken: the supervisor that began it lives.
        """
        started = records.read(files.STARTED)
        if started["boot_id"] != proc.boot_id():
            raise Gone(f"it was begun at {started['started_at']} on {started['host']}, on another boot than this")
        if proc.alive(started["keeper_pid"], started["keeper_start_time"]):
            raise Taken
        self.identity: tuple[int, int] = (started["pid"], started["start_time"])
        self.started_at: str = started["started_at"]
        self.begun: float = started["monotonic"]
        self.pidfd = proc.open_pidfd(*self.identity)

    def ended(self) -> bool:
        """Whether launch.sh has ended."""
        return not proc.alive(*self.identity)

    def alone(self) -> bool:
        """Never certain: what lost its parent before the adoption was given to another reaper."""
        return False

    def result(self) -> tuple[int | None, int | None]:
        """The exit code that launch.sh left, if it came to that."""
        status = files.status()
        return (status[0] if status else None), None
