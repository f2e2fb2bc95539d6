"""What a supervisor is told: `spec.json`. The meaning of each field is in `core.attempt.AttemptSpec`."""

from __future__ import annotations

from ajet_inbox.supervisor import files
from ajet_inbox.supervisor.tree import stop_signals


class Spec:
    """The values of spec.json.

    Raises:
        OSError: it cannot be read.
        ValueError, KeyError, TypeError: it holds something else.
    """

    def __init__(self) -> None:
        raw = files.read(files.SPEC)
        self.attempt_id: str = raw["attempt_id"]
        self.env: dict[str, str] = raw["env"]
        self.lock: str = raw["lock"]
        self.gpu_locks: list[str] = raw["gpu_locks"]
        self.limit_s: float | None = raw["limit_s"]
        self.grace_s: float = raw["grace_s"]
        self.stop_signals = stop_signals(raw["stop_signal"])
        self.cleanup_s: float = raw["cleanup_s"]
        self.beat_s: float = raw["beat_s"]
        self.leftover_look_s: float = raw["leftover_look_s"]
        self.leftover_idle_s: float = raw["leftover_idle_s"]
