"""An engine in a process of its own: what a crash costs, and what it does not."""

from __future__ import annotations

import json
import os
import signal
import threading
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer, config, health_of, wait_until
from tests.support.wire import chat_body

FAR, NEAR = "far", "near"


@pytest.fixture(scope="module")
def server(serve_with: ServeWith) -> LiveServer:
    """Two models: one in a process of its own with one slot, one on a thread of the server."""
    far = {**servers.quick(context_tokens=1024, slots=2), "id": FAR, "isolation": "process"}
    near = {**servers.quick(context_tokens=1024, slots=1), "id": NEAR}
    return serve_with(config([far, near]))


@pytest.fixture
def client(server: LiveServer, connect: Connect) -> httpx.Client:
    """A client whose every answer is judged. Both models are ready."""
    client = connect(server)
    wait_until(lambda: all(of_model(client, name)["status"] == "ready" for name in (FAR, NEAR)), "both are ready")
    return client


def of_model(client: httpx.Client, name: str) -> dict[str, Any]:
    """What /health says of the model."""
    (told,) = (model for model in health_of(client)["models"] if model["id"] == name)
    return dict(told)


def story(model: str, **fields: Any) -> dict[str, Any]:
    """A request whose answer takes seconds."""
    return chat_body("Tell me a long story.", model=model, ignore_eos=True, **{"max_tokens": 400, **fields})


class Running:
    """A request on a thread: its status, and the lines of its body so far."""

    def __init__(self, client: httpx.Client, path: str, body: dict[str, Any]) -> None:
        self.lines: list[str] = []
        self.status = 0
        self._thread = threading.Thread(target=self._run, args=(client, path, body))
        self._thread.start()

    def _run(self, client: httpx.Client, path: str, body: dict[str, Any]) -> None:
        with client.stream("POST", path, json=body, timeout=120, extensions={"judge": "later"}) as response:
            self.status = response.status_code
            self.lines += (line for line in response.iter_lines() if line)

    def wait_spoken(self) -> None:
        """The first frames have come."""
        wait_until(lambda: len(self.lines) > 2, "the stream speaks")

    def end(self) -> list[str]:
        """The lines, once the request is over."""
        self._thread.join(120)
        assert not self._thread.is_alive()
        return self.lines


class Stream(Running):
    """A streamed request: its lines come one by one."""

    def _run(self, client: httpx.Client, path: str, body: dict[str, Any]) -> None:
        with client.stream("POST", path, json=body, timeout=120, extensions={"judge": "later"}) as response:
            self.status = response.status_code
            for line in response.iter_lines():
                self.lines += [line] if line else []


def data(line: str) -> dict[str, Any]:
    """The object of a frame."""
    told: dict[str, Any] = json.loads(line.removeprefix("data: "))
    return told


def test_health_says_where_each_engine_lives(server: LiveServer, client: httpx.Client) -> None:
    far, near = (of_model(client, name)["details"] for name in (FAR, NEAR))

    assert far["isolation"] == "process"
    assert near["isolation"] == "thread"
    assert far["process"] != server.process.pid


def test_an_answer_is_the_same_in_either(client: httpx.Client) -> None:
    for fields in ({"temperature": 0}, {"temperature": 1.2, "seed": 5, "logprobs": True, "top_logprobs": 3}):
        told = []
        for name in (FAR, NEAR):
            body = chat_body("What is the capital of Japan?", model=name, max_tokens=16, **fields)
            told.append(client.post("/v1/chat/completions", json=body).json()["choices"])
        assert told[0] == told[1]


@pytest.mark.parametrize("number", [signal.SIGSEGV, signal.SIGKILL], ids=["a crash", "the kernel"])
def test_the_end_of_the_process_ends_its_requests_alone_and_the_engine_comes_back(
    client: httpx.Client, number: signal.Signals
) -> None:
    pid = of_model(client, FAR)["details"]["process"]
    beside = Stream(client, "/v1/chat/completions", story(NEAR, stream=True))
    chat = Stream(client, "/v1/chat/completions", story(FAR, stream=True))
    messages = Stream(client, "/v1/messages", story(FAR, stream=True))
    for each in (beside, chat, messages):
        each.wait_spoken()
    waiting = Running(client, "/v1/chat/completions", story(FAR))
    wait_until(lambda: of_model(client, FAR)["queued"] == 1, "one request waits")

    os.kill(pid, number)
    told = wait_until(lambda: fault_of(client), "/health tells of it")

    assert f"({number.name})" in told
    error = data(chat.end()[-1])["error"]
    assert (error["type"], error["code"]) == ("server_error", "engine_error")
    assert f"({number.name})" in error["message"]
    assert messages.end()[-2] == "event: error"
    assert data(messages.end()[-1])["error"]["type"] == "api_error"
    (whole,) = waiting.end()
    assert waiting.status == 500
    assert json.loads(whole)["error"]["code"] == "engine_error"
    refused = client.post("/v1/chat/completions", json=story(FAR))
    assert refused.status_code == 503
    assert int(refused.headers["Retry-After"]) > 0

    assert beside.end()[-1] == "data: [DONE]"
    assert not any('"error"' in line for line in beside.lines)
    wait_until(lambda: of_model(client, FAR)["status"] == "ready", "the engine is back")
    assert of_model(client, FAR)["details"]["process"] != pid
    body = chat_body("What is the capital of Japan?", model=FAR, temperature=0, max_tokens=16)
    assert "Tokyo" in client.post("/v1/chat/completions", json=body).json()["choices"][0]["message"]["content"]


def fault_of(client: httpx.Client) -> str:
    """Why the isolated model cannot answer; empty while it can."""
    return str(of_model(client, FAR)["fault"] or "")
