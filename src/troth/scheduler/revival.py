"""Starts an engine again that has ended by itself, the later the more often it does."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol

from troth.engines.base import EngineGone
from troth.errors import EngineFault, Unavailable

logger = logging.getLogger(__name__)


class Mortal(Protocol):
    """An engine that may end by itself."""

    name: str

    async def gone(self) -> EngineGone | None:
        """What became of it, once it has ended; None when it was stopped."""


@dataclass(slots=True)
class BackOff:
    """How long to wait before the next start: longer each time, until one has run long enough."""

    first_seconds: float = 1.0
    longest_seconds: float = 60.0
    healthy_seconds: float = 300.0  # of running, after which the next end counts as the first again
    _next_seconds: float = 0.0

    def delay(self, ran_seconds: float) -> float:
        """The seconds to wait after it ran for so long, or could not be started: 0."""
        if not self._next_seconds or ran_seconds >= self.healthy_seconds:
            self._next_seconds = self.first_seconds
        delay = self._next_seconds
        self._next_seconds = min(2 * delay, self.longest_seconds)
        return delay


class Revival:
    """The restarts of one engine."""

    def __init__(
        self,
        engine: Mortal,
        start: Callable[[], Awaitable[None]],
        back_off: BackOff | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`start` raises EngineFault when the engine could not be loaded, Unavailable when it is no longer wanted."""
        self._engine = engine
        self._start = start
        self._back_off = back_off or BackOff()
        self._clock = clock
        self._is_over = asyncio.Event()

    def stop(self) -> None:
        """The engine is not started again, and `run` returns once it has ended."""
        self._is_over.set()

    async def run(self) -> None:
        """The engine, which has been started, is started again whenever it ended by itself, until it is stopped."""
        since = self._clock()
        while await self._engine.gone() is not None:
            ran_seconds = self._clock() - since
            while not await self._is_over_within(self._back_off.delay(ran_seconds)):
                try:
                    await self._start()
                    break
                except EngineFault as fault:
                    logger.error("event=not_revived model=%s error=%s", self._engine.name, fault.message)
                    ran_seconds = 0.0
                except Unavailable:
                    return
            if self._is_over.is_set():
                return
            since = self._clock()

    async def _is_over_within(self, seconds: float) -> bool:
        logger.warning("event=reviving model=%s wait_seconds=%.0f", self._engine.name, seconds)
        try:
            await asyncio.wait_for(self._is_over.wait(), seconds)
        except TimeoutError:
            return False
        return True
