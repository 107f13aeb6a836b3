"""What a slot is told, and what it tells."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from troth.engines.base import Engine
from troth.fleet.states import SlotState

Report = Callable[[float], None]  # 0.0 … 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotFacts:
    """What the operator said of one slot."""

    name: str
    model: str
    kind: str
    engine: str
    pinned: bool = False
    lazy: bool = False
    idle_seconds: float | None = None  # of quiet until it is unloaded; None: never
    memory_bytes: int | None = None  # None: told by its files


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotNews:
    """One change of state, as watchers are told."""

    name: str
    model: str
    state: SlotState
    message: str
    updated_at: float  # Unix seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Making:
    """How a slot gets its engine."""

    has_files: Callable[[], bool]
    pull: Callable[[Report], None]  # the files are on disk; blocks. Raises EngineFault in words
    make: Callable[[], Engine]
    look_at: Callable[[Engine], Awaitable[None]]  # what else has to be ready before it answers
    bury: Callable[[Engine], None]  # the engine is gone: its totals are wanted
    weigh: Callable[[], int]  # bytes that the model takes in memory
