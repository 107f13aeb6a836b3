"""The states of a slot, and which may follow which. Names and arrows are hal0's (slot lifecycle)."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum


class SlotState(StrEnum):
    """Where a model is on its way into memory and out of it."""

    OFFLINE = "offline"  # not in memory
    PULLING = "pulling"  # its files are fetched
    STARTING = "starting"  # its engine is made
    WARMING = "warming"  # its engine loads
    READY = "ready"  # it answers, and has nothing to do
    SERVING = "serving"  # it works
    IDLE = "idle"  # it answers, and has had nothing to do for a while
    UNLOADING = "unloading"  # its memory is given back
    ERROR = "error"  # it could not load, or its engine died


FOLLOWERS: Mapping[SlotState, frozenset[SlotState]] = {
    SlotState.OFFLINE: frozenset({SlotState.PULLING, SlotState.STARTING}),
    SlotState.PULLING: frozenset({SlotState.STARTING, SlotState.ERROR, SlotState.OFFLINE}),
    SlotState.STARTING: frozenset({SlotState.WARMING, SlotState.ERROR, SlotState.OFFLINE}),
    SlotState.WARMING: frozenset({SlotState.READY, SlotState.IDLE, SlotState.ERROR, SlotState.OFFLINE}),
    SlotState.READY: frozenset({SlotState.SERVING, SlotState.IDLE, SlotState.UNLOADING, SlotState.ERROR}),
    SlotState.SERVING: frozenset({SlotState.READY, SlotState.IDLE, SlotState.ERROR}),
    SlotState.IDLE: frozenset({SlotState.SERVING, SlotState.UNLOADING, SlotState.READY}),
    SlotState.UNLOADING: frozenset({SlotState.OFFLINE, SlotState.ERROR}),
    SlotState.ERROR: frozenset({SlotState.OFFLINE, SlotState.PULLING, SlotState.STARTING}),
}
DISPATCHABLE = frozenset({SlotState.READY, SlotState.SERVING, SlotState.IDLE})
LOADING = frozenset({SlotState.PULLING, SlotState.STARTING, SlotState.WARMING})


def path_between(state: SlotState, target: SlotState) -> tuple[SlotState, ...]:
    """The states to go through to reach `target`, itself last, with at most one between. Empty: there is no way."""
    if target in FOLLOWERS[state]:
        return (target,)
    others = FOLLOWERS[state] - {SlotState.PULLING}  # that one is for files that are not here
    between = [each for each in SlotState if each in others and target in FOLLOWERS[each]]
    return (between[0], target) if between else ()
