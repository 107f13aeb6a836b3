"""Every refusal has one shape, says what would be accepted, is small, and never repeats what was sent."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer, busy, config, wait_idle, wait_queued
from troth._generated.operations import OPERATIONS

PATH = "/v1/chat/completions"
HELLO = [{"role": "user", "content": "Hello"}]
ANSWER = {"messages": HELLO, "max_tokens": 1}
SECRET = "correct-horse-battery-staple"  # in requests that are refused; must not come back

TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    405: "invalid_request_error",
    413: "invalid_request_error",
    415: "invalid_request_error",
    429: "rate_limit_error",
    501: "not_supported_error",
    503: "unavailable_error",
}


def assert_refused(
    response: httpx.Response, status: int, code: str, *, param: str | None = None, words: str = ""
) -> Mapping[str, Any]:
    """One error in the one shape; returns what the `error` object holds."""
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    assert len(response.content) < 4096
    assert SECRET not in response.text
    body: Mapping[str, Any] = response.json()
    assert set(body) == {"error"}
    error: Mapping[str, Any] = body["error"]
    assert {"message", "type", "param", "code"} <= set(error)
    assert (error["type"], error["code"], error["param"]) == (TYPES[status], code, param)
    assert words in error["message"]
    assert error["message"].strip()
    return error


# ---- 400 -----------------------------------------------------------------------------------------


def message(**fields: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": SECRET} | fields]}


REFUSED: dict[str, tuple[dict[str, Any], str, str | None, str]] = {
    "nothing": ({}, "missing_required_parameter", "messages", "required"),
    "no messages": ({"messages": []}, "invalid_value", "messages", "at least 1"),
    "no role": ({"messages": [{"content": SECRET}]}, "missing_required_parameter", "messages.0.role", "required"),
    "another role": (message(role=SECRET), "invalid_value", "messages.0.role", "'user'"),
    "content of the wrong type": (message(content=5), "invalid_value", "messages.0.content", "string"),
    "a part without text": (
        message(content=[{"type": "text"}]),
        "missing_required_parameter",
        "messages.0.content.0.text",
        "required",
    ),
    "a part of another kind": (
        message(content=[{"type": SECRET}]),
        "invalid_value",
        "messages.0.content.0.type",
        "text",
    ),
    "a text for a number": (ANSWER | {"max_tokens": SECRET}, "invalid_value", "max_tokens", "integer"),
    "a digit in a text": (ANSWER | {"max_tokens": "5"}, "invalid_value", "max_tokens", "integer"),
    "true for a number": (ANSWER | {"max_tokens": True}, "invalid_value", "max_tokens", "integer"),
    "a fraction for a number": (ANSWER | {"max_tokens": 1.5}, "invalid_value", "max_tokens", "integer"),
    "a number for a switch": (ANSWER | {"stream": 1}, "invalid_value", "stream", "boolean"),
    "below the least": (ANSWER | {"temperature": -1}, "invalid_value", "temperature", "0"),
    "above the most": (ANSWER | {"top_p": 1.1}, "invalid_value", "top_p", "1"),
    "a sampler nobody knows": (ANSWER | {"samplers": [SECRET]}, "invalid_value", "samplers.0", "top_k"),
    "a huge integer": (ANSWER | {"max_tokens": 10**30}, "invalid_value", "max_tokens", "2147483647"),
    "too many choices": (ANSWER | {"n": 9}, "invalid_value", "n", "8"),
    "too many stops": (ANSWER | {"stop": ["x"] * 65}, "invalid_value", "stop", "64"),
    "too long stops": (ANSWER | {"stop": "x" * 4097}, "invalid_value", "stop", "4096"),
    "too many biases": (
        ANSWER | {"logit_bias": {str(token): 1 for token in range(1025)}},
        "invalid_value",
        "logit_bias",
        "1024",
    ),
    "alternatives without logprobs": (ANSWER | {"top_logprobs": 2}, "invalid_value", "top_logprobs", "logprobs"),
    "a variable that no template reads": (
        ANSWER | {"chat_template_kwargs": {"mood": SECRET}},
        "invalid_value",
        "chat_template_kwargs.mood",
        "does not read",
    ),
    "two budgets": (
        ANSWER | {"max_completion_tokens": 2},
        "conflicting_values",
        "max_completion_tokens",
        "max_tokens",
    ),
    "a guarded field": (ANSWER | {"plugins": [{"x": SECRET}]}, "unsupported_value", "plugins", "[]"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_request_that_cannot_be_served_is_refused(name: str, client: httpx.Client) -> None:
    body, code, param, words = REFUSED[name]
    assert_refused(client.post(PATH, json=body), 400, code, param=param, words=words)


@pytest.mark.parametrize("streamed", [False, True])
def test_a_prompt_that_fills_the_context_is_refused_with_counts(streamed: bool, client: httpx.Client) -> None:
    body = {"messages": [{"role": "user", "content": f"{SECRET} " * 400}], "stream": streamed}
    error = assert_refused(client.post(PATH, json=body), 400, "context_length_exceeded", param="messages")
    assert error["n_ctx"] == 1024
    assert error["n_prompt_tokens"] >= 1024
    assert error["n_surplus_tokens"] == error["n_prompt_tokens"] - 1023
    assert str(error["n_surplus_tokens"]) in error["message"]


@pytest.mark.parametrize("over", [0, 1])
def test_the_context_is_full_at_exactly_its_size(over: int, serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.cramped()))
    empty = client.post(PATH, json=talk(1)).json()["usage"]["prompt_tokens"] - 1
    response = client.post(PATH, json=talk(63 - empty + over))
    if over:
        error = assert_refused(response, 400, "context_length_exceeded", param="messages")
        assert (error["n_prompt_tokens"], error["n_surplus_tokens"]) == (64, 1)
    else:
        assert response.json()["usage"]["total_tokens"] == 64


def talk(tokens: int) -> dict[str, Any]:
    """A request whose prompt grows by one token a word."""
    return {"messages": [{"role": "system", "content": "a" + " a" * (tokens - 1)}, {"role": "user", "content": "a"}]}


# ---- 401 -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": f"Bearer {SECRET}"},
        {"Authorization": "Bearer"},
        {"Authorization": "first-key"},
        {"Authorization": "Basic first-key"},
        {"x-api-key": SECRET},
        {"x-api-key": ""},
    ],
)
def test_without_a_right_key_nothing_is_answered(
    headers: dict[str, str], serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(servers.locked()), headers=headers)
    for response in (client.post(PATH, json=ANSWER), client.get("/v1/models"), client.get("/nowhere")):
        assert_refused(response, 401, "invalid_api_key", words="x-api-key")
        assert response.headers["www-authenticate"] == "Bearer"


# ---- 404 and 405 ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "near"),
    [("/v1/chat/completion", "/v1/chat/completions"), ("/v1/models/", "/v1/models"), ("/helth", "/health"), ("/", "")],
)
def test_a_path_that_nothing_serves_is_named_with_the_nearest(path: str, near: str, client: httpx.Client) -> None:
    error = assert_refused(client.get(path), 404, "not_found", words=path)
    assert near in error["message"]


@pytest.mark.parametrize("body", [{"model": "gpt-9"}, {"model": "gpt-9", "stream": True}])
def test_a_model_that_is_not_served_is_refused_where_the_operator_says_so(
    body: dict[str, Any], serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(servers.two_models()))
    error = assert_refused(client.post(PATH, json=ANSWER | body), 404, "model_not_found", param="model")
    assert all(name in error["message"] for name in ("gpt-9", "org/tiny:latest", "second"))


def methods_by_path() -> Iterator[Any]:
    paths = {operation.path for operation in OPERATIONS.values()}
    for path in sorted(paths):
        methods = {operation.method for operation in OPERATIONS.values() if operation.path == path}
        yield pytest.param(path.replace("{", "").replace("}", ""), methods, id=path)


@pytest.mark.parametrize(("path", "methods"), list(methods_by_path()))
def test_another_method_is_refused_with_the_methods_there_are(
    path: str, methods: set[str], client: httpx.Client
) -> None:
    for method in {"GET", "POST", "PUT", "DELETE", "PATCH"} - methods:
        response = client.request(method, path)
        assert response.status_code == 405
        assert len(response.content) < 4096
        assert set(response.headers["allow"].split(", ")) - {"HEAD"} == methods | {"OPTIONS"}


@pytest.mark.parametrize(("path", "methods"), list(methods_by_path()))
def test_options_lists_the_methods_there_are(path: str, methods: set[str], client: httpx.Client) -> None:
    response = client.options(path)
    assert (response.status_code, response.content) == (204, b"")
    assert set(response.headers["allow"].split(", ")) - {"HEAD"} == methods | {"OPTIONS"}


# ---- 413 and 415 ---------------------------------------------------------------------------------


def pieces(size: int) -> Iterator[bytes]:
    """A body in chunks, without a length."""
    yield b'{"messages": "'
    for _ in range(size // 1024):
        yield b"x" * 1024
    yield b'"}'


def test_a_body_above_the_limit_is_refused_by_its_length(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.small()))
    response = client.post(PATH, content=b"x" * 4097, headers={"Content-Type": "application/json"})
    assert_refused(response, 413, "body_too_large", words="4096")


def test_a_body_above_the_limit_is_refused_while_it_comes(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.small()))
    response = client.post(PATH, content=pieces(8192), headers={"Content-Type": "application/json"})
    assert_refused(response, 413, "body_too_large", words="4096")


def test_a_body_at_the_limit_is_read(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.small()))
    body = b'{"messages": []}'.ljust(4096)
    response = client.post(PATH, content=body, headers={"Content-Type": "application/json"})
    assert_refused(response, 400, "invalid_value", param="messages")


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/xml"])
def test_only_json_is_read_where_the_operator_says_so(
    content_type: str, serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(servers.small()))
    response = client.post(PATH, content=b"{}", headers={"Content-Type": content_type})
    assert_refused(response, 415, "unsupported_media_type", words="application/json")


# ---- 429 and 503 ---------------------------------------------------------------------------------


@pytest.mark.parametrize("streamed", [False, True])
def test_a_full_queue_is_refused_with_when_to_come_back(
    streamed: bool, serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(servers.narrow()))
    wait_idle(client)
    with ThreadPoolExecutor() as pool:
        with busy(client):
            waiting = [pool.submit(client.post, PATH, json=ANSWER) for _ in range(2)]
            wait_queued(client, 2)
            response = client.post(PATH, json=ANSWER | {"stream": streamed})
        assert [each.result().status_code for each in waiting] == [200, 200]
    assert_refused(response, 429, "queue_full", words="2 requests")
    assert 1 <= int(response.headers["retry-after"]) <= 86400


def test_waiting_too_long_is_refused_with_when_to_come_back(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.impatient()))
    wait_idle(client)
    with busy(client):
        response = client.post(PATH, json=ANSWER)
    assert_refused(response, 503, "queue_timeout")
    assert 1 <= int(response.headers["retry-after"]) <= 86400


def test_a_model_that_loads_is_worth_waiting_for(tmp_path: Path, embedded_model: Path, connect: Connect) -> None:
    server = LiveServer(config(), tmp_path)
    try:
        client = connect(server)
        for body in (ANSWER, ANSWER | {"stream": True}):
            response = client.post(PATH, json=body)
            assert_refused(response, 503, "model_loading")
            assert 1 <= int(response.headers["retry-after"]) <= 86400
        for path in ("/health", "/v1/health", "/ping"):
            answer = client.get(path)
            assert (answer.status_code, answer.json()["status"]) == (503, "loading")
        assert client.get("/v1/models").json()["data"][0]["max_model_len"] is None
    finally:
        code = server.stop()
    assert code == 0


# ---- 501 -----------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def speechless(serve_with: ServeWith, tmp_path_factory: pytest.TempPathFactory, embedded_model: Path) -> LiveServer:
    """A server whose model has no chat template."""
    file = tmp_path_factory.mktemp("model") / "bare.gguf"
    key = b"tokenizer.chat_template"
    file.write_bytes(embedded_model.read_bytes().replace(key, key[::-1], 1))
    return serve_with(config([{**servers.quick(context_tokens=128, slots=1), "source": str(file)}]))


@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_without_a_chat_template_cannot_chat(streamed: bool, speechless: LiveServer, connect: Connect) -> None:
    client = connect(speechless)
    response = client.post(PATH, json=ANSWER | {"stream": streamed})
    assert_refused(response, 501, "not_supported", words="template")
    assert response.headers["x-should-retry"] == "false"
    assert client.get("/props").json()["chat_template"] == ""
    assert client.get("/v1/models").json()["data"][0]["capabilities"]["chat"] is False


# ---- and then ------------------------------------------------------------------------------------


def test_the_server_answers_after_all_of_this(serve_with: ServeWith, connect: Connect) -> None:
    for settings in (servers.narrow(), servers.impatient(), servers.small()):
        client = connect(serve_with(settings))
        assert client.post(PATH, json=ANSWER).status_code == 200
