"""A server that plays whatever an upstream may do: it answers, refuses, stalls, breaks off, or talks nonsense."""

from __future__ import annotations

import asyncio
import json
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

Play = Callable[["Exchange"], Awaitable[None]]


@dataclass
class Exchange:
    """One request, and the connection that wants its answer."""

    path: str
    headers: Mapping[str, str]
    body: Any
    writer: asyncio.StreamWriter
    reader: asyncio.StreamReader

    async def head(self, status: int, headers: Mapping[str, str]) -> None:
        """The status line and the headers are sent."""
        lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
        self.writer.write("\r\n".join(lines).encode())
        await self.writer.drain()

    async def chunk(self, data: bytes) -> None:
        """A piece of a chunked body is sent."""
        self.writer.write(b"%x\r\n%s\r\n" % (len(data), data))
        await self.writer.drain()


@dataclass
class UpstreamServer:
    """The server. What it was asked is in `asked`; each POST plays the next of `plays`, the last one for ever."""

    models: Sequence[Mapping[str, Any]] = ({"id": "far"},)
    props: Mapping[str, Any] = field(default_factory=dict)
    plays: deque[Play] = field(default_factory=deque)
    asked: list[Exchange] = field(default_factory=list)
    url: str = ""
    is_well: bool = True
    hung_up: asyncio.Event = field(default_factory=asyncio.Event)  # a client left before its answer had ended
    _connections: set[asyncio.StreamWriter] = field(default_factory=set)
    _server: asyncio.Server | None = None

    async def start(self) -> None:
        """It listens."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def stop(self) -> None:
        """Nobody listens any more, and every connection is broken."""
        assert self._server is not None
        self._server.close()
        for writer in self._connections:
            writer.transport.abort()
        await asyncio.sleep(0)

    def bodies(self, path: str) -> list[Any]:
        """What was posted there."""
        return [each.body for each in self.asked if each.path == path]

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._connections.add(writer)
        try:
            while True:
                exchange = await self._request(reader, writer)
                if exchange.path in ("/v1/models", "/health", "/props"):
                    told = {"/v1/models": {"object": "list", "data": list(self.models)}, "/props": dict(self.props)}
                    await whole(told.get(exchange.path, {}), 200 if self.is_well else 503)(exchange)
                    continue
                self.asked.append(exchange)
                play = self.plays.popleft() if len(self.plays) > 1 else self.plays[0]
                await play(exchange)
        except (asyncio.IncompleteReadError, ConnectionError):
            self.hung_up.set()
        finally:
            self._connections.discard(writer)
            writer.close()

    async def _request(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> Exchange:
        head = (await reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in head[1:] if line)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        return Exchange(head[0].split()[1], headers, json.loads(body) if body else None, writer, reader)


@asynccontextmanager
async def serving(*plays: Play, **settings: Any) -> AsyncIterator[UpstreamServer]:
    """A running server that plays these."""
    server = UpstreamServer(plays=deque(plays), **settings)
    await server.start()
    try:
        yield server
    finally:
        await server.stop()


@contextmanager
def playing(*plays: Play, **settings: Any) -> Iterator[UpstreamServer]:
    """The same, on a thread of its own."""
    server, is_up, loop = UpstreamServer(plays=deque(plays), **settings), threading.Event(), asyncio.new_event_loop()

    async def run() -> None:
        await server.start()
        is_up.set()

    def body() -> None:
        loop.run_until_complete(run())
        loop.run_forever()

    thread = threading.Thread(target=body, name="upstream-server", daemon=True)
    thread.start()
    is_up.wait()
    try:
        yield server
    finally:
        asyncio.run_coroutine_threadsafe(server.stop(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


# ---- what it plays ----------------------------------------------------------------------------------


def whole(body: Any, status: int = 200, **headers: str) -> Play:
    """One JSON body."""

    async def play(exchange: Exchange) -> None:
        data = body if isinstance(body, bytes) else json.dumps(body).encode()
        await exchange.head(status, {"Content-Type": "application/json", "Content-Length": str(len(data)), **headers})
        exchange.writer.write(data)
        await exchange.writer.drain()

    return play


def stream(*frames: bytes | Mapping[str, Any], then: str = "end", content_type: str = "text/event-stream") -> Play:
    """A stream of these frames; `then` it ends, hangs, or the connection is cut."""

    async def play(exchange: Exchange) -> None:
        await exchange.head(200, {"Content-Type": content_type, "Transfer-Encoding": "chunked"})
        for frame in frames:
            await exchange.chunk(frame if isinstance(frame, bytes) else b"data: %s\n\n" % json.dumps(frame).encode())
        if then == "hang":
            await exchange.reader.readexactly(1)  # until the client hangs up
        elif then == "cut":
            exchange.writer.transport.abort()
        else:
            exchange.writer.write(b"0\r\n\r\n")
            await exchange.writer.drain()

    return play


async def silence(exchange: Exchange) -> None:
    """Nothing at all, until the client hangs up."""
    await exchange.reader.readexactly(1)


async def broken_off(exchange: Exchange) -> None:
    """The connection is cut before the first byte."""
    exchange.writer.transport.abort()


DONE = b"data: [DONE]\n\n"


def delta(choice: Mapping[str, Any] | None = None, *, finish: str | None = None, **said: Any) -> dict[str, Any]:
    """One chunk of a chat completion."""
    return {"id": "x", "choices": [{"index": 0, "delta": said, "finish_reason": finish, **(choice or {})}]}


def usage(prompt: int, answer: int, cached: int = 0) -> dict[str, Any]:
    """The chunk that counts."""
    counts = {"prompt_tokens": prompt, "completion_tokens": answer, "prompt_tokens_details": {"cached_tokens": cached}}
    return {"id": "x", "choices": [], "usage": counts}


def spoken(*texts: str, finish: str = "stop") -> Play:
    """A whole answer in these pieces, of a prompt of seven tokens, three of which were cached."""
    pieces = [delta(role="assistant", content=None), *(delta(content=text) for text in texts)]
    return stream(*pieces, delta(finish=finish), usage(7, len(texts), 3), DONE)
