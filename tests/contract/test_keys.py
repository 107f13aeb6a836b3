"""With keys configured every path is closed but the signs of life, whatever it is called and however it is asked."""

from __future__ import annotations

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer, config
from tests.support.wire import chat_body
from troth._generated.operations import OPERATIONS, Operation

KEY, SECOND_KEY = servers.locked()["auth"]["api_keys"]
OPEN_PATHS = {"/health", "/v1/health", "/ping"}
CHAT = "/v1/chat/completions"
CLOSED = [operation for operation in OPERATIONS.values() if operation.path not in OPEN_PATHS]
STRAY_PATHS = ["/", "/nope", "/v1", "/v1/", "/v1/chat/completions/", "/v1/models/", "/V1/MODELS", "//v1/models"]
STRAY_PATHS += ["/v1/embeddings", "/invocations", "/docs/", "/docs/assets/swagger-ui.css", "/docs/assets/%2e%2e/secret"]
ORIGIN = {"Origin": "https://page.example"}


def path_of(operation: Operation) -> str:
    return operation.path.replace("{model_id}", "smollm2-135m").replace("/api/slots/{name}", "/api/slots/smollm2-135m")


def ids(operation: Operation) -> str:
    return operation.id


@pytest.fixture(scope="module")
def locked(serve_with: ServeWith) -> LiveServer:
    """A server with two keys."""
    return serve_with(servers.locked())


@pytest.fixture(scope="module")
def stranger(locked: LiveServer, connect: Connect) -> httpx.Client:
    """A client without a key."""
    return connect(locked)


def assert_shut(answer: httpx.Response) -> None:
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"] == "Bearer"
    if answer.request.method != "HEAD":
        assert "Authorization: Bearer" in answer.text
        assert "x-api-key" in answer.text
        assert KEY not in answer.text


def test_only_the_signs_of_life_are_open_in_the_document() -> None:
    assert {operation.path for operation in OPERATIONS.values() if operation.open} == OPEN_PATHS


@pytest.mark.parametrize("operation", CLOSED, ids=ids)
def test_an_operation_without_a_key_is_401(stranger: httpx.Client, operation: Operation) -> None:
    assert_shut(stranger.request(operation.method, path_of(operation)))


@pytest.mark.parametrize("operation", CLOSED, ids=ids)
def test_an_operation_with_a_wrong_key_is_401(stranger: httpx.Client, operation: Operation) -> None:
    wrong = {"Authorization": f"Bearer {KEY}x"}
    assert_shut(stranger.request(operation.method, path_of(operation), headers=wrong))


@pytest.mark.parametrize("operation", [each for each in CLOSED if each.method == "GET"], ids=ids)
@pytest.mark.parametrize("header", [{"Authorization": f"Bearer {KEY}"}, {"x-api-key": SECOND_KEY}], ids=str)
def test_a_right_key_in_either_header_opens_an_operation(
    stranger: httpx.Client, operation: Operation, header: dict[str, str]
) -> None:
    later = {"judge": "later"}  # a stream of states has no end
    with stranger.stream("GET", path_of(operation), headers=header, extensions=later) as response:
        assert response.status_code == 200


@pytest.mark.parametrize("path", sorted(OPEN_PATHS))
def test_the_signs_of_life_need_no_key(stranger: httpx.Client, path: str) -> None:
    assert stranger.get(path).status_code == 200


@pytest.mark.parametrize("path", STRAY_PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "HEAD", "DELETE", "PATCH"])
def test_a_path_that_nobody_serves_is_401_as_well(stranger: httpx.Client, method: str, path: str) -> None:
    assert_shut(stranger.request(method, stranger.base_url.copy_with(raw_path=path.encode())))


