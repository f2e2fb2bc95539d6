"""Whether a drop may run: the first rule that objects rejects it (contract sections 2 and 4)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime

from msgspec.structs import replace

from ajet_inbox.core import journal
from ajet_inbox.core.blueprint import Kind, Level, Problem, errors
from ajet_inbox.core.drops import DropKind
from ajet_inbox.core.events import DropRead
from ajet_inbox.core.fleet import Fleet, without
from ajet_inbox.core.journal import AnyEntry, Drop, Finished, Reason, Submitted
from ajet_inbox.core.lifecycle import Outcome, State, Step
from ajet_inbox.core.run import Run

DUPLICATE = "duplicate"
RESULT_DIR_IN_USE = "result_dir_in_use"
# A run rejected for these writes nothing outside the outbox: its result folder is somebody else's.
NOT_DELIVERED = frozenset({DUPLICATE, RESULT_DIR_IN_USE, "refused_by_policy"})

_Rule = Callable[[Fleet, DropRead], Reason | None]


def admit(fleet: Fleet, drop: DropRead, now: datetime) -> tuple[AnyEntry, ...]:
    """The first entries of the drop's journal: accepted and handed back to the queue, or rejected with the reason.

    A task takes no place in the queue: whoever admits it keeps it, and drafts it next. What gives way to the drop is no
    objection to it.
    """
    old = replaced(fleet, drop.submitted.drop)
    if drop.submitted.drop.replaces is not None and old is None:
        drop = replace(drop, submitted=_replacing_nothing(drop.submitted))
    others = without(fleet, old.name) if old else fleet
    objection = next((reason for rule in _RULES if (reason := rule(others, drop)) is not None), None)
    if objection is None and drop.submitted.drop.kind is DropKind.TASK:
        return (drop.submitted,)
    if objection is None:
        return (drop.submitted, journal.Accepted(at=now), journal.Relinquished(at=now))
    finished = Finished(at=now, via=Step.REJECT, outcome=Outcome.REJECTED, reason=objection)
    return (drop.submitted, finished)


def replaced(fleet: Fleet, drop: Drop) -> Run | None:
    """The waiting run that gives way to `drop`, by its name, the name of its drop or its key."""
    wanted = drop.replaces
    waiting = (run for run in fleet.runs.values() if run.state in (State.QUEUED, State.HELD) and run.drop.id != drop.id)
    names = ((run, (run.name, run.drop.name, run.drop.key)) for run in waiting)
    free = (run for run, known in names if wanted in known and run.name not in fleet.taking | fleet.looking)
    return next(free, None) if wanted is not None else None


def _replacing_nothing(submitted: Submitted) -> Submitted:
    message = f"It was to replace {submitted.drop.replaces}, but no waiting run is called so."
    problem = Problem(code="replaces_nothing", level=Level.WARNING, message=message)
    return replace(submitted, problems=(*submitted.problems, problem))


def is_superseded(fleet: Fleet, run: Run) -> bool:
    """Whether the run's exp_result_dir belongs to a later run by now, which replaced it: its results are kept out."""
    return any(
        other.result_dir == run.result_dir and other.submitted_at > run.submitted_at
        for other in fleet.runs.values()
        if other.outcome is not Outcome.REJECTED and other.name != run.name
    )


def rejection(problems: Iterable[Problem]) -> Reason:
    """The reason that the first of `problems` gives; how many more there are is said with it."""
    first, *more = problems
    where = f" (line {first.line})" if first.line else ""
    others = f" And {len(more)} more." if more else ""
    return Reason(code=first.code, text=f"{first.message.rstrip('.')}{where}.{others}")


def _text_errors(fleet: Fleet, drop: DropRead) -> Reason | None:
    problems = errors(drop.submitted.problems, Kind.TEXT)
    return rejection(problems) if problems else None


def _services(fleet: Fleet, drop: DropRead) -> Reason | None:
    """Without the service that it names, such a run would wait for ever and hold its GPUs meanwhile."""
    if not drop.submitted.blueprint.services:
        return None
    return Reason(code="services_not_supported", text="Services beside the command are not started by this version.")


def _duplicate(fleet: Fleet, drop: DropRead) -> Reason | None:
    first = _same_key(fleet, drop.submitted.drop) or _same_bytes(fleet, drop.submitted.drop)
    return Reason(code=DUPLICATE, text=f"It was dropped before, as {first}.") if first else None


def _same_key(fleet: Fleet, drop: Drop) -> str | None:
    if drop.key is None:
        return None
    names = [name for name, ended in fleet.settled.items() if ended.key == drop.key]
    return next(iter(names), None) or next((name for name, other in _others(fleet) if other.key == drop.key), None)


def _same_bytes(fleet: Fleet, drop: Drop) -> str | None:
    if drop.sha256 is None:
        return None
    same = (drop.name, drop.sha256)
    return next((name for name, other in _others(fleet) if (other.name, other.sha256) == same), None)


def _others(fleet: Fleet) -> Iterable[tuple[str, Drop]]:
    """The drops of runs that are not finished, and of those that are just being admitted."""
    yield from ((run.name, run.drop) for run in fleet.runs.values() if run.state is not State.FINISHED)
    yield from ((submitted.drop.name, submitted.drop) for submitted in fleet.admitting.values())


def _after_itself(fleet: Fleet, drop: DropRead) -> Reason | None:
    """A circle of runs that wait for each other would wait for ever."""
    if drop.name in fleet.runs.keys() | fleet.settled.keys():
        return None  # the name means another run: this one will be called NAME-2
    seen, todo = set[str](), list(drop.submitted.drop.after)
    while todo:
        name = todo.pop()
        if name == drop.name:
            return Reason(code="after_itself", text="It is to run after a run that waits for it, or after itself.")
        if name in fleet.runs and name not in seen:
            seen.add(name)
            todo += fleet.runs[name].drop.after
    return None


def _result_dir_in_use(fleet: Fleet, drop: DropRead) -> Reason | None:
    wanted = drop.submitted.result_dir
    if wanted is None:
        return None
    owners = [
        run.name for run in fleet.runs.values() if run.result_dir == wanted and run.outcome is not Outcome.REJECTED
    ]
    owners += [other.drop.name for other in fleet.admitting.values() if other.result_dir == wanted]
    if not owners:
        return None
    return Reason(code=RESULT_DIR_IN_USE, text=f"Its exp_result_dir belongs to {owners[0]}, which is not finished.")


def _certain_world_errors(fleet: Fleet, drop: DropRead) -> Reason | None:
    """Waiting cannot cure it: what is missing is missing beside things that are there. Every host must agree."""
    return rejection(drop.certain) if drop.certain and not fleet.peers else None


_RULES: tuple[_Rule, ...] = (
    _text_errors,
    _services,
    _duplicate,
    _after_itself,
    _result_dir_in_use,
    _certain_world_errors,
)
