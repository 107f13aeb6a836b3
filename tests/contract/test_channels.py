"""gpt-oss's channels on a live server: a form holds the final one, and no marker is ever told."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import jsonschema
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.harmony_model import make_harmony_model
from tests.support.judge import chunks_of
from tests.support.live import config

CHAT = "/v1/chat/completions"
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"word": {"enum": ["fox", "owl"]}, "n": {"type": "integer", "minimum": 0, "maximum": 9}},
    "required": ["word", "n"],
    "additionalProperties": False,
}
TOOL = {"type": "function", "function": {"name": "f", "parameters": SCHEMA}}
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Name an animal."}], "max_tokens": 120}


@pytest.fixture(scope="module")
def channels(
    serve_with: ServeWith, connect: Connect, embedded_model: Path, tmp_path_factory: pytest.TempPathFactory
) -> httpx.Client:
    """A client of a server whose model writes in channels."""
    model = make_harmony_model(embedded_model, tmp_path_factory.mktemp("harmony"))
    return connect(serve_with(config([servers.quick(context_tokens=512, slots=1) | model])))


def message(client: httpx.Client, **fields: Any) -> Any:
    """The message of a complete answer."""
    response = client.post(CHAT, json=ASKED | fields)
    assert response.status_code == 200, response.text
    (choice,) = response.json()["choices"]
    assert choice["finish_reason"] in ("stop", "tool_calls"), choice
    return choice["message"]


@pytest.mark.parametrize("seed", range(3))
def test_a_schema_holds_the_final_channel(seed: int, channels: httpx.Client) -> None:
    answer = message(channels, json_schema=SCHEMA, seed=seed, temperature=1, thinking_token_budget=8)
    jsonschema.validate(json.loads(answer["content"]), SCHEMA)
    assert "<|" not in answer["content"] + (answer.get("reasoning_content") or "")


def test_a_grammar_holds_it_too_without_reasoning(channels: httpx.Client) -> None:
    answer = message(channels, grammar='root ::= "yes" | "no"', temperature=0, enable_thinking=False)
    assert answer["content"] in ("yes", "no")
    assert not answer.get("reasoning_content")


def test_a_stream_tells_the_same_text(channels: httpx.Client) -> None:
    fields = {"json_schema": SCHEMA, "temperature": 0, "thinking_token_budget": 8}
    chunks = chunks_of(channels.post(CHAT, json=ASKED | fields | {"stream": True}).text)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("content") or "" for delta in deltas) == message(channels, **fields)["content"]


def test_a_call_that_is_demanded_is_written_in_its_channel(channels: httpx.Client) -> None:
    answer = message(channels, tools=[TOOL], tool_choice="required", parallel_tool_calls=False, temperature=0)
    (call,) = answer["tool_calls"]
    assert call["function"]["name"] == "f"
    jsonschema.validate(json.loads(call["function"]["arguments"]), SCHEMA)
