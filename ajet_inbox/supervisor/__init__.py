"""The supervisor of one attempt: small, neutral by name, needing nobody (contract sections 3, 4 and 7).

It is started for every attempt, between a free slot and the first instruction of the command, where GPUs wait for it.
So it uses the standard library alone, and until the command is let go almost nothing of that: `enum` and `re`, and with
them `signal`, `contextlib` and `json`, would more than double the 10 ms it takes. What needs more is imported after
that, though long before it is used: by then an upgrade may have removed it.

Nothing here imports the rest of ajet_inbox; `edge.processes` shares `proc`, `tree` and `sweep`.
"""

from __future__ import annotations

TYPE_CHECKING = False  # what type checkers take for true, without the cost of importing `typing`
if TYPE_CHECKING:
    import signal
else:
    import _signal as signal  # the same functions and numbers, without their enums

__all__ = ["signal"]
