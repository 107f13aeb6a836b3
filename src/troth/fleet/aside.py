"""Work that may hang, on a thread of its own."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress

from troth.errors import EngineFault

END_SECONDS = 2.0  # that a fetch which was given up is waited for


def aside(work: Callable[[], object], name: str) -> asyncio.Future[None]:
    """Done when `work` is, with what it raised.

    The thread is a daemon, and none of the event loop's pool: that has few threads, which answer requests, and a server
    that ends waits for them.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def settle(fault: Exception | None) -> None:
        if done.done():
            return
        if fault is None:
            done.set_result(None)
        else:
            done.set_exception(fault)

    def body() -> None:
        fault: Exception | None = None
        try:
            work()
        except Exception as error:  # the boundary of the thread: whoever waits is told
            fault = error
        with suppress(RuntimeError):  # the event loop has ended
            loop.call_soon_threadsafe(settle, fault)

    threading.Thread(target=body, name=name, daemon=True).start()
    return done


class Fetch:
    """A model's files on their way, on a thread of their own."""

    def __init__(
        self, pull: Callable[[Callable[[float], None]], object], note: Callable[[float], object], name: str
    ) -> None:
        """It begins. `pull` is given what to tell its progress to, from 0 to 1, which `note` hears on the thread."""
        self._given_up = threading.Event()
        self._note = note
        self._done = aside(lambda: pull(self._told), name)

    def _told(self, done: float) -> None:
        if self._given_up.is_set():
            raise EngineFault("The load was given up.")
        self._note(done)

    async def wait(self) -> None:
        """The files are here. Raises what kept them away."""
        await asyncio.shield(self._done)

    async def give_up(self) -> None:
        """Nobody wants them any more: the thread ends when it next tells its progress, and is waited for a moment."""
        self._given_up.set()
        await asyncio.wait([self._done], timeout=END_SECONDS)
