"""OpenAI's Responses API: items, the ladder of events, and one end always."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import openai
import pytest
from openai import OpenAI

from tests.contract import servers
from tests.contract.conftest import ServeWith
from tests.support.live import LiveServer
from tests.support.sdk import MODEL, sdk
from tests.support.wire import Gauges, Wire

PATH = "/v1/responses"
QUESTION = "What is the capital of France?"
GREEDY: dict[str, Any] = {"temperature": 0, "instructions": "Be brief."}


@pytest.fixture(scope="module")
def api(server: LiveServer) -> Iterator[OpenAI]:
    """The SDK at the usual server."""
    with sdk(server.url) as api:
        yield api


def ask(client: httpx.Client, sent: Any = QUESTION, **fields: Any) -> dict[str, Any]:
    response = client.post(PATH, json={"input": sent, **GREEDY, "max_output_tokens": 16, **fields})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def text_of(answer: dict[str, Any]) -> str:
    return "".join(part["text"] for item in answer["output"] for part in item["content"])


def events(client: httpx.Client, sent: Any = QUESTION, **fields: Any) -> list[dict[str, Any]]:
    body = {"input": sent, **GREEDY, "max_output_tokens": 16, "stream": True, **fields}
    response = client.post(PATH, json=body)
    assert response.status_code == 200, response.text
    found = []
    for frame in response.text.split("\n\n")[:-1]:
        name, data = frame.split("\n")
        found.append(json.loads(data.removeprefix("data: ")))
        assert name == f"event: {found[-1]['type']}"
    return found


def said(text: str, role: str = "user", kind: str = "input_text", **item: Any) -> dict[str, Any]:
    return {"role": role, "content": [{"type": kind, "text": text}], **item}


def test_a_text_and_items_are_one_conversation(client: httpx.Client) -> None:
    plain = ask(client)

    for item in (
        said(QUESTION),
        said(QUESTION, type="message", id="msg_1", status=None),
        {"role": "user", "content": QUESTION},
    ):
        assert text_of(ask(client, [item])) == text_of(plain)
    assert "Paris" in text_of(plain)
    assert plain["status"] == "completed"


def test_instructions_and_developers_come_first(client: httpx.Client) -> None:
    one = ask(client, [said(QUESTION)], instructions="Answer in one word.")
    other = ask(client, [said("Answer in one word.", "developer"), said(QUESTION)], instructions=None)

    assert one["usage"]["input_tokens"] == other["usage"]["input_tokens"]
    assert text_of(one) == text_of(other)


def test_an_echoed_answer_is_history(client: httpx.Client) -> None:
    first = ask(client)
    silent: dict[str, Any] = {"type": "reasoning", "summary": [], "content": None, "encrypted_content": None}

    second = ask(client, [said(QUESTION), silent, *first["output"], said("And of Italy?")])

    assert "Rome" in text_of(second)


def test_an_answer_cut_at_its_budget_is_incomplete(client: httpx.Client) -> None:
    cut = ask(client, max_output_tokens=2)

    assert cut["status"] == "incomplete"
    assert cut["incomplete_details"] == {"reason": "max_output_tokens"}
    assert cut["output"][0]["status"] == "incomplete"
    assert events(client, max_output_tokens=2)[-1]["type"] == "response.incomplete"


@pytest.mark.parametrize("budget", [0, 2, 16])
def test_the_ladder_of_events_is_whole(client: httpx.Client, budget: int) -> None:
    told = events(client, max_output_tokens=budget)

    names = [event["type"].removeprefix("response.") for event in told]
    deltas = [event["delta"] for event in told if event["type"] == "response.output_text.delta"]
    assert names == [
        "created", "in_progress", "output_item.added", "content_part.added", *["output_text.delta"] * len(deltas),
        "output_text.done", "content_part.done", "output_item.done", "completed" if budget == 16 else "incomplete",
    ]  # fmt: skip
    assert [event["sequence_number"] for event in told] == list(range(len(told)))
    last = told[-1]["response"]
    assert "".join(deltas) == text_of(last)
    assert {event["item_id"] for event in told if "item_id" in event} == {last["output"][0]["id"]}
    assert {event["response"]["id"] for event in told if "response" in event} == {last["id"]}
    assert all(event["logprobs"] == [] for event in told if event["type"].startswith("response.output_text"))


def test_the_count_is_that_of_the_real_call(client: httpx.Client) -> None:
    body = {"input": [said(QUESTION)], "instructions": "Be brief."}

    counted = client.post(PATH + "/input_tokens", json=body).json()

    real = ask(client, body["input"], instructions=body["instructions"])["usage"]["input_tokens"]
    assert counted == {"object": "response.input_tokens", "input_tokens": real}


def test_what_codex_sends_around_a_question_is_fine(client: httpx.Client) -> None:
    body = {
        "model": "local-model",
        "input": [said("Rules.", "developer", type="message"), said("More.", "developer"), said(QUESTION)],
        "tools": [], "tool_choice": "auto", "parallel_tool_calls": True, "stream": False, "store": False,
        "reasoning": {"summary": "auto"}, "include": ["reasoning.encrypted_content"], "prompt_cache_key": "k",
        "client_metadata": {"a": "b"}, "text": {"verbosity": "low"}, "max_output_tokens": 4,
    }  # fmt: skip
    response = client.post(PATH, json=body, headers={"session-id": "s", "originator": "codex_exec"})

    assert response.status_code == 200, response.text


def test_silence_is_filled_with_numbered_events(serve_with: ServeWith) -> None:
    server = serve_with(servers.narrow())
    body = {"input": QUESTION, "max_output_tokens": 300, "ignore_eos": True, "stream": True}
    with Wire(server.url) as busy, Wire(server.url) as waiting:
        busy.ask(body, path=PATH)
        busy.read_until(b"output_text.delta")
        waiting.ask({**body, "max_output_tokens": 1}, path=PATH)
        heard = waiting.read_until(b'"sequence_number":3,')
    assert heard.count(b"event: response.in_progress") == 3


def test_a_client_that_leaves_frees_its_slot(server: LiveServer, client: httpx.Client) -> None:
    with Wire(server.url) as wire:
        wire.ask({"input": QUESTION, "ignore_eos": True, "stream": True}, path=PATH)
        wire.read_until(b"output_text.delta")
    Gauges(client).wait_running(0)


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"input": [{"type": "function_call", "name": "a", "arguments": "{}", "call_id": "c"}]}, "input.0"),
        ({"input": [said("a"), {"type": "function_call", "name": "a", "call_id": "c"}]}, "input.1.arguments"),
        ({"input": [said("a"), {"type": "function_call_output", "call_id": "c"}]}, "input.1.output"),
        ({"input": [said("a"), {"type": "custom_tool_call", "call_id": "c"}]}, "input.1.type"),
        ({"input": [said("a", kind="input_image")]}, "input.0.content.0.image_url"),
        ({"input": [said("a", kind="input_film")]}, "input.0.content.0.type"),
        ({"input": [{"role": "user", "content": [{"type": "input_text"}]}]}, "input.0.content.0.text"),
        ({"input": [{"role": "user"}]}, "input.0.content"),
        ({"input": [{"content": "a"}]}, "input.0.role"),
        ({"input": [said("a"), {"type": "reasoning", "encrypted_content": "xyz"}]}, "input.1.encrypted_content"),
        ({"input": [said("a"), said("b", "assistant", "output_text")]}, "input.1"),
        ({"input": []}, "input"),
        ({"input": 5}, "input"),
        ({"previous_response_id": "resp_1"}, "previous_response_id"),
        ({"tools": [{"type": "function"}]}, "tools.0.name"),
        ({"tools": [{"type": "web_search"}], "tool_choice": "required"}, "tool_choice"),
        ({"text": {"format": {"type": "json_schema"}}}, "text.format.schema"),
        ({"text": {"format": {"type": "text", "schema": {"const": 1}}}}, "text.format.schema"),
        ({"reasoning": {"effort": "high"}}, "reasoning.effort"),
        ({"background": True}, "background"),
        ({"truncation": "auto"}, "truncation"),
        ({"n": 2}, "n"),
        ({"max_output_tokens": 4, "max_tokens": 5}, "max_output_tokens"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_by_name(client: httpx.Client, fields: dict[str, Any], param: str) -> None:
    response = client.post(PATH, json={"input": QUESTION, **fields})

    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == param
    assert param in response.json()["error"]["message"]


# ---- the SDK --------------------------------------------------------------------------------------


def test_the_sdk_asks_streams_and_counts(api: OpenAI) -> None:
    asked: dict[str, Any] = {"model": MODEL, "input": QUESTION, "instructions": "Be brief."}
    whole = api.responses.create(**asked, temperature=0, max_output_tokens=16)
    with api.responses.stream(**asked, temperature=0, max_output_tokens=16) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    counted = api.responses.input_tokens.count(**asked)

    assert whole.output_text
    assert final.output_text == whole.output_text
    assert kinds[-1] == "response.completed"
    assert whole.usage is not None
    assert counted.input_tokens == whole.usage.input_tokens


def test_the_sdk_maps_a_refusal_to_its_own_error(api: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError, match="previous_response_id"):
        api.responses.create(model=MODEL, input="a", previous_response_id="resp_1")
