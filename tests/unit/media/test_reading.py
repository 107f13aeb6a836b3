"""From data URLs and base64 to bytes; every fault names the client's field."""

from __future__ import annotations

import asyncio
import base64

import pytest

from troth.domain import Medium
from troth.errors import BadRequest
from troth.media.fetching import Fetcher
from troth.media.reading import Reader
from troth.media.settings import MediaSettings

READER = Reader(Fetcher(MediaSettings(bytes_max=64)))
BODY = b"\x89PNG\r\n\x1a\n body"
TEXT = base64.b64encode(BODY).decode()


def medium(source: str, *, is_base64: bool = False) -> Medium:
    return Medium(kind="image", source=source, path="messages.2.content.0.image_url.url", is_base64=is_base64)


@pytest.mark.parametrize(
    "source",
    [
        f"data:image/png;base64,{TEXT}",
        f"DATA:image/png;BASE64,{TEXT}",
        f"data:image/png;charset=x;base64,{TEXT}",
        f"data:;base64,{TEXT}",
        f"data:image/png;base64,{TEXT[:8]}\r\n{TEXT[8:]}",
        f"data:image/png;base64,{TEXT.replace('=', '%3D')}",
        "data:image/png,%89PNG%0D%0A%1A%0A%20body",
        TEXT,
    ],
)
def test_every_spelling_of_the_same_bytes_is_read(source: str) -> None:
    assert READER.decode(medium(source)) == BODY


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("file:///etc/passwd", "of the form file:"),
        ("ftp://example.org/a.png", "of the form ftp:"),
        ("javascript:alert(1)", "of the form javascript:"),
        ("blob:abc", "of the form blob:"),
        ("data:image/png;base64", "no comma"),
        ("data:text/html;base64,PHN2Zz4=", "is no image, but text/html"),
        ("data:image/png;base64,", "empty"),
        ("data:image/png;base64,****", "no valid base64"),
        ("data:image/png;base64,abc", "no valid base64"),
        ("data:image/png;base64,ab==cd==", "no valid base64"),
        ("data:image/png;base64,ä", "letters outside ASCII"),
        (f"data:image/png;base64,{'AAAA' * 22}", "media.bytes_max"),
        (f"data:image/png,{'x' * 65}", "media.bytes_max"),
        ("A" * 200_000, "media.bytes_max"),
    ],
)
def test_what_cannot_be_read_is_refused_by_path_in_few_words(source: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words) as refused:
        READER.decode(medium(source))
    assert refused.value.param == "messages.2.content.0.image_url.url"
    assert refused.value.message.startswith("messages.2.content.0.image_url.url: the picture cannot be used: ")
    assert len(refused.value.message) < 300


def test_base64_of_anthropic_s_is_never_an_address() -> None:
    with pytest.raises(BadRequest, match="no valid base64"):
        READER.decode(medium("file:///etc/passwd", is_base64=True))


@pytest.mark.parametrize("address", ["http://127.0.0.1:1/", "https://example.org/a.png", "HTTP://169.254.169.254/"])
def test_no_host_is_asked_that_is_not_allowed(address: str) -> None:
    with pytest.raises(BadRequest, match=r"media\.allowed_hosts") as refused:
        asyncio.run(READER.fetch(medium(address)))
    assert refused.value.param == "messages.2.content.0.image_url.url"
