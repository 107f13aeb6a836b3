"""The connections to another server: the one file that knows aiohttp.

It costs about half of what httpx does for a request and for a piece of a stream, and a proxy pays that for every token.
Everything here runs on the event loop.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import AsyncIterator, Callable, Mapping

import aiohttp
import httpx

from troth.engines.upstream.options import UpstreamOptions

OK = 200
LOOK_SECONDS = 1.0  # between two looks at a connection that is waited for
PIECE_BYTES = 1 << 16  # of a body: a shorter one leaves in one write with its head
FAULTS = (aiohttp.ClientError, OSError, ValueError)


class LineFault(Exception):
    """An answer did not come, or not to its end."""


class Unreached(LineFault):
    """There is no connection, and none could be made."""


class AllInUse(LineFault):
    """As many requests as may be are under way, and none of them ended in time."""


class Silent(LineFault):
    """The other server said nothing for longer than it may."""


class Broken(LineFault):
    """The connection ended too early, or what came over it is no HTTP."""


class Untaken(Broken):
    """What is sent is not taken any more."""


class Reply:
    """An answer whose head is here. Whoever has it closes it."""

    def __init__(self, response: aiohttp.ClientResponse, places: asyncio.Semaphore | None) -> None:
        self.status = response.status
        self.headers: Mapping[str, str] = response.headers
        self._response = response
        self._places = places
        self._is_waiting = False  # for the next piece
        self._was_gone = False  # at the last look

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes. Raises Silent and Broken."""
        content, looking = self._response.content, _Every(LOOK_SECONDS, self._look)
        try:
            self._is_waiting = True
            while piece := await content.readany():
                self._is_waiting = False
                yield piece
                self._is_waiting = True
        except FAULTS as fault:
            raise _in_words(fault) from fault
        finally:
            looking.end()

    def _look(self) -> None:
        """Whoever waits for a piece of a connection that is gone is told so: aiohttp tells nobody who reads a body that
        its chunks are malformed, and stops the clock of silences too."""
        connection = self._response.connection
        transport = connection.transport if connection is not None else None
        is_gone = connection is not None and (transport is None or transport.is_closing()) and self._is_waiting
        if is_gone and self._was_gone:  # not merely about to be told
            self._response.content.set_exception(aiohttp.ClientPayloadError("the connection is gone"))
        self._was_gone = is_gone

    async def read(self) -> bytes:
        """The whole body. Raises Silent and Broken."""
        return b"".join([piece async for piece in self.pieces()])

    def close(self) -> None:
        """Nothing is read any more; a connection whose answer has not ended is closed, so that the work on it ends."""
        self._response.close()
        if self._places is not None:
            self._places.release()
            self._places = None


