"""A client on a bare socket, which can be as rude as real ones, and a reader of the server's metrics."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import httpx

from tests.support.live import wait_until

CHAT = "/v1/chat/completions"
SECONDS = 30.0
READ_BYTES = 65536
ABORTIVE = struct.pack("ii", 1, 0)  # SO_LINGER: closing resets the connection at once


def chat_body(text: str, **fields: Any) -> dict[str, Any]:
    """A chat request that says `text`."""
    return {"messages": [{"role": "user", "content": text}], **fields}


class Wire:
    """One connection. Leaves in the way that the test asks for."""

    def __init__(self, url: str, *, receive_bytes: int | None = None) -> None:
        """Connected. `receive_bytes` makes the system buffer little of what the server sends."""
        parts = urlsplit(url)
        assert parts.hostname is not None
        assert parts.port is not None
        self._host = parts.netloc
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        if receive_bytes is not None:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
        self._socket.settimeout(SECONDS)
        self._socket.connect((parts.hostname, parts.port))
        self.received = b""

    def __enter__(self) -> Wire:
        return self

    def __exit__(self, *exit_info: object) -> None:
        self.hang_up()

    def ask(
        self,
        body: Mapping[str, Any],
        *,
        path: str = CHAT,
        headers: Mapping[str, str] | None = None,
        sent_share: float = 1,
    ) -> None:
        """A request is on its way, with this share of its body."""
        raw = json.dumps(body).encode()
        named = {"Host": self._host, "Content-Type": "application/json", "Content-Length": str(len(raw))}
        lines = [f"{name}: {value}" for name, value in {**named, **(headers or {})}.items()]
        head = "\r\n".join([f"POST {path} HTTP/1.1", *lines, "", ""])
        self._socket.sendall(head.encode() + raw[: int(len(raw) * sent_share)])

    def read_until(self, mark: bytes) -> bytes:
        """Everything received so far, `mark` included. Raises EOFError when the server ends before it."""
        while mark not in self.received:
            data = self._socket.recv(READ_BYTES)
            if not data:
                raise EOFError(f"the server closed before {mark!r}: {self.received[-500:]!r}")
            self.received += data
        return self.received

    def read_to_end(self) -> bytes:
        """Everything that the server sent until it closed."""
        while data := self._socket.recv(READ_BYTES):
            self.received += data
        return self.received

    def half_close(self) -> None:
        """The server reads the end of our side; we could still read."""
        self._socket.shutdown(socket.SHUT_WR)

    def hang_up(self, *, abortive: bool = False) -> None:
        """The connection is closed, by a reset if `abortive`."""
        if abortive:
            self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, ABORTIVE)
        self._socket.close()


class Gauges:
    """The metrics of one server by name; those with labels by `name{labels}`."""

    def __init__(self, client: httpx.Client) -> None:
        self._client = client

    def read(self) -> dict[str, float]:
        """One scrape."""
        lines = self._client.get("/metrics").text.splitlines()
        return {name: float(value) for name, value in (x.rsplit(" ", 1) for x in lines if not x.startswith("#"))}

    @property
    def running(self) -> int:
        """Choices that have a slot."""
        return int(self.read()["llamacpp:requests_processing"])

    @property
    def queued(self) -> int:
        """Requests that wait for a slot."""
        return int(self.read()["llamacpp:requests_deferred"])

    @property
    def spoken(self) -> int:
        """Tokens generated since the start."""
        return int(self.read()["llamacpp:tokens_predicted_total"])

    @property
    def heard(self) -> int:
        """Prompt tokens computed since the start."""
        return int(self.read()["llamacpp:prompt_tokens_total"])

    @property
    def departures(self) -> int:
        """Clients that left early since the start."""
        return int(self.read()["troth:client_disconnects_total"])

    def wait_more(self, name: str, than: float, seconds: float = SECONDS) -> None:
        """The metric has grown."""
        wait_until(lambda: self.read()[name] > than, f"{name} is more than {than}", seconds)

    def wait_running(self, count: int, seconds: float = SECONDS) -> None:
        """So many choices have a slot."""
        wait_until(lambda: self.running == count, f"{count} running", seconds)

    def wait_queued(self, count: int, seconds: float = SECONDS) -> None:
        """So many requests wait."""
        wait_until(lambda: self.queued == count, f"{count} queued", seconds)

    def wait_idle(self, seconds: float = SECONDS) -> None:
        """Nothing runs and nothing waits."""

        def idle() -> bool:
            now = self.read()
            return now["llamacpp:requests_processing"] == now["llamacpp:requests_deferred"] == 0

        wait_until(idle, "nothing runs and nothing waits", seconds)
