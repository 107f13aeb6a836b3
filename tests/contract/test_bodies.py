"""Bodies that clients really send and that fuzzers invent: clean JSON comes back, whatever came in."""

from __future__ import annotations

import json
from typing import Any

import httpx
import pytest

PATH = "/v1/chat/completions"
JSON = {"Content-Type": "application/json"}
HELLO = json.dumps({"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 1}).encode()


def post(client: httpx.Client, body: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
    return client.post(PATH, content=body, headers=JSON if headers is None else headers)


def saying(content: str, **fields: Any) -> bytes:
    """A request whose content is written as it stands, without escaping."""
    rest = "".join(f", {json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())
    return (f'{{"messages": [{{"role": "user", "content": "{content}"}}], "max_tokens": 1{rest}}}').encode()


@pytest.mark.parametrize(
    "content_type",
    [
        "application/json",
        "application/json; charset=utf-8",
        "APPLICATION/JSON",
        "application/vnd.api+json",
        "text/plain",
        "application/x-www-form-urlencoded",
        "",
    ],
)
def test_json_is_read_whatever_it_is_called(content_type: str, client: httpx.Client) -> None:
    assert post(client, HELLO, {"Content-Type": content_type}).status_code == 200


def test_json_without_a_content_type_is_read(client: httpx.Client) -> None:
    request = client.build_request("POST", PATH, content=HELLO)
    request.headers.pop("Content-Type", None)
    assert client.send(request).status_code == 200


@pytest.mark.parametrize(
    "content_type",
    ["application/xml", "application/octet-stream", "image/png", "multipart/form-data; boundary=x", "nonsense"],
)
def test_another_form_of_body_is_refused(content_type: str, client: httpx.Client) -> None:
    response = post(client, HELLO, {"Content-Type": content_type})
    assert (response.status_code, response.json()["error"]["code"]) == (415, "unsupported_media_type")


@pytest.mark.parametrize("encoding", ["gzip", "br", "deflate"])
def test_a_compressed_body_is_refused(encoding: str, client: httpx.Client) -> None:
    response = post(client, HELLO, {**JSON, "Content-Encoding": encoding})
    assert (response.status_code, response.json()["error"]["code"]) == (415, "unsupported_media_type")


def test_a_body_in_chunks_is_read(client: httpx.Client) -> None:
    pieces = (HELLO[start : start + 7] for start in range(0, len(HELLO), 7))
    assert client.post(PATH, content=pieces, headers=JSON).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"{",
        b'{"messages": [',
        b"{'messages': []}",
        b"hello",
        b'"\xff\xfe"',
        saying("x").replace(b'"x"', b'"\xc3\x28"'),
        saying("x").replace(b'"x"', b'"\xed\xa0\x80"'),
        b"\x00",
        b"\xef\xbb\xbf" + HELLO,
        HELLO + b"}",
        HELLO + HELLO,
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"a":' * 100_000,
        saying("x", extra=1).replace(b"1}", b"[" * 100_000 + b"]" * 100_000 + b"}"),
        saying("raw\nnewline"),
        saying("raw\x00nul"),
        saying("\\ud800"),
        saying("\\udfff and more"),
        saying("\\ud800\\u0041"),
        saying("\\x"),
        b'{"messages": undefined}',
    ],
    ids=lambda body: repr(body[:24]),
)
def test_what_is_no_json_is_refused_as_such(body: bytes, client: httpx.Client) -> None:
    response = post(client, body)
    assert response.status_code == 400, response.text
    assert len(response.content) < 4096
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("invalid_json", None)


@pytest.mark.parametrize("body", [b"[]", b"5", b"null", b"true", b'"text"', b"[{}]", b"1e400"])
def test_json_that_is_no_object_is_refused(body: bytes, client: httpx.Client) -> None:
    response = post(client, body)
    assert response.status_code == 400
    assert response.json()["error"]["type"] == "invalid_request_error"
    assert "object" in response.json()["error"]["message"]


@pytest.mark.parametrize("number", [b"NaN", b"Infinity", b"-Infinity", b"1e400", b"-1e400"])
@pytest.mark.parametrize("field", ["temperature", "max_tokens", "seed"])
def test_numbers_that_are_none_are_refused(number: bytes, field: str, client: httpx.Client) -> None:
    response = post(client, saying("x", **{field: "?"}).replace(b'"?"', number))
    assert response.status_code == 400
    assert response.json()["error"]["code"] in ("invalid_value", "invalid_json")


@pytest.mark.parametrize("value", [10**18, 10**19, 10**100, -(10**30), 10**4000])
def test_huge_integers_are_refused(value: int, client: httpx.Client) -> None:
    for field in ("max_tokens", "top_k", "n"):
        response = post(client, saying("x").replace(b'"max_tokens": 1', f'"{field}": {value}'.encode()))
        assert response.status_code == 400
        assert response.json()["error"]["param"] == field


def test_a_field_that_is_sent_twice_has_its_last_value(client: httpx.Client) -> None:
    response = post(client, saying("x").replace(b'"max_tokens": 1', b'"max_tokens": 9, "max_tokens": 2'))
    assert response.status_code == 200
    assert response.json()["usage"]["completion_tokens"] <= 2


@pytest.mark.parametrize(
    "content", ["\\u0000", "a\\u0000b", "\\ud83d\\ude00", "\\ufffe", "\\u202e", "\\u007f\\u0080", "é \U0001f600 语"]
)
def test_any_text_is_content(content: str, client: httpx.Client) -> None:
    assert post(client, saying(content)).status_code == 200


def test_empty_content_is_content(client: httpx.Client) -> None:
    assert post(client, saying("")).status_code == 200


@pytest.mark.parametrize(
    "name", ["__class__", "__proto__", "model_config", "model_fields_set", "a" * 5000, "\\u0000", ""]
)
def test_any_name_is_an_unknown_field(name: str, client: httpx.Client) -> None:
    body = saying("x").replace(b'"max_tokens"', f'"{name}": {{}}, "max_tokens"'.encode())
    assert post(client, body).status_code == 200


def test_many_faults_make_a_small_error(client: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": index} for index in range(5000)]}
    response = post(client, json.dumps(body).encode())
    assert response.status_code == 400
    assert len(response.content) < 4096


def test_a_body_on_a_route_that_reads_none_is_ignored(client: httpx.Client) -> None:
    response = client.request("GET", "/v1/models", content=b"\xff{", headers=JSON)
    assert response.status_code == 200
    assert client.post("/ping", content=b"[" * 1000, headers=JSON).status_code == 200
