from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any

import pytest
from starlette.types import Message

from tests.unit.edge.small_server import SmallServer, run
from troth.domain import Answer, Call, Stream
from troth.edge.exchange import Exchange
from troth.edge.settings import EdgeSettings
from troth.edge.streaming import StreamSender

BODY = b'{"turns": [{"role": "user", "content": "hello"}]}'
FAILURE = b"data: broken\n\n"
KEEPALIVE = b": keepalive\n\n"


def streaming(frames: AsyncIterator[bytes], **settings: Any) -> SmallServer:
    async def speak(call: Call) -> Answer:
        return Stream(frames, KEEPALIVE, FAILURE, headers={"x-extra": "1"})

    return SmallServer(EdgeSettings(**settings), speak=speak)


class Listener:
    """A client that reads a stream and hangs up after `frames_wanted` of it."""

    def __init__(self, frames_wanted: int = 1 << 30) -> None:
        self.got: list[bytes] = []
        self.status = 0
        self._wanted = frames_wanted
        self._left = asyncio.Event()
        self._asked = False
        if frames_wanted == 0:
            self._left.set()

    async def receive(self) -> Message:
        if not self._asked:
            self._asked = True
            return {"type": "http.request", "body": BODY}
        await self._left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
        elif message.get("body"):
            self.got.append(message["body"])
            if len(self.got) == self._wanted:
                self._left.set()

    async def listen(self, server: SmallServer) -> None:
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/v1/speak",
            "query_string": b"",
            "headers": [],
            "client": ("127.0.0.1", 1),
        }
        await server.app(scope, self.receive, self.send)


def test_frames_pass_through_untouched() -> None:
    async def frames() -> AsyncIterator[bytes]:
        yield b"data: {}\n\n"
        yield "data: é\n\n".encode()
        yield b"data: [DONE]\n\n"

    async def scenario() -> Any:
        server = streaming(frames())
        listener = Listener()
        await listener.listen(server)
        return listener, server

    listener, server = run(scenario())

    assert b"".join(listener.got) == "data: {}\n\ndata: é\n\ndata: [DONE]\n\n".encode()
    assert "client_disconnects_total 0.0" in server.scrape()


def test_the_headers_are_those_of_an_event_stream() -> None:
    async def frames() -> AsyncIterator[bytes]:
        yield b"data: 1\n\n"

    async def scenario() -> Any:
        return streaming(frames())

    response = run(scenario()).say()

    assert response.headers["content-type"] == "text/event-stream; charset=utf-8"
    assert response.headers["cache-control"] == "no-store"
    assert response.headers["x-accel-buffering"] == "no"
    assert response.headers["x-extra"] == "1"
    assert response.headers["x-request-id"]


def test_silence_is_filled_with_keepalives_and_only_silence() -> None:
    async def scenario() -> list[bytes]:
        listener = Listener(frames_wanted=4)

        async def frames() -> AsyncIterator[bytes]:
            yield b"data: 1\n\n"
            await asyncio.Event().wait()

        await listener.listen(streaming(frames(), keepalive_seconds=0.02))
        return listener.got

    assert run(scenario()) == [b"data: 1\n\n", KEEPALIVE, KEEPALIVE, KEEPALIVE]


def test_zero_switches_keepalives_off() -> None:
    async def scenario() -> list[bytes]:
        listener = Listener()

        async def frames() -> AsyncIterator[bytes]:
            for number in range(50):
                await asyncio.sleep(0)
                yield b"data: %d\n\n" % number

        await listener.listen(streaming(frames(), keepalive_seconds=0))
        return listener.got

    assert len(run(scenario())) == 50


def test_a_client_that_leaves_closes_the_frames_and_counts_as_499(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> tuple[bool, SmallServer]:
        released = False

        async def frames() -> AsyncIterator[bytes]:
            nonlocal released
            try:
                yield b"data: 1\n\n"
                await asyncio.Event().wait()
            finally:
                released = True

        server = streaming(frames())
        await Listener(frames_wanted=1).listen(server)
        return released, server

    with caplog.at_level("INFO", logger="troth.access"):
        released, server = run(scenario())

    assert released
    assert "status=499" in caplog.text
    assert "troth:client_disconnects_total 1.0" in server.scrape()


def test_frames_that_were_never_begun_are_still_released() -> None:
    async def scenario() -> bool:
        released = False

        async def frames() -> AsyncIterator[bytes]:
            nonlocal released
            try:
                await asyncio.Event().wait()
                yield b""
            finally:
                released = True

        async def receive() -> Message:
            return {"type": "http.disconnect"}

        async def send(message: Message) -> None:
            await asyncio.Event().wait()  # the line is full: the 200 cannot even go out

        exchange = Exchange()
        sender = StreamSender(keepalive_seconds=0, stop_seconds=0)
        await sender.send(
            Stream(frames(), KEEPALIVE, FAILURE), exchange, {"type": "http", "method": "POST"}, receive, send
        )
        return released and exchange.gone

    assert run(scenario())


def test_a_fault_that_no_dialect_caught_is_logged_and_said_in_a_last_frame(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> list[bytes]:
        async def frames() -> AsyncIterator[bytes]:
            yield b"data: 1\n\n"
            raise RuntimeError("the model tore")

        listener = Listener()
        await listener.listen(streaming(frames()))
        return listener.got

    assert run(scenario()) == [b"data: 1\n\n", FAILURE]
    assert "the model tore" in caplog.text


def test_chunks_never_reach_the_log(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> None:
        async def frames() -> AsyncIterator[bytes]:
            yield b"data: private words\n\n"

        logging.getLogger("sse_starlette").setLevel(logging.DEBUG)
        await Listener().listen(streaming(frames()))

    with caplog.at_level("DEBUG"):
        run(scenario())

    assert "private words" not in caplog.text