@pytest.mark.parametrize("method", ["GET", "PUT", "DELETE", "PATCH", "HEAD"])
def test_a_wrong_method_does_not_get_past_the_keys(stranger: httpx.Client, method: str) -> None:
    assert_shut(stranger.request(method, CHAT))


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": "Bearer wrong", "x-api-key": KEY},
        {"Authorization": f"Bearer {KEY}", "x-api-key": "wrong"},
        {"Authorization": f"bearer {KEY}"},
        {"Authorization": "Basic d3Jvbmc6d3Jvbmc=", "x-api-key": KEY},
        {"X-API-Key": SECOND_KEY},
    ],
    ids=str,
)
def test_one_right_key_among_what_is_sent_is_enough(stranger: httpx.Client, headers: dict[str, str]) -> None:
    assert stranger.post(CHAT, json=chat_body("Hi.", max_tokens=1), headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"Authorization": KEY},
        {"Authorization": f"Basic {KEY}"},
        {"Authorization": "Bearer"},
        {"x-api-key": ""},
        {"x-api-key": KEY[:-1]},
        {"x-api-key": KEY.upper()},
        {"x-api-key": f"{KEY},{SECOND_KEY}"},
        {"api-key": KEY},
        {"Cookie": f"api_key={KEY}"},
    ],
    ids=str,
)
def test_what_is_no_key_opens_nothing(stranger: httpx.Client, headers: dict[str, str]) -> None:
    assert_shut(stranger.post(CHAT, json=chat_body("Hi."), headers=headers))


def test_a_key_in_the_query_opens_nothing(stranger: httpx.Client) -> None:
    assert_shut(stranger.get("/v1/models", params={"api_key": KEY, "key": KEY}))


def test_keys_are_looked_at_before_the_body(stranger: httpx.Client) -> None:
    assert_shut(stranger.post(CHAT, content=b"{no JSON", headers={"Content-Type": "application/json"}))
    assert_shut(stranger.post(CHAT, content=b"x", headers={"Content-Type": "image/png"}))


@pytest.mark.parametrize("path", [CHAT, "/v1/models", "/nope", "/health"])
def test_a_preflight_needs_no_key(stranger: httpx.Client, path: str) -> None:
    wanted = "authorization, content-type, x-api-key, x-stainless-lang"
    asked = ORIGIN | {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": wanted}
    answer = stranger.options(path, headers=asked)
    assert answer.status_code == 200
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "POST" in answer.headers["access-control-allow-methods"]
    allowed = answer.headers["access-control-allow-headers"].lower()
    assert all(name in allowed for name in wanted.split(", "))
    assert "access-control-allow-credentials" not in answer.headers


def test_a_page_can_read_why_it_was_refused(stranger: httpx.Client) -> None:
    for answer in (stranger.get("/v1/models", headers=ORIGIN), stranger.post(CHAT, headers=ORIGIN)):
        assert_shut(answer)
        assert answer.headers["access-control-allow-origin"] == "*"
    key = {"Authorization": f"Bearer {KEY}"}
    for answer in (
        stranger.post(CHAT, json=chat_body("Hi.", best_of=2), headers=ORIGIN | key),
        stranger.get("/nope", headers=ORIGIN | key),
        stranger.delete(CHAT, headers=ORIGIN | key),
    ):
        assert answer.status_code in (400, 404, 405)
        assert answer.headers["access-control-allow-origin"] == "*"


def test_an_options_request_that_is_no_preflight_reveals_nothing(stranger: httpx.Client) -> None:
    answer = stranger.options("/v1/models")
    assert answer.status_code in (200, 204, 401)
    assert "smollm2" not in answer.text


def test_open_models_opens_the_lists_and_nothing_else(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(config(auth={"api_keys": [KEY], "open_models": True})))
    assert client.get("/v1/models").status_code == 200
    assert client.get("/models").status_code == 200
    assert client.get("/v1/models/smollm2-135m").status_code == 200
    for operation in CLOSED:
        if "/models" not in operation.path:
            assert_shut(client.request(operation.method, path_of(operation)))


def test_without_keys_everything_is_open(client: httpx.Client) -> None:
    assert client.get("/v1/models").status_code == 200
    assert client.get("/v1/models", headers={"Authorization": "Bearer whatever"}).status_code == 200
