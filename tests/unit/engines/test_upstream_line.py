"""The connections to another server: what leaves on them, how long anything may take, and what a fault is called."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from tests.support.upstream_server import Exchange, UpstreamServer, serving, whole
from troth.engines.upstream import UpstreamOptions
from troth.engines.upstream.line import (
    PIECE_BYTES,
    AllInUse,
    Broken,
    Line,
    LineFault,
    NotWell,
    Silent,
    Unreached,
    Untaken,
)

SHORT_SECONDS = 0.2
PATH = "/v1/chat/completions"
NOBODY = "http://127.0.0.1:9"  # the port of a service that throws everything away, and that nobody runs
ANSWER = {"id": "x"}
LARGE = b"x" * (64 << 20)


@asynccontextmanager
async def lined(url: str, **settings: Any) -> AsyncIterator[Line]:
    line = Line(UpstreamOptions(server="vllm", urls=(url,), **settings))
    try:
        yield line
    finally:
        await line.close()


def over(play: Any, test: Callable[[Line, UpstreamServer], Awaitable[None]], **settings: Any) -> None:
    async def run() -> None:
        async with serving(play) as server, lined(server.url, **settings) as line:
            await test(line, server)

    asyncio.run(run())


async def told(line: Line, url: str, body: bytes) -> bytes:
    reply = await line.post(url, body)
    try:
        return await reply.read()
    finally:
        reply.close()


def test_a_compressed_answer_is_read() -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        assert json.loads(await told(line, server.url + PATH, b"{}")) == ANSWER

    over(whole(gzip.compress(json.dumps(ANSWER).encode()), 200, **{"Content-Encoding": "gzip"}), test)


def test_a_name_that_is_not_found_in_time_is_unreached(monkeypatch: pytest.MonkeyPatch) -> None:
    async def never(*_: Any, **__: Any) -> Any:
        await asyncio.Event().wait()

    async def run() -> None:
        monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", never)
        async with lined("http://far.test", connect_seconds=SHORT_SECONDS) as line:
            with pytest.raises(Unreached):
                await asyncio.wait_for(line.post("http://far.test/x", b"{}"), 10)

    asyncio.run(run())


@pytest.mark.parametrize("length", [1, PIECE_BYTES - 9, PIECE_BYTES, 5 * PIECE_BYTES])
def test_a_body_of_any_size_arrives_whole_and_tells_its_length(length: int) -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        body = json.dumps({"text": "x" * length}).encode()
        assert json.loads(await told(line, server.url + PATH, body)) == ANSWER
        assert server.bodies(PATH) == [{"text": "x" * length}]
        headers = server.asked[0].headers
        assert headers["content-length"] == str(len(body))
        assert headers["content-type"] == "application/json"
        assert headers["accept-encoding"] == "identity"
        assert "transfer-encoding" not in headers

    over(whole(ANSWER), test)


def test_cookies_are_not_kept() -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        for _ in range(2):
            await told(line, server.url + PATH, b"{}")
        assert "cookie" not in server.asked[1].headers

    over(whole(ANSWER, 200, **{"Set-Cookie": "a=b"}), test)


def test_a_redirect_is_not_followed() -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        reply = await line.post(server.url + PATH, b"{}")
        assert reply.status == 307
        reply.close()
        assert len(server.asked) == 1

    over(whole({}, 307, Location="/elsewhere"), test)


def test_nobody_there_is_unreached() -> None:
    async def run() -> None:
        async with lined(NOBODY) as line:
            with pytest.raises(Unreached):
                await line.post(NOBODY + PATH, b"{}")
            with pytest.raises(Unreached):
                await line.get(NOBODY + "/health")

    asyncio.run(run())


async def _never(exchange: Exchange) -> None:
    await exchange.reader.read()


async def _broken_off(exchange: Exchange) -> None:
    exchange.writer.transport.abort()


async def _half(exchange: Exchange) -> None:
    await exchange.head(200, {"Content-Length": "10"})
    exchange.writer.write(b"12345")
    await exchange.writer.drain()
    exchange.writer.close()


async def _malformed(exchange: Exchange) -> None:
    await exchange.head(200, {"Transfer-Encoding": "chunked"})
    await exchange.chunk(b"hello")
    await asyncio.sleep(0)
    exchange.writer.write(b"zz\r\n")
    await exchange.reader.read()


async def _nonsense(exchange: Exchange) -> None:
    exchange.writer.write(b"SSH-2.0-OpenSSH_9.9\r\n\r\n")
    await exchange.writer.drain()
    exchange.writer.close()


@pytest.mark.parametrize(
    ("play", "fault"),
    [(_never, Silent), (_broken_off, Broken), (_half, Broken), (_nonsense, Broken), (_malformed, Broken)],
)
def test_what_does_not_answer_to_the_end_is_told_by_name(play: Any, fault: type[LineFault]) -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        with pytest.raises(fault):
            await told(line, server.url + PATH, b"{}")

    over(play, test, idle_seconds=SHORT_SECONDS)


@asynccontextmanager
async def deaf() -> AsyncIterator[tuple[str, list[asyncio.StreamWriter]]]:
    """A server that reads nothing: what the system holds back for it fills up."""
    heard: list[asyncio.StreamWriter] = []

    async def listen(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.transport.pause_reading()  # type: ignore[attr-defined]
        heard.append(writer)

    server = await asyncio.start_server(listen, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", heard
    finally:
        for each in heard:
            each.transport.abort()
        server.close()


def test_a_body_that_is_not_taken_ends_the_request_at_once() -> None:
    async def run() -> None:
        async with deaf() as (url, heard), lined(url, write_seconds=SHORT_SECONDS, idle_seconds=0.0) as line:
            with pytest.raises(Untaken):
                await asyncio.wait_for(line.post(url, LARGE), 10)
            assert len(heard) == 1, "it was tried again"

    asyncio.run(run())


def test_an_answer_before_the_end_of_a_body_is_read() -> None:
    async def hasty(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 X\r\nContent-Length: 9\r\n\r\ntoo ")
        await reader.readexactly(len(LARGE))
        writer.write(b"large")
        await writer.drain()
        writer.close()

    async def run() -> None:
        server = await asyncio.start_server(hasty, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        async with lined(url) as line:
            reply = await asyncio.wait_for(line.post(url, LARGE), 10)
            assert (reply.status, await asyncio.wait_for(reply.read(), 10)) == (413, b"too large")
            reply.close()
        server.close()

    asyncio.run(run())


def test_silence_after_a_large_body_is_silence() -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        with pytest.raises(Silent):
            await line.post(server.url + PATH, json.dumps({"text": "x" * 5 * PIECE_BYTES}).encode())

    over(_never, test, idle_seconds=SHORT_SECONDS)


def test_a_place_is_free_again_whatever_became_of_its_request() -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        with pytest.raises(Silent):
            await line.post(server.url + PATH, b"{}")
        asking = asyncio.ensure_future(line.post(server.url + PATH, b"{}"))
        await asyncio.sleep(0)
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        server.plays[0] = whole(ANSWER)
        reply = await line.post(server.url + PATH, b"{}")
        with pytest.raises(AllInUse):
            await line.post(server.url + PATH, b"{}")
        reply.close()
        reply.close()
        assert json.loads(await told(line, server.url + PATH, b"{}")) == ANSWER

    over(_never, test, connections_max=1, pool_seconds=SHORT_SECONDS, idle_seconds=SHORT_SECONDS)


def test_what_is_looked_at_and_is_not_well_is_told_with_its_status() -> None:
    async def test(line: Line, server: UpstreamServer) -> None:
        assert json.loads(await line.get(server.url + "/health")) == {}
        server.is_well = False
        with pytest.raises(NotWell) as caught:
            await line.get(server.url + "/health")
        assert caught.value.status == 503

    over(whole(ANSWER), test)


def test_a_kept_connection_that_was_closed_over_there_is_not_missed() -> None:
    async def once(exchange: Exchange) -> None:
        await whole(ANSWER)(exchange)
        exchange.writer.close()

    async def test(line: Line, server: UpstreamServer) -> None:
        for _ in range(3):
            assert json.loads(await told(line, server.url + PATH, b"{}")) == ANSWER

    over(once, test)
