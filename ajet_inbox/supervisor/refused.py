"""An attempt whose command is never begun."""

from __future__ import annotations

from ajet_inbox.supervisor import files, records
from ajet_inbox.supervisor.command import Stopped

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ajet_inbox.supervisor.spec import Spec

NOT_STARTED = "not_started"


def refuse(spec: Spec, why: Exception) -> None:
    """Writes exit.json for an attempt that `why` keeps from being begun.

    Raises:
        OSError: it cannot be written.
    """
    stopped = isinstance(why, Stopped)
    record = {
        "attempt_id": spec.attempt_id,
        "cause": records.STOPPED if stopped else NOT_STARTED,
        "stop_reason": records.stop_reason() if stopped else None,
        "error": None if stopped else str(why),
        "ended_at": files.now(),
    }
    records.write(files.EXIT, record)
