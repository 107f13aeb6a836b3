"""What clients see of another server's faults: a status and words before the first byte, one frame after it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect
from tests.support.judge import chunks_of
from tests.support.live import LiveServer, wait_until
from tests.support.upstream_server import DONE, UpstreamServer, delta, playing, silence, spoken, stream, whole

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
BODY = {"messages": [{"role": "user", "content": "Hello"}], "max_tokens": 5}
SHORT_SECONDS = 0.3


@pytest.fixture(scope="module")
def far() -> Iterator[UpstreamServer]:
    """A server that plays what a test gives it."""
    with playing(spoken("a")) as server:
        yield server


@pytest.fixture(scope="module")
def near(far: UpstreamServer, tmp_path_factory: pytest.TempPathFactory, connect: Connect) -> Iterator[httpx.Client]:
    """A client of the server in front of it."""
    with fronting(far, tmp_path_factory.mktemp("front")) as server:
        yield connect(server)


@contextmanager
def fronting(far: UpstreamServer, folder: Path, **sections: Any) -> Iterator[LiveServer]:
    options = {"server": "vllm", "urls": [far.url], "api_key": "top-secret", "idle_seconds": SHORT_SECONDS}
    model = {"id": "near", "engine": "upstream", "options": options | {"health_seconds": 60.0}}
    server = LiveServer({"models": [model], **sections}, folder)
    try:
        server.wait_ready()
        yield server
    finally:
        assert server.stop() == 0
        assert "top-secret" not in server.log()


def play(far: UpstreamServer, *plays: Any) -> None:
    far.plays.clear()
    far.plays.extend(plays)


@pytest.mark.parametrize(("path", "body"), [(CHAT, BODY), (MESSAGES, BODY), (RESPONSES, {"input": "Hello"})])
def test_a_refusal_keeps_status_words_and_the_shape_of_the_route(
    near: httpx.Client, far: UpstreamServer, path: str, body: dict[str, Any]
) -> None:
    play(far, whole({"error": {"message": "slow down"}}, 429, **{"Retry-After": "9"}))

    answer = near.post(path, json=body)

    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "9")
    error = answer.json()["error"]
    assert "slow down" in error["message"]
    assert error["type"] == ("rate_limit_error" if path == MESSAGES else "upstream_error")


def test_a_silence_before_the_answer_is_504(near: httpx.Client, far: UpstreamServer) -> None:
    play(far, silence)

    answer = near.post(CHAT, json=BODY)

    assert answer.status_code == 504
    error = answer.json()["error"]
    assert (error["code"], error["details"]["reason"]) == ("upstream_stalled", "read")


def test_a_silence_in_a_whole_answer_is_504(near: httpx.Client, far: UpstreamServer) -> None:
    play(far, stream(delta(content="a"), then="hang"))

    assert near.post(CHAT, json=BODY).status_code == 504


def test_a_silence_in_a_stream_is_one_error_frame(near: httpx.Client, far: UpstreamServer) -> None:
    play(far, stream(delta(content="a"), then="hang"))

    *said, last = chunks_of(near.post(CHAT, json=BODY | {"stream": True}).text)

    assert said[-1]["choices"][0]["delta"] == {"content": "a"}
    assert last["error"]["code"] == "upstream_stalled"


@pytest.mark.parametrize(
    ("path", "body", "mark"),
    [(MESSAGES, BODY, '"type":"api_error"'), (RESPONSES, {"input": "Hello"}, '"type":"response.failed"')],
)
def test_nonsense_in_a_stream_is_a_fault_in_the_words_of_the_dialect(
    near: httpx.Client, far: UpstreamServer, path: str, body: dict[str, Any], mark: str
) -> None:
    play(far, stream(delta(content="a"), b"data: nonsense\n\n", DONE))

    assert mark in near.post(path, json=body | {"stream": True}).text


def test_an_answer_that_breaks_its_form_is_no_answer(near: httpx.Client, far: UpstreamServer) -> None:
    play(far, spoken("no json"))

    answer = near.post(CHAT, json=BODY | {"response_format": {"type": "json_object"}})

    assert answer.status_code == 502
    assert "form" in answer.json()["error"]["message"]


def test_a_server_that_comes_back_is_asked_again(far: UpstreamServer, tmp_path: Path, connect: Connect) -> None:
    with playing(spoken("a"), is_well=False) as other, fronting_unready(other, tmp_path) as server:
        client = connect(server)
        down = client.get("/health")
        assert down.status_code == 503
        assert "replica 0" in down.json()["models"][0]["fault"]
        other.is_well = True
        wait_until(lambda: client.get("/ping").status_code == 200, "the other server is back", 10)
        assert client.post(CHAT, json=BODY).json()["choices"][0]["message"]["content"] == "a"


@contextmanager
def fronting_unready(far: UpstreamServer, folder: Path) -> Iterator[LiveServer]:
    options = {"server": "openai", "urls": [far.url], "health_seconds": 0.2, "models_cache_seconds": 0.1}
    server = LiveServer({"models": [{"id": "near", "engine": "upstream", "options": options}]}, folder)
    try:
        wait_until(lambda: "event=unreached" in server.log(), "the other server was asked")
        yield server
    finally:
        assert server.stop() == 0


def test_the_fields_of_a_request_arrive_in_the_servers_words(near: httpx.Client, far: UpstreamServer) -> None:
    play(far, spoken("a"))
    far.asked.clear()

    near.post(MESSAGES, json=BODY | {"system": "Be kind.", "top_k": 5, "stop_sequences": ["END"]})

    (asked,) = far.asked
    assert json.loads(json.dumps(asked.body)) == {
        "model": "far",
        "stream": True,
        "stream_options": {"include_usage": True},
        "messages": [{"role": "system", "content": "Be kind."}, {"role": "user", "content": "Hello"}],
        "top_k": 5,
        "max_tokens": 5,
        "stop": ["END"],
    }
