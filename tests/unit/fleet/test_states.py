"""Which state may follow which."""

from __future__ import annotations

import pytest

from troth.fleet.states import DISPATCHABLE, FOLLOWERS, LOADING, SlotState, path_between


def test_every_state_has_its_followers() -> None:
    assert set(FOLLOWERS) == set(SlotState)


def test_no_state_is_a_trap() -> None:
    reached = {SlotState.OFFLINE}
    while more := {after for state in reached for after in FOLLOWERS[state]} - reached:
        reached |= more
    assert reached == set(SlotState)
    assert all(FOLLOWERS.values())


def test_a_model_that_loads_takes_no_requests() -> None:
    assert not DISPATCHABLE & LOADING


@pytest.mark.parametrize(
    ("state", "target", "path"),
    [
        (SlotState.READY, SlotState.SERVING, (SlotState.SERVING,)),
        (SlotState.IDLE, SlotState.ERROR, (SlotState.READY, SlotState.ERROR)),
        (SlotState.SERVING, SlotState.UNLOADING, (SlotState.READY, SlotState.UNLOADING)),
        (SlotState.OFFLINE, SlotState.ERROR, (SlotState.STARTING, SlotState.ERROR)),
        (SlotState.OFFLINE, SlotState.SERVING, ()),
    ],
)
def test_what_is_not_next_is_reached_over_one_between(
    state: SlotState, target: SlotState, path: tuple[SlotState, ...]
) -> None:
    assert path_between(state, target) == path
