"""The life cycle's table, held to what it promises."""

from __future__ import annotations

import pytest

from ajet_inbox.core.lifecycle import OCCUPYING, TRANSITIONS, InvalidTransition, State, Step, advance, diagram


def reachable(start: State) -> set[State]:
    """Every state that a run can get to from `start`."""
    found = {start}
    while more := {target for (source, _), target in TRANSITIONS.items() if source in found} - found:
        found |= more
    return found


@pytest.mark.parametrize("state", list(State))
def test_every_run_can_still_finish(state: State) -> None:
    assert State.FINISHED in reachable(state)


def test_every_state_can_be_reached() -> None:
    assert reachable(State.SUBMITTED) == set(State)


def test_finished_is_final() -> None:
    assert not [step for (source, step) in TRANSITIONS if source is State.FINISHED]


def test_every_step_is_used() -> None:
    assert {step for (_, step) in TRANSITIONS} == set(Step)


def test_a_slot_is_kept_from_allocation_to_the_end() -> None:
    """A run leaves its slot only for the queue, by yielding, or for good."""
    leaving = {(source, target) for (source, _), target in TRANSITIONS.items() if source in OCCUPYING}
    assert {target for _, target in leaving} - OCCUPYING == {State.QUEUED, State.FINISHED}
    assert [step for (_, step), to in TRANSITIONS.items() if to is State.QUEUED] == [
        Step.ACCEPT,
        Step.RELEASE,
        Step.YIELD,
    ]


def test_a_step_outside_the_table_tells_the_story() -> None:
    with pytest.raises(InvalidTransition, match=r"launch is not a step from queued \(allowed: .*hold.*\): run r1"):
        advance(State.QUEUED, Step.LAUNCH, "run r1")


def test_the_diagram_has_every_transition() -> None:
    lines = diagram().splitlines()
    for (source, step), target in TRANSITIONS.items():
        assert any(line.strip().startswith(f"{source} --> {target}:") and step in line for line in lines)
