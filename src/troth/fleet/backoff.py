"""When an engine that died may be started again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

DOUBLINGS_MAX = 30  # more make years, and in the end no number at all


@dataclass(frozen=True, slots=True, kw_only=True)
class BackOffLimits:
    """How patient the breaker is."""

    first_seconds: float = 1.0  # after the first crash; doubled by each that follows
    seconds_max: float = 60.0
    crashes_max: int = 5  # in a row: then nobody but the operator starts it again
    healthy_seconds: float = 300.0  # a life of this length makes the next crash a first one


class BackOff:
    """A crash-loop breaker: crashes in a row wait longer and longer, and at last for the operator."""

    def __init__(self, limits: BackOffLimits, clock: Callable[[], float]) -> None:
        self._limits = limits
        self._clock = clock
        self._due = 0.0
        self._born = 0.0
        self.crashes = 0

    def note_ready(self) -> None:
        """The engine answers."""
        self._born = self._clock()

    def note_crash(self) -> None:
        """The engine died, or could not load."""
        now = self._clock()
        if self._born and now - self._born >= self._limits.healthy_seconds:
            self.crashes = 0
        self._born = 0.0
        self.crashes += 1
        doubled = self._limits.first_seconds * 2 ** min(self.crashes - 1, DOUBLINGS_MAX)
        pause = min(doubled, self._limits.seconds_max)
        self._due = now + pause

    def reset(self) -> None:
        """The operator starts it: nothing is held against it."""
        self.crashes, self._due = 0, 0.0

    @property
    def is_parked(self) -> bool:
        """True when only the operator may start it again."""
        return self.crashes >= self._limits.crashes_max

    @property
    def wait_seconds(self) -> float:
        """How long until it may be started; 0 when it may be now."""
        return max(self._due - self._clock(), 0.0)
