"""The life of a run as one table: the table is the specification, everything else asks it.

State is where a run stands, outcome how it ended, reason why; the three are never mixed (CONTRACT section 4).
"""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a run stands."""

    SUBMITTED = "submitted"  # claimed from the inbox; not judged yet, or a task that is being drafted
    QUEUED = "queued"  # accepted, waiting for a slot; belongs to nobody
    HELD = "held"  # taken out of the queue by a person until released
    PREPARING = "preparing"  # has a slot; its folder is being made ready
    STARTING = "starting"  # an attempt is announced, not yet seen to live
    RUNNING = "running"  # the command, or what it left at work, is alive
    STOPPING = "stopping"  # being ended, and told why
    EXITED = "exited"  # its processes are gone; no verdict yet
    REPAIRING = "repairing"  # a remedy or a coding agent is at work
    BACKOFF = "backoff"  # waits a little before the next attempt; keeps its slot
    UNREACHABLE = "unreachable"  # its host is silent: nothing is known, nothing is done
    FINISHED = "finished"  # final


class Step(StrEnum):
    """What moves a run from one state to the next."""

    ACCEPT = "accept"
    REJECT = "reject"
    ALLOCATE = "allocate"
    HOLD = "hold"
    RELEASE = "release"
    READY = "ready"
    FAIL = "fail"
    YIELD = "yield"
    LAUNCH = "launch"
    EXIT = "exit"
    STOP = "stop"
    SILENCE = "silence"
    RETURN = "return"
    LOSE = "lose"
    CONCLUDE = "conclude"
    REPAIR = "repair"
    REPAIRED = "repaired"
    GIVE_UP = "give_up"
    RETRY = "retry"
    DUE = "due"
    EXPIRE = "expire"
    CANCEL = "cancel"


class Outcome(StrEnum):
    """How a run ended (CONTRACT section 4)."""

    SUCCEEDED = "succeeded"  # it ended by itself, complete
    PLATEAUED = "plateaued"  # stopped late, its metrics no longer moved
    TIMED_OUT = "timed_out"  # stopped at its time limit, the normal end of a long training
    FAILED = "failed"  # could not be made to work
    REJECTED = "rejected"  # never started
    CANCELLED = "cancelled"  # asked for, with who and why
    LOST = "lost"  # how it ended cannot be known any more


TRANSITIONS: dict[tuple[State, Step], State] = {
    (State.SUBMITTED, Step.ACCEPT): State.QUEUED,
    (State.SUBMITTED, Step.REJECT): State.FINISHED,
    (State.SUBMITTED, Step.CONCLUDE): State.FINISHED,
    (State.SUBMITTED, Step.CANCEL): State.FINISHED,
    (State.QUEUED, Step.ALLOCATE): State.PREPARING,
    (State.QUEUED, Step.HOLD): State.HELD,
    (State.QUEUED, Step.REJECT): State.FINISHED,
    (State.QUEUED, Step.CANCEL): State.FINISHED,
    (State.HELD, Step.RELEASE): State.QUEUED,
    (State.HELD, Step.CANCEL): State.FINISHED,
    (State.PREPARING, Step.READY): State.STARTING,
    (State.PREPARING, Step.FAIL): State.EXITED,
    (State.PREPARING, Step.YIELD): State.QUEUED,
    (State.PREPARING, Step.STOP): State.STOPPING,
    (State.STARTING, Step.LAUNCH): State.RUNNING,
    (State.STARTING, Step.EXIT): State.EXITED,
    (State.STARTING, Step.STOP): State.STOPPING,
    (State.STARTING, Step.LOSE): State.FINISHED,
    (State.RUNNING, Step.EXIT): State.EXITED,
    (State.RUNNING, Step.STOP): State.STOPPING,
    (State.RUNNING, Step.SILENCE): State.UNREACHABLE,
    (State.RUNNING, Step.LOSE): State.FINISHED,
    (State.UNREACHABLE, Step.RETURN): State.RUNNING,
    (State.UNREACHABLE, Step.EXIT): State.EXITED,
    (State.UNREACHABLE, Step.LOSE): State.FINISHED,
    (State.STOPPING, Step.EXIT): State.EXITED,
    (State.STOPPING, Step.LOSE): State.FINISHED,
    (State.EXITED, Step.CONCLUDE): State.FINISHED,
    (State.EXITED, Step.REPAIR): State.REPAIRING,
    (State.EXITED, Step.RETRY): State.BACKOFF,
    (State.REPAIRING, Step.REPAIRED): State.BACKOFF,
    (State.REPAIRING, Step.GIVE_UP): State.FINISHED,
    (State.REPAIRING, Step.CANCEL): State.FINISHED,
    (State.BACKOFF, Step.DUE): State.PREPARING,
    (State.BACKOFF, Step.CANCEL): State.FINISHED,
    (State.BACKOFF, Step.EXPIRE): State.FINISHED,
}

# The states in which a run has a slot to itself, and therefore a watcher that holds its claim.
OCCUPYING = frozenset(
    {State.PREPARING, State.STARTING, State.RUNNING, State.STOPPING, State.EXITED, State.REPAIRING, State.BACKOFF}
    | {State.UNREACHABLE}
)


class InvalidTransition(Exception):
    """A run was asked to take a step that its state does not allow."""

    def __init__(self, state: State, step: Step, story: str = "") -> None:
        allowed = ", ".join(s for (at, s) in TRANSITIONS if at is state) or "none"
        super().__init__(f"{step} is not a step from {state} (allowed: {allowed}){': ' + story if story else ''}")


def advance(state: State, step: Step, story: str = "") -> State:
    """The state after `step`.

    Raises:
        InvalidTransition: the table has no such step; `story` is told with it.
    """
    try:
        return TRANSITIONS[state, step]
    except KeyError:
        raise InvalidTransition(state, step, story) from None


def diagram() -> str:
    """The table as a Mermaid state diagram; ARCHITECTURE.md holds a copy, and a test compares them."""
    rows = ["stateDiagram-v2", "    [*] --> submitted"]
    joined: dict[tuple[State, State], list[str]] = {}
    for (source, step), target in TRANSITIONS.items():
        joined.setdefault((source, target), []).append(step)
    rows += [f"    {source} --> {target}: {', '.join(steps)}" for (source, target), steps in joined.items()]
    return "\n".join([*rows, "    finished --> [*]"])
