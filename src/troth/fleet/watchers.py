"""Who watches a slot, and what each has not heard yet."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

from troth.fleet.facts import SlotNews

NEWS_MAX = 64  # states that a slow watcher may be behind; then the oldest are lost


class Watchers:
    """Hands every change of state to whoever watches. The event loop alone uses it."""

    def __init__(self) -> None:
        self._queues: set[asyncio.Queue[SlotNews | None]] = set()

    async def watch(self, now: SlotNews) -> AsyncIterator[SlotNews]:
        """`now`, and every news that follows, until nobody reads on or all are let go."""
        queue: asyncio.Queue[SlotNews | None] = asyncio.Queue(NEWS_MAX)
        self._queues.add(queue)
        try:
            yield now
            while (news := await queue.get()) is not None:
                yield news
        finally:
            self._queues.discard(queue)

    def tell(self, news: SlotNews | None) -> None:
        """Everybody will hear the news; None lets them go."""
        for queue in self._queues:
            if queue.full():
                queue.get_nowait()
            queue.put_nowait(news)
