"""Fetching from a server of this machine, which the tests alone allow."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from troth.media.addresses import Forbidden, is_open
from troth.media.fetching import Fetcher, FetchFault
from troth.media.settings import MediaSettings

BODY = b"\x89PNG picture"


class Server(ThreadingHTTPServer):
    """Remembers what it was asked for."""

    daemon_threads = True
    asked: list[tuple[str, str]]  # path, header Host
    gate: threading.Event


class Handler(BaseHTTPRequestHandler):
    """Answers by the path."""

    server: Server

    def do_GET(self) -> None:
        """One answer."""
        self.server.asked.append((self.path, self.headers["Host"]))
        name, _, rest = self.path[1:].partition("/")
        match name:
            case "moved":
                self.send_response(302)
                self.send_header("Location", rest)
                self.end_headers()
            case "slow":
                self.server.gate.wait(10)
            case "text":
                self._send(b"<svg/>", "text/html")
            case "packed":
                self._send(BODY, "image/png", ("Content-Encoding", "gzip"))
            case "endless":
                self.send_response(200)
                self.send_header("Content-Type", "image/png")
                self.end_headers()
                for _ in range(40):
                    self.wfile.write(b"x" * 100)
            case "missing":
                self.send_error(404)
            case _:
                self._send(BODY, "image/png")

    def _send(self, body: bytes, media_type: str, *headers: tuple[str, str]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is printed."""


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server(("127.0.0.1", 0), Handler)
    made.asked, made.gate = [], threading.Event()
    thread = threading.Thread(target=made.serve_forever)
    thread.start()
    yield made
    made.gate.set()
    made.shutdown()
    thread.join()
    made.server_close()


def fetch(server: Server, url: str, may_ask: Callable[[str], bool] = lambda address: True, **settings: Any) -> bytes:
    """What the URL gives when `good.example` and `other.example` are allowed and live on this server."""
    port = server.server_port

    async def look_up(host: str, port: int) -> Sequence[str]:
        return ["127.0.0.1"]

    hosts = (f"good.example:{port}", f"other.example:{port}")
    fetcher = Fetcher(MediaSettings(allowed_hosts=hosts, **settings), look_up, may_ask)
    return asyncio.run(fetcher.fetch(url.replace("PORT", str(port)), "image"))


def test_a_picture_is_fetched_from_the_pinned_address_in_the_host_s_name(server: Server) -> None:
    assert fetch(server, "http://good.example:PORT/a.png") == BODY
    assert server.asked == [("/a.png", f"good.example:{server.server_port}")]


def test_nothing_is_asked_at_an_inner_address(server: Server) -> None:
    with pytest.raises(Forbidden):
        fetch(server, "http://good.example:PORT/a.png", is_open)
    assert server.asked == []


def test_a_redirect_is_followed_to_an_allowed_host(server: Server) -> None:
    where = f"http://other.example:{server.server_port}/b.png"
    assert fetch(server, f"http://good.example:PORT/moved/{where}") == BODY
    assert [host.partition(":")[0] for _, host in server.asked] == ["good.example", "other.example"]


def test_a_relative_redirect_stays_with_its_host(server: Server) -> None:
    assert fetch(server, "http://good.example:PORT/moved//b.png") == BODY
    assert server.asked[1] == ("/b.png", f"good.example:{server.server_port}")


@pytest.mark.parametrize("where", ["http://evil.example/x", "http://127.0.0.1/x", "file:///etc/passwd", "gopher://x/"])
def test_a_redirect_to_anything_else_is_not_followed(server: Server, where: str) -> None:
    with pytest.raises(Forbidden):
        fetch(server, f"http://good.example:PORT/moved/{where}")
    assert len(server.asked) == 1


def test_a_redirect_is_judged_anew(server: Server) -> None:
    seen: list[str] = []

    def once(address: str) -> bool:
        seen.append(address)
        return len(seen) == 1

    with pytest.raises(Forbidden):
        fetch(server, "http://good.example:PORT/moved//b.png", once)
    assert len(server.asked) == 1


def test_redirects_come_to_an_end(server: Server) -> None:
    with pytest.raises(FetchFault, match=r"media\.redirects_max"):
        fetch(server, "http://good.example:PORT/moved//moved//moved//moved//b.png", redirects_max=0)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("text", "no image, but text/html"),
        ("packed", "compressed"),
        ("missing", "status 404"),
        ("moved/", "to nowhere"),
        ("moved/http://[", "no URL"),
        ("x" * 70_000, "cannot be fetched"),
    ],
)
def test_what_is_no_picture_is_refused(server: Server, path: str, words: str) -> None:
    with pytest.raises(FetchFault, match=words):
        fetch(server, f"http://good.example:PORT/{path}")


@pytest.mark.parametrize("path", ["a.png", "endless"])
def test_no_more_is_read_than_a_picture_may_have(server: Server, path: str) -> None:
    with pytest.raises(FetchFault, match=r"media\.bytes_max"):
        fetch(server, f"http://good.example:PORT/{path}", bytes_max=8)


def test_a_slow_server_is_left(server: Server) -> None:
    with pytest.raises(FetchFault, match=r"media\.fetch_seconds_max"):
        fetch(server, "http://good.example:PORT/slow", fetch_seconds_max=0.1)


def test_a_server_that_is_not_there_is_said_to_be_so(server: Server) -> None:
    with pytest.raises(FetchFault, match="cannot be fetched"):
        fetch(server, "https://good.example:PORT/a.png")  # it speaks no TLS
