from __future__ import annotations

from typing import Any

import pytest
from starlette.types import Message

from tests.unit.edge.small_server import SmallServer, run
from troth.edge.settings import EdgeSettings

KEYED = EdgeSettings(api_keys=("right",))


@pytest.mark.parametrize("path", ["/v1/speak", "/speak"])
def test_every_spelling_of_a_path_reaches_one_handler(path: str) -> None:
    server = SmallServer()

    assert server.say(path).status_code == 200
    assert server.calls[0].operation == "speak"


def test_a_path_parameter_may_hold_slashes() -> None:
    server = SmallServer()

    server.ask("GET", "/v1/things/org/name")

    assert server.calls[0].parameters.key == "org/name"


@pytest.mark.parametrize(
    ("path", "near"),
    [
        ("/v1/speaks", "/v1/speak"),
        ("/v1/v1/messages", "/v1/messages"),
        ("/v1/speak/", "/v1/speak"),
        ("/healthz", "/health"),
    ],
)
def test_an_unknown_path_is_a_json_404_naming_the_nearest(path: str, near: str) -> None:
    response = SmallServer().ask("POST", path)

    assert response.status_code == 404
    assert f"The nearest path is {near}." in response.text


def test_an_unknown_path_under_messages_is_answered_in_anthropic_shape() -> None:
    assert SmallServer().ask("POST", "/v1/messages/nope").json()["type"] == "error"


@pytest.mark.parametrize("path", ["/", "/v1/things/", "/" + "x" * 5000, "/docs/assets/nope.js", "/%ff"])
def test_odd_paths_are_404_without_a_redirect(path: str) -> None:
    response = SmallServer().ask("GET", path)

    assert response.status_code == 404
    assert response.json()["error"]["code"] == "not_found"
    assert len(response.content) < 4096


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("GET", "/v1/speak", "OPTIONS, POST"),
        ("DELETE", "/ping", "GET, HEAD, OPTIONS, POST"),
        ("PUT", "/v1/things/a", "GET, HEAD, OPTIONS"),
        ("BREW", "/health", "GET, HEAD, OPTIONS"),
    ],
)
def test_a_wrong_method_is_405_with_every_method_of_the_path(method: str, path: str, allow: str) -> None:
    response = SmallServer().ask(method, path)

    assert response.status_code == 405
    assert response.headers["allow"] == allow
    assert response.json()["error"]["code"] == "method_not_allowed"


def test_options_says_the_methods_and_does_nothing() -> None:
    server = SmallServer(KEYED)

    response = server.ask("OPTIONS", "/v1/speak")

    assert response.status_code == 204
    assert response.headers["allow"] == "OPTIONS, POST"
    assert not server.calls


def test_head_is_get_without_a_body() -> None:
    server = SmallServer()

    response = server.ask("HEAD", "/health")

    assert response.status_code == 200
    assert response.content == b""
    assert response.headers["content-length"] == str(len(server.ask("GET", "/health").content))


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/nope"), ("GET", "/v1/speak"), ("POST", "/v1/things/a"), ("GET", "/v1/models")]
)
def test_without_a_key_nobody_learns_which_paths_there_are(method: str, path: str) -> None:
    assert SmallServer(KEYED).ask(method, path).status_code == 401


@pytest.mark.parametrize(("key", "status"), [(b"wrong", 401), (b"right", 404)])
def test_a_websocket_is_refused_before_it_is_one(key: bytes, status: int) -> None:
    sent: list[Message] = []
    scope: dict[str, Any] = {
        "type": "websocket",
        "path": "/v1/realtime",
        "headers": [(b"x-api-key", key)],
        "query_string": b"",
        "extensions": {"websocket.http.response": {}},
        "subprotocols": [],
    }

    async def receive() -> Message:
        return {"type": "websocket.connect"}

    async def send(message: Message) -> None:
        sent.append(message)

    run(_call(SmallServer(KEYED).app, scope, receive, send))

    assert sent[0]["type"] == "websocket.http.response.start"
    assert sent[0]["status"] == status


async def _call(app: Any, *arguments: Any) -> None:
    await app(*arguments)