class Line:
    """All connections to the replicas of one model."""

    def __init__(self, options: UpstreamOptions) -> None:
        self._places = asyncio.Semaphore(options.connections_max)
        self._pool_seconds, self._write_seconds = options.pool_seconds, options.write_seconds
        # `connect` is of looking the name up and of all its addresses together: no place is waited for there.
        self._timeout = aiohttp.ClientTimeout(
            total=None, connect=options.connect_seconds, sock_read=options.idle_seconds or None
        )
        self._keep_seconds = options.keep_seconds
        self._has_tls = any(url.startswith("https:") for url in options.urls)
        self._headers = {"Accept-Encoding": "identity", "User-Agent": "troth"}
        if options.api_key is not None:
            self._headers["Authorization"] = f"Bearer {options.api_key}"
        self._session: aiohttp.ClientSession | None = None

    async def post(self, url: str, body: bytes) -> Reply:
        """The answer to a JSON text. Raises LineFault. A kept connection that is closed over there is tried again."""
        try:
            return await self._ask(url, body)
        except Untaken:
            raise
        except Broken:
            return await self._ask(url, body)

    async def get(self, url: str) -> bytes:
        """What is told there. Raises LineFault and NotWell. It waits for no place: a busy server is there as well."""
        try:
            reply = Reply(await self._sent("GET", url, b""), None)
        except FAULTS as fault:
            raise _in_words(fault) from fault
        try:
            if reply.status != OK:
                raise NotWell(reply.status)
            return await reply.read()
        finally:
            reply.close()

    async def close(self) -> None:
        """No connection is left. Safe to call twice."""
        if self._session is not None:
            await self._session.close()

    async def _ask(self, url: str, body: bytes) -> Reply:
        await self._place()
        try:
            response = await self._sent("POST", url, body)
        except FAULTS as fault:
            self._places.release()
            raise _in_words(fault) from fault
        except BaseException:
            self._places.release()
            raise
        return Reply(response, self._places)

    async def _place(self) -> None:
        if not self._places.locked():
            await self._places.acquire()
            return
        try:
            async with asyncio.timeout(self._pool_seconds):
                await self._places.acquire()
        except TimeoutError as fault:
            raise AllInUse from fault

    async def _sent(self, method: str, url: str, body: bytes) -> aiohttp.ClientResponse:
        session = self._session = self._session or self._opened()
        headers = {"Content-Type": "application/json"} if body else None
        if len(body) <= PIECE_BYTES:
            return await session.request(method, url, data=body or None, headers=headers, allow_redirects=False)
        # Its length is told: without it, aiohttp would send such a body in chunks.
        headers = {"Content-Type": "application/json", "Content-Length": str(len(body))}
        sending = _Sending(body, self._write_seconds)
        try:
            async with sending.pause:
                return await session.request(method, url, data=sending.pieces(), headers=headers, allow_redirects=False)
        except TimeoutError as fault:
            if not sending.pause.expired():
                raise
            raise Untaken("nothing is taken any more") from fault
        finally:
            sending.is_answered = True

    def _socket(self, address: aiohttp.AddrInfoType) -> socket.socket:
        """A socket that the system itself closes when what was sent is not taken: asyncio would wait for that."""
        family, kind, protocol, _, _ = address
        made = socket.socket(family, kind, protocol)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, max(int(self._write_seconds * 1000), 1))
        return made

    def _opened(self) -> aiohttp.ClientSession:
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,  # _places counts
                keepalive_timeout=self._keep_seconds,
                socket_factory=self._socket,
                ssl=httpx.create_ssl_context(trust_env=False) if self._has_tls else True,
            ),
            headers=self._headers,
            timeout=self._timeout,
            cookie_jar=aiohttp.DummyCookieJar(),
        )


class _Every:
    """Calls something every so many seconds."""

    def __init__(self, seconds: float, call: Callable[[], None]) -> None:
        self._seconds, self._call = seconds, call
        self._next = asyncio.get_running_loop().call_later(seconds, self._again)

    def _again(self) -> None:
        self._next = asyncio.get_running_loop().call_later(self._seconds, self._again)
        self._call()

    def end(self) -> None:
        """It calls no more."""
        self._next.cancel()


class _Sending:
    """A body on its way. `pause` ends the request when a piece is not taken in time, as long as nobody has answered."""

    def __init__(self, body: bytes, seconds: float) -> None:
        self._body = body
        self._seconds = seconds
        self.pause = asyncio.timeout(None)
        self.is_answered = False  # an answer may come before the body has been taken, and the body still goes on

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body, piece by piece."""
        for start in range(0, len(self._body), PIECE_BYTES):
            self._wait_until(asyncio.get_running_loop().time() + self._seconds)
            yield self._body[start : start + PIECE_BYTES]
        self._wait_until(None)

    def _wait_until(self, when: float | None) -> None:
        if not self.is_answered:
            self.pause.reschedule(when)


class NotWell(Exception):
    """An answer of another status than 200."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status {status}")
        self.status = status


def _in_words(fault: Exception) -> LineFault:
    """What a fault of aiohttp means here."""
    if isinstance(fault, aiohttp.ClientConnectorError | aiohttp.ConnectionTimeoutError):
        return Unreached(type(fault).__name__)
    if isinstance(fault, TimeoutError):
        return Silent(type(fault).__name__)
    return Broken(type(fault).__name__)
