from __future__ import annotations

import asyncio
from typing import Any

import pytest
from starlette.types import Message

from tests.unit.edge.small_server import SmallServer, run
from troth.domain import Answer, Call, Whole
from troth.edge.departure import attended
from troth.errors import ClientGone

BODY = b'{"turns": [{"role": "user", "content": "hello"}]}'


async def a_client_that_stays() -> Message:
    await asyncio.Event().wait()
    raise AssertionError


class Leaving:
    """A client that sends its body and hangs up when told to."""

    def __init__(self, *messages: Message) -> None:
        self.left = asyncio.Event()
        self._messages = list(messages)
        self.sent: list[Message] = []

    async def receive(self) -> Message:
        if self._messages:
            return self._messages.pop(0)
        await self.left.wait()
        return {"type": "http.disconnect"}

    async def send(self, message: Message) -> None:
        self.sent.append(message)

    async def ask(self, server: SmallServer) -> None:
        scope: dict[str, Any] = {
            "type": "http",
            "method": "POST",
            "path": "/v1/speak",
            "query_string": b"",
            "headers": [],
            "client": ("127.0.0.1", 1),
        }
        await server.app(scope, self.receive, self.send)


def test_the_answer_comes_back_while_the_client_stays() -> None:
    async def work() -> Answer:
        return Whole("done")

    assert run(attended(work(), a_client_that_stays)) == Whole("done")


def test_what_the_work_raises_is_raised() -> None:
    async def work() -> Answer:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        run(attended(work(), a_client_that_stays))


def test_the_work_has_ended_when_the_departure_is_raised() -> None:
    steps: list[str] = []

    async def work() -> Answer:
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            steps.append("released")
        raise AssertionError

    async def gone() -> Message:
        return {"type": "http.disconnect"}

    async def scenario() -> None:
        with pytest.raises(ClientGone):
            await attended(work(), gone)
        steps.append("answered")

    run(scenario())

    assert steps == ["released", "answered"]


def test_the_work_ends_when_the_server_cancels_the_request() -> None:
    async def scenario() -> bool:
        begun, released = asyncio.Event(), asyncio.Event()

        async def work() -> Answer:
            begun.set()
            try:
                await asyncio.Event().wait()
            finally:
                released.set()
            raise AssertionError

        request = asyncio.create_task(attended(work(), a_client_that_stays))
        await begun.wait()
        request.cancel()
        await asyncio.wait((request,))
        return request.cancelled() and released.is_set()

    assert run(scenario())


def test_a_client_gone_while_it_waits_is_counted_and_logged_as_499(caplog: pytest.LogCaptureFixture) -> None:
    async def scenario() -> tuple[SmallServer, bool]:
        cancelled = False
        client = Leaving({"type": "http.request", "body": BODY})

        async def speak(call: Call) -> Answer:
            nonlocal cancelled
            client.left.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                cancelled = True
                raise
            raise AssertionError

        server = SmallServer(speak=speak)
        await client.ask(server)
        return server, cancelled

    with caplog.at_level("INFO", logger="troth.access"):
        server, cancelled = run(scenario())

    assert cancelled
    assert "operation=speak status=499" in caplog.text
    scrape = server.scrape()
    assert "troth:client_disconnects_total 1.0" in scrape
    assert 'troth:http_responses_total{operation="speak",status="499"} 1.0' in scrape


def test_a_client_gone_while_it_sends_never_reaches_a_handler() -> None:
    async def scenario() -> SmallServer:
        client = Leaving({"type": "http.request", "body": BODY[:10], "more_body": True})
        client.left.set()
        server = SmallServer()
        await client.ask(server)
        return server

    server = run(scenario())

    assert not server.calls
    assert "troth:client_disconnects_total 1.0" in server.scrape()
