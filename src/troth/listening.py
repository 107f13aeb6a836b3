"""The port and the process around it: the one file that knows uvicorn, and how a server ends.

1. The first signal: nobody new is taken; answers have `stop_seconds` to be finished.
2. After that, or at a second interrupt, what is left ends with a fault that its client can read.
3. A client that does not read its fault within the farewell is cut off.
"""

from __future__ import annotations

import asyncio
import errno
import gc
import math
import signal
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType

import uvicorn
from starlette.types import ASGIApp

BACKLOG = 2048


class StartFault(Exception):
    """The server could not start, or had to end; the message is for the operator."""


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens: whoever connects from now on is answered once the server runs.

    Raises StartFault in words. It listens already here, because two servers may bind one port and not listen.
    """
    try:
        family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        listener = socket.socket(family, socket.SOCK_STREAM)
    except OSError as error:
        raise StartFault(f"cannot listen on {host}: {error.strerror}. Choose another --host.") from error
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        other = "--port" if error.errno in (errno.EADDRINUSE, errno.EACCES) else "--host"
        raise StartFault(f"cannot listen on {host}:{port}: {error.strerror}. Choose another {other}.") from error
    return listener


def url_of(listener: socket.socket) -> str:
    """The address that `listener` is bound to, as a URL."""
    host, port = listener.getsockname()[:2]
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


class PatientServer(uvicorn.Server):
    """uvicorn, where answers that must be cut off end with a fault that clients can read, whatever the signal."""

    def __init__(
        self, app: ASGIApp, end_answers: Callable[[], Awaitable[None]], stop_seconds: float, farewell_seconds: float
    ) -> None:
        config = uvicorn.Config(
            app,
            lifespan="on",  # with "auto", a start that failed would be served as 500s
            loop="uvloop",
            http="httptools",
            ws="none",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_graceful_shutdown=math.ceil(stop_seconds + farewell_seconds),
        )
        super().__init__(config)
        self._end_answers = end_answers
        self._stop_seconds = stop_seconds
        self._farewell_seconds = farewell_seconds
        self._interrupts = 0
        self._hurry = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None

    def serve_until_told(self, listener: socket.socket) -> bool:
        """The server has ended and `listener` is closed; true when Ctrl-C ended it."""
        with self.capture_signals():  # as long as anything of ours runs, a signal is heard by us and by nobody else
            try:
                self.run(sockets=[listener])
            finally:
                listener.close()
        return self._interrupts > 0

    def end(self) -> None:
        """The server ends as if told to by a signal."""
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Signals end the server. uvicorn's own would raise them again inside its loop, amid what still runs."""
        before = {number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """A signal has been noted. Runs between two byte codes of whatever the main thread does."""
        self._interrupts += sig == signal.SIGINT
        if self.should_exit and sig == signal.SIGINT and self._loop is not None:
            self._loop.call_soon_threadsafe(self._hurry.set)
        self.should_exit = True

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """The server answers; a second interrupt can reach its loop."""
        self._loop = asyncio.get_running_loop()
        await super().startup(sockets)
        # What was built lives as long as the process. Looking through it for garbage, again and again, would stop
        # the event loop for some 50 ms each time (measured with gc.callbacks).
        gc.collect()
        gc.freeze()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Nobody is connected any more, and the models' memory is given back."""
        ending = asyncio.create_task(self._end())
        try:
            await super().shutdown(sockets)
        finally:
            ending.cancel()
            self._loop = None
        if self.force_exit:  # then uvicorn leaves out what follows, and models would be torn out of their threads
            for task in self.server_state.tasks:
                task.cancel()
            await self.lifespan.shutdown()

    async def _end(self) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._hurry.wait(), self._stop_seconds)
        await self._end_answers()
        await self._hurry.wait()
        await asyncio.sleep(self._farewell_seconds)
        self.force_exit = True
