"""Noticing that the client hung up while its answer is still being made, and stopping the work."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

from starlette.types import Receive

from troth.domain import Answer
from troth.errors import ClientGone


async def attended(work: Coroutine[Any, Any, Answer], receive: Receive) -> Answer:
    """The answer of `work`, which runs only as long as somebody waits for it.

    Raises ClientGone when the client hung up first; by then the work has been cancelled and has ended.
    """
    making = asyncio.create_task(work)
    watching = asyncio.create_task(_departure(receive))
    try:
        await asyncio.wait((making, watching), return_when=asyncio.FIRST_COMPLETED)
        if making.done():
            return making.result()
        raise ClientGone("The client hung up before its answer was ready.")
    finally:
        await _ended(making)
        await _ended(watching)


async def _departure(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        continue


async def _ended(task: asyncio.Task[Any]) -> None:
    """The task is over, cancelled if need be, and whatever it raised meanwhile is settled."""
    if not task.done():
        task.cancel()
        await asyncio.wait((task,))
    if not task.cancelled():
        task.exception()
