"""`config/full.yaml` as it stands, with a model of another server beside its own: every kind answers its routes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer

FULL = Path(__file__).parents[2] / "config" / "full.yaml"
HELLO = {"messages": [{"role": "user", "content": "Say hello."}], "max_tokens": 8, "temperature": 0}
CHAT, MESSAGES, RESPONSES, NATIVE = "/v1/chat/completions", "/v1/messages", "/v1/responses", "/completion"


@pytest.fixture(scope="module")
def client(server: LiveServer, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with that configuration, and with the session's server behind it."""
    settings: dict[str, Any] = yaml.safe_load(FULL.read_text("utf-8"))
    settings["models"].append(
        {"id": "far", "engine": "upstream", "options": {"server": "llama_server", "urls": [server.url]}}
    )
    return connect(serve_with(settings))


def posted(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    told: dict[str, Any] = answer.json()
    return told


def test_every_kind_of_model_answers_its_routes(client: httpx.Client) -> None:
    assert posted(client, CHAT, **HELLO)["choices"][0]["message"]["content"]
    assert posted(client, MESSAGES, **HELLO)["content"][0]["text"]
    assert posted(client, RESPONSES, input="Say hello.", max_output_tokens=16)["output"]
    assert posted(client, NATIVE, prompt="Once", n_predict=4)["content"]
    assert len(posted(client, "/v1/embeddings", input="A cat.")["data"][0]["embedding"]) == 384
    ranking = posted(client, "/v1/rerank", query="What sleeps?", documents=["A stone.", "A cat sleeps."])
    assert ranking["results"][0]["index"] == 1
    question = {"type": "noul", "instructions": "Is it a greeting?"}
    assert 0 <= posted(client, "/v1/systemone", state="Hello!", questions={"q": question})["answers"]["q"]["noul"] <= 1
    assert client.post("/v1/moderations", json={"input": "a"}).status_code == 501


def test_the_model_of_the_other_server_answers_as_it_does_there(client: httpx.Client, server: LiveServer) -> None:
    near, own = (posted(client, CHAT, model=model, **HELLO) for model in ("far", "smollm2-135m"))
    assert near["choices"][0]["message"] == own["choices"][0]["message"]
    assert posted(client, MESSAGES, model="far", **HELLO)["model"] == "far"


def test_every_slot_tells_its_state(client: httpx.Client) -> None:
    posted(client, "/v1/embeddings", input="A cat.")
    slots = {each["name"]: each["state"] for each in client.get("/api/slots").json()}
    assert slots["agent"] in ("ready", "serving", "idle")
    assert slots["bge-small-en"] in ("ready", "serving", "idle")
