"""A place in a lane, seen from the event loop: it waits, hands out events, and can be given up."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator
from typing import Protocol

from troth.domain import Event, Finished
from troth.scheduler.request import Request


class Line(Protocol):
    """What a ticket tells the lane that gave it out."""

    def left_queue(self, ticket: LaneTicket) -> None:
        """The ticket no longer waits: its request runs, or is over."""

    def cancel(self, ticket: LaneTicket) -> None:
        """Nobody waits for the ticket's request any more."""


class LaneTicket:
    """A place in the lane; the `Ticket` of the domain. Lives on the event loop."""

    def __init__(self, request: Request, line: Line) -> None:
        self._line = line
        self.request = request
        self.submitted_at = time.perf_counter()
        self._started_at = 0.0
        self._events: deque[Event] = deque()
        self._fault: Exception | None = None
        self._news = asyncio.Event()
        self._is_over = False
        self.deadline: asyncio.TimerHandle | None = None

    @property
    def is_started(self) -> bool:
        """True once the request has left the queue."""
        return self._started_at > 0.0

    @property
    def is_over(self) -> bool:
        """True once the request has ended in whatever way."""
        return self._is_over

    @property
    def queue_seconds(self) -> float:
        """How long the request waited, so far or in all."""
        return (self._started_at or time.perf_counter()) - self.submitted_at

    async def wait_started(self, seconds: float) -> bool:
        """True once the request has left the queue; False when `seconds` passed first."""
        try:
            async with asyncio.timeout(seconds):
                while not self.is_started and self._fault is None:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            return False
        if self._fault is not None and not self._events:
            raise self._fault
        return True

    async def events(self) -> AsyncIterator[Event]:
        """The events in order; ends after Finished, raises the fault that ended the request."""
        while True:
            while self._events:
                event = self._events.popleft()
                yield event
                if isinstance(event, Finished):
                    return
            if self._fault is not None:
                raise self._fault
            self._news.clear()
            await self._news.wait()

    def deliver(self, events: list[Event], fault: Exception | None) -> None:
        """The lane hands over what a step said. On the event loop."""
        if not self.is_started and self.request.is_started:
            self._started_at = time.perf_counter()
            self._line.left_queue(self)
        self._events.extend(events)
        if fault is not None:
            self.fail(fault)
        elif events and isinstance(events[-1], Finished):
            self.close()
        self._news.set()

    def fail(self, fault: Exception) -> None:
        """The request ends with this fault, after the events that came before it."""
        self._fault = self._fault or fault
        self.close()
        self._news.set()

    def close(self) -> None:
        """The request is over, and no longer counted in the queue."""
        self._is_over = True
        self._line.left_queue(self)

    def cancel(self) -> None:
        """The request leaves the engine within one step, wherever it is."""
        if not self._is_over:
            self.close()
            self._line.cancel(self)
