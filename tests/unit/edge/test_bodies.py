from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.unit.edge.small_server import SmallServer
from troth.edge.settings import EdgeSettings

BODY = b'{"turns": [{"role": "user", "content": "hello"}]}'


async def chunks(total: int, size: int = 100) -> AsyncIterator[bytes]:
    for start in range(0, total, size):
        yield b" " * min(size, total - start)


@pytest.mark.parametrize(
    "media_type",
    [
        None,
        "",
        "application/json",
        "application/json; charset=utf-8",
        "text/plain",
        "application/x-www-form-urlencoded",
        "application/vnd.api+json",
        "*/*",
    ],
)
def test_json_is_read_whatever_a_bare_client_calls_it(media_type: str | None) -> None:
    headers = {} if media_type is None else {"content-type": media_type}

    assert SmallServer().ask("POST", "/v1/speak", content=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "media_type", ["application/xml", "multipart/form-data; boundary=x", "application/octet-stream"]
)
def test_other_media_types_are_refused(media_type: str) -> None:
    response = SmallServer().ask("POST", "/v1/speak", content=BODY, headers={"content-type": media_type})

    assert response.status_code == 415
    assert response.json()["error"]["code"] == "unsupported_media_type"


def test_strict_content_type_takes_only_json() -> None:
    server = SmallServer(EdgeSettings(strict_content_type=True))

    assert server.ask("POST", "/v1/speak", content=BODY).status_code == 415
    assert server.ask("POST", "/v1/speak", content=BODY, headers={"content-type": "application/json"}).is_success


def test_a_compressed_body_is_refused() -> None:
    response = SmallServer().ask("POST", "/v1/speak", content=BODY, headers={"content-encoding": "gzip"})

    assert response.status_code == 415
    assert response.headers["accept-encoding"] == "identity"


def test_a_chunked_body_is_read() -> None:
    async def parts() -> AsyncIterator[bytes]:
        yield BODY[:10]
        yield BODY[10:]

    assert SmallServer().ask("POST", "/v1/speak", content=parts()).status_code == 200


@pytest.mark.parametrize("size", [len(BODY), len(BODY) + 1])
def test_the_largest_body_passes_and_one_byte_more_does_not(size: int) -> None:
    server = SmallServer(EdgeSettings(body_bytes_max=len(BODY)))

    response = server.ask("POST", "/v1/speak", content=BODY.ljust(size))

    assert response.status_code == (200 if size == len(BODY) else 413)


def test_a_chunked_body_is_counted_while_it_comes() -> None:
    read = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal read
        async for chunk in chunks(1_000_000):
            read += len(chunk)
            yield chunk

    response = SmallServer(EdgeSettings(body_bytes_max=1000)).ask("POST", "/v1/speak", content=endless())

    assert response.status_code == 413
    assert response.json()["error"]["code"] == "body_too_large"
    assert read == 1100


def test_a_declared_length_is_refused_before_anything_is_read() -> None:
    read = 0

    async def promised() -> AsyncIterator[bytes]:
        nonlocal read
        read += 1
        yield b" "

    server = SmallServer(EdgeSettings(body_bytes_max=1000))
    response = server.ask("POST", "/v1/speak", content=promised(), headers={"content-length": "1001"})

    assert response.status_code == 413
    assert read == 0
