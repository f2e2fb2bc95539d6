"""What a supervisor is told: the file `spec`. The meaning of each field is in `core.attempt.AttemptSpec`."""

from __future__ import annotations

from ajet_inbox.supervisor import files
from ajet_inbox.supervisor.tree import stop_signals


class Spec:
    """The values of the spec.

    Raises:
        OSError: it cannot be read.
        ValueError, KeyError: it holds something else.
    """

    def __init__(self) -> None:
        told = files.fields(files.SPEC)

        def text(field: bytes) -> str:
            return told[field][0].decode()

        self.attempt_id = text(b"attempt_id")
        self.env = dict(each.partition(b"=")[::2] for each in told.get(b"env", []))
        self.lock = text(b"lock")
        self.gpu_locks = [path.decode() for path in told.get(b"gpu_locks", [])]
        self.limit_s = float(text(b"limit_s")) if b"limit_s" in told else None
        self.grace_s = float(text(b"grace_s"))
        self.stop_signals = stop_signals(text(b"stop_signal"))
        self.cleanup_s = float(text(b"cleanup_s"))
        self.beat_s = float(text(b"beat_s"))
        self.leftover_look_s = float(text(b"leftover_look_s"))
        self.leftover_idle_s = float(text(b"leftover_idle_s"))
