"""Sending a `Stream`: the one file that knows sse-starlette.

Frames arrive finished, as bytes, and pass through untouched. A keepalive frame goes out only when the
line would otherwise have been silent for `keepalive_seconds`.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from typing import Any, cast

from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Message, Receive, Scope, Send

from troth.domain import Stream
from troth.edge.exchange import Exchange

logger = logging.getLogger(__name__)

CHECKS_PER_KEEPALIVE = 4  # how often silence is looked for, per keepalive interval
GRACE_SHARE = 0.8  # of `stop_seconds`: a stream ends by itself before the server cancels it


class StreamSender:
    """Sends streams with one server's intervals. `stop_seconds` is their grace when the server stops."""

    def __init__(self, *, keepalive_seconds: float, stop_seconds: float) -> None:
        self._keepalive_seconds = keepalive_seconds
        self._stop_seconds = stop_seconds
        # At DEBUG it logs every chunk, which is the text of an answer.
        logging.getLogger("sse_starlette").setLevel(logging.INFO)

    async def send(self, stream: Stream, exchange: Exchange, scope: Scope, receive: Receive, send: Send) -> None:
        """The stream has been sent, or the client has left and its frames have been closed."""
        relay = _Relay(stream, self._keepalive_seconds)

        async def departed(_: Message) -> None:
            exchange.gone = exchange.gone or not relay.complete

        response = _Response(
            relay.frames(),
            headers=dict(stream.headers),
            sep="\n",
            ping=self._keepalive_seconds / CHECKS_PER_KEEPALIVE,
            # The declared type is an event, but bytes are passed through (sse_starlette.event.ensure_bytes).
            ping_message_factory=lambda: cast(ServerSentEvent, relay.keepalive()),
            client_close_handler_callable=departed,
            shutdown_grace_period=self._stop_seconds * GRACE_SHARE,
        )
        try:
            await response(scope, receive, send)
        finally:
            await relay.abandon()


class _Response(EventSourceResponse):
    """sse-starlette's response, without the time limit of a send: none is set here, and entering a scope for it
    costs as much as the write, for every token."""

    async def _send_with_timeout(self, send: Send, message: Message) -> None:
        await send(message)


class _Relay:
    """Passes frames on and remembers when the last one left."""

    def __init__(self, stream: Stream, keepalive_seconds: float) -> None:
        self._stream = stream
        self._silence_seconds = keepalive_seconds * (1 - 1 / CHECKS_PER_KEEPALIVE)
        self._loop = asyncio.get_running_loop()
        self._last = self._loop.time()
        self._begun = False
        self.complete = False

    async def frames(self) -> AsyncIterator[bytes]:
        """The frames of the stream. A fault that its dialect did not turn into a frame is logged and ends it."""
        self._begun = True
        try:
            async for frame in self._stream.frames:
                self._last = self._loop.time()
                yield frame
        except Exception:  # the boundary: the 200 is out, so nobody above can answer for this any more
            logger.exception("event=stream_failed")
            yield _frame(self._stream.failure)
        finally:
            await _closed(self._stream.frames)
        self.complete = True

    def keepalive(self) -> bytes:
        """The keepalive frame if the line has been silent, else nothing to send."""
        now = self._loop.time()
        if now - self._last < self._silence_seconds:
            return b""
        self._last = now
        return _frame(self._stream.keepalive)

    async def abandon(self) -> None:
        """Frames that were never asked for are closed too: begun and cancelled, so that their `finally` runs."""
        if not self._begun:
            first: asyncio.Task[Any] = asyncio.ensure_future(_first(self._stream.frames))
            await asyncio.sleep(0)
            first.cancel()
            await asyncio.wait((first,))
            if not first.cancelled():
                first.exception()
            await _closed(self._stream.frames)


def _frame(frame: bytes | Callable[[], bytes]) -> bytes:
    return frame if isinstance(frame, bytes) else frame()


async def _first(frames: AsyncIterator[bytes]) -> None:
    async for _ in frames:
        return


async def _closed(frames: AsyncIterator[bytes]) -> None:
    close = getattr(frames, "aclose", None)
    if close is not None:
        await close()
