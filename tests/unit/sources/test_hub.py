"""`hf:` sources, against a small hub on this machine that can break off and lie."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from troth.sources.address import HubAddress
from troth.sources.faults import SourceFault
from troth.sources.hub import HubSettings, fetch_from_hub

CONTENT = bytes(range(256)) * 4000  # 1 024 000 bytes
SHA256 = hashlib.sha256(CONTENT).hexdigest()
FILE = HubAddress("org/repo", "folder/m 1.gguf", "main")


@dataclass
class Hub:
    """What the hub does next, and what it was asked."""

    content: bytes = CONTENT
    etag: str = '"v1"'
    announced: str = SHA256
    break_after: list[int] = field(default_factory=list)  # for each answer in turn: bytes, then hang up
    statuses: list[int] = field(default_factory=list)  # for each answer in turn, instead of a file
    requests: list[dict[str, str]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    address: str = ""

    def settings(self, **changes: Any) -> HubSettings:
        return HubSettings(endpoint=self.address, **{"sleep": lambda _: None, **changes})


class Handler(BaseHTTPRequestHandler):
    hub: Hub

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Nothing is written."""

    def do_GET(self) -> None:
        hub = self.hub
        if "/resolve/" in self.path:
            hub.requests.append(dict(self.headers))
            hub.paths.append(self.path)
            if hub.statuses:
                return self.reply(hub.statuses.pop(0), {"Content-Length": "0"})
            headers = {"Location": "/storage/blob", "X-Linked-Size": str(len(hub.content)), "Content-Length": "0"}
            return self.reply(302, {**headers, "X-Linked-Etag": f'"{hub.announced}"'})
        return self.send_file(hub)

    def send_file(self, hub: Hub) -> None:
        wanted = self.headers.get("Range")
        start = 0
        if wanted and self.headers.get("If-Range") == hub.etag:
            start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start >= len(hub.content):
            return self.reply(416, {"Content-Range": f"bytes */{len(hub.content)}", "Content-Length": "0"})
        body = hub.content[start:]
        headers = {"Content-Length": str(len(body)), "ETag": hub.etag}
        if start:
            headers["Content-Range"] = f"bytes {start}-{len(hub.content) - 1}/{len(hub.content)}"
        self.reply(206 if start else 200, headers)
        sent = body[: hub.break_after.pop(0)] if hub.break_after else body
        self.wfile.write(sent)
        return None

    def reply(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@pytest.fixture
def hub() -> Iterator[Hub]:
    state = Hub()
    handler = type("HubHandler", (Handler,), {"hub": state})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        state.address = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield state
        server.shutdown()
        thread.join()


def test_a_file_is_fetched_through_the_redirect(hub: Hub, tmp_path: Path, told: Any) -> None:
    settled = fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told)

    assert (settled.sha256, settled.size) == (SHA256, len(CONTENT))
    assert hub.paths == ["/org/repo/resolve/main/folder/m%201.gguf"]
    assert [path.name for path in tmp_path.iterdir()] == ["m.part"]
    assert told.totals == [len(CONTENT)]
    assert told.open == 0


def test_a_connection_that_breaks_is_resumed_where_it_broke(hub: Hub, tmp_path: Path, told: Any) -> None:
    hub.break_after = [300_000, 200_000]

    settled = fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(attempts=2), told)

    assert settled.sha256 == SHA256
    assert [request.get("Range") for request in hub.requests] == [None, "bytes=300000-", "bytes=500000-"]
    assert len(told.notes) == 2


def test_a_later_run_goes_on_where_an_earlier_one_gave_up(hub: Hub, tmp_path: Path, told: Any) -> None:
    hub.break_after = [300_000]
    with pytest.raises(SourceFault, match="What came so far is kept"):
        fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(attempts=1), told)

    fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told)

    assert hub.requests[-1]["Range"] == "bytes=300000-"
    assert (tmp_path / "m.part").read_bytes() == CONTENT


def test_a_file_that_changed_meanwhile_is_fetched_from_its_start(hub: Hub, tmp_path: Path, told: Any) -> None:
    hub.break_after = [300_000]
    with pytest.raises(SourceFault):
        fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(attempts=1), told)
    hub.content, hub.etag = CONTENT[::-1], '"v2"'
    hub.announced = hashlib.sha256(hub.content).hexdigest()

    fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told)

    assert (tmp_path / "m.part").read_bytes() == hub.content


def test_a_weak_tag_does_not_vouch_for_what_was_kept(hub: Hub, tmp_path: Path, told: Any) -> None:
    hub.etag, hub.break_after = 'W/"v1"', [300_000]

    fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told)

    assert "Range" not in hub.requests[1]
    assert (tmp_path / "m.part").read_bytes() == CONTENT


def test_a_part_that_is_complete_is_only_checked(hub: Hub, tmp_path: Path, told: Any) -> None:
    (tmp_path / "m.part").write_bytes(CONTENT)
    (tmp_path / "m.part.etag").write_text(hub.etag)

    assert fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told).sha256 == SHA256
    assert told.positions == []


def test_a_part_longer_than_the_file_is_thrown_away(hub: Hub, tmp_path: Path, told: Any) -> None:
    (tmp_path / "m.part").write_bytes(CONTENT + b"x")
    (tmp_path / "m.part.etag").write_text(hub.etag)

    assert fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told).sha256 == SHA256


def test_other_bytes_than_announced_are_refused_and_not_kept(hub: Hub, tmp_path: Path, told: Any) -> None:
    hub.announced = "0" * 64

    with pytest.raises(SourceFault, match=f"announced the SHA-256 {'0' * 64} .* and sent {SHA256}; nothing was kept"):
        fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told)
    assert list(tmp_path.iterdir()) == []


def test_a_busy_hub_is_asked_again_with_growing_patience(hub: Hub, tmp_path: Path, told: Any) -> None:
    hub.statuses = [503, 429, 500]
    waits: list[float] = []

    fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(sleep=waits.append, retry_seconds=0.5), told)

    assert waits == [0.5, 1.0, 2.0]


@pytest.mark.parametrize(
    ("status", "words"),
    [
        (401, "needs an access token"),
        (403, "needs an access token"),
        (404, "the hub has no folder/m 1.gguf in org/repo at main"),
        (418, "the hub answers 418"),
    ],
)
def test_a_refusal_is_final_and_in_words(hub: Hub, tmp_path: Path, told: Any, status: int, words: str) -> None:
    hub.statuses = [status]

    with pytest.raises(SourceFault, match=words):
        fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(), told)
    assert len(hub.requests) == 1


def test_the_token_goes_to_the_hub(hub: Hub, tmp_path: Path, told: Any) -> None:
    fetch_from_hub(FILE, tmp_path / "m.part", hub.settings(token="hf_x"), told)

    assert hub.requests[0]["Authorization"] == "Bearer hf_x"
    assert "hf_x" not in repr(hub.settings(token="hf_x"))


def test_a_hub_that_cannot_be_reached_is_told_as_offline(tmp_path: Path, told: Any) -> None:
    settings = HubSettings(endpoint="http://127.0.0.1:9", attempts=2, sleep=lambda _: None)

    with pytest.raises(SourceFault, match=r"is this machine\s+offline\?"):
        fetch_from_hub(FILE, tmp_path / "m.part", settings, told)


def test_an_endpoint_that_is_no_address_is_a_fault(tmp_path: Path, told: Any) -> None:
    with pytest.raises(SourceFault, match="is no address"):
        fetch_from_hub(FILE, tmp_path / "m.part", HubSettings(endpoint="http://a:b"), told)
