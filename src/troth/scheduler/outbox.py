"""What a step has to say, collected and delivered in one call."""

from __future__ import annotations

import time
from collections.abc import Callable

from troth.scheduler.counters import Counters
from troth.scheduler.request import Delivery, Request

Deliver = Callable[[list[Delivery]], None]


class Outbox:
    """The requests with news. The scheduler's thread alone uses it."""

    def __init__(self, deliver: Deliver, counters: Counters) -> None:
        self._deliver = deliver
        self._counters = counters
        self._touched: list[Request] = []

    def touch(self, request: Request) -> None:
        """The request has events, a start or a fault to deliver."""
        if request not in self._touched:
            self._touched.append(request)

    def flush(self) -> None:
        """Everything collected is delivered, and the requests' events are theirs to collect anew."""
        if not self._touched:
            return
        started = time.perf_counter()
        touched, self._touched = self._touched, []
        deliveries = []
        for request in touched:
            deliveries.append(Delivery(request, request.events, request.fault))
            request.events = []
        self._deliver(deliveries)
        self._counters.emit_seconds += time.perf_counter() - started
