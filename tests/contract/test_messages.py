"""Anthropic's Messages API: blocks, streams, counts and errors as its clients need them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer
from tests.support.wire import Gauges, Wire

PATH = "/v1/messages"
GREEDY: dict[str, Any] = {"temperature": 0, "system": "Be brief."}
QUESTION: list[dict[str, Any]] = [{"role": "user", "content": "What is the capital of France?"}]


@pytest.fixture(scope="module")
def api(server: LiveServer) -> Iterator[anthropic.Anthropic]:
    """The SDK at the usual server."""
    with anthropic.Anthropic(base_url=server.url, api_key="unused", max_retries=0, timeout=60.0) as api:
        yield api


def ask(client: httpx.Client, **fields: Any) -> dict[str, Any]:
    response = client.post(PATH, json={"messages": QUESTION, "max_tokens": 16, **GREEDY, **fields})
    assert response.status_code == 200, response.text
    answer: dict[str, Any] = response.json()
    return answer


def refused(client: httpx.Client, status: int = 400, path: str = PATH, **fields: Any) -> dict[str, Any]:
    response = client.post(path, json={"messages": QUESTION, "max_tokens": 4, **fields})
    assert response.status_code == status, response.text
    body = response.json()
    assert body["type"] == "error"
    assert body["request_id"] == response.headers["x-request-id"]
    error: dict[str, Any] = body["error"]
    return error


def events(client: httpx.Client, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
    body = {"messages": QUESTION, "max_tokens": 16, **GREEDY, "stream": True, **fields}
    frames = client.post(PATH, json=body).text.split("\n\n")[:-1]
    found = [(name.removeprefix("event: "), json.loads(data.removeprefix("data: ")))
             for name, data in (frame.split("\n") for frame in frames)]  # fmt: skip
    assert all(name == data["type"] for name, data in found)
    return found


def text_of(answer: dict[str, Any]) -> str:
    return "".join(block["text"] for block in answer["content"])


def test_texts_and_blocks_of_text_are_one_conversation(client: httpx.Client) -> None:
    blocks = [{"role": "user", "content": [{"type": "text", "text": QUESTION[0]["content"], "cache_control": None}]}]
    plain = ask(client, system="Be brief.")

    assert text_of(ask(client, messages=blocks, system=[{"type": "text", "text": "Be brief."}])) == text_of(plain)
    assert plain["stop_reason"] == "end_turn"
    assert "Paris" in text_of(plain)


def test_the_three_counts_of_the_input_are_the_prompt(client: httpx.Client) -> None:
    body: dict[str, Any] = {"system": "You answer in one word. " * 20}
    counted = client.post(PATH + "/count_tokens", json={"messages": QUESTION, **body}).json()["input_tokens"]

    for _ in range(2):
        usage = ask(client, **body)["usage"]
        parts = (usage["input_tokens"], usage["cache_read_input_tokens"], usage["cache_creation_input_tokens"])
        assert sum(parts) == counted
    assert usage["cache_read_input_tokens"] > 60


def test_why_an_answer_ended_is_told_apart(client: httpx.Client) -> None:
    assert ask(client, max_tokens=2)["stop_reason"] == "max_tokens"
    stopped = ask(client, stop_sequences=["Paris"])
    assert (stopped["stop_reason"], stopped["stop_sequence"]) == ("stop_sequence", "Paris")


def test_a_stream_has_anthropic_s_order_and_adds_up(client: httpx.Client) -> None:
    told = events(client)

    names = [name for name, _ in told]
    deltas = [data["delta"]["text"] for name, data in told if name == "content_block_delta"]
    assert names == [
        "message_start", "content_block_start", *["content_block_delta"] * len(deltas), "content_block_stop",
        "message_delta", "message_stop",
    ]  # fmt: skip
    assert "".join(deltas) == text_of(ask(client))
    assert told[0][1]["message"]["content"] == []
    assert told[-2][1]["delta"] == {"stop_reason": "end_turn", "stop_sequence": None}
    assert told[-2][1]["usage"]["output_tokens"] > len(deltas) - 1


def test_an_answer_without_a_word_has_no_block(client: httpx.Client) -> None:
    assert ask(client, max_tokens=0)["content"] == []
    assert [name for name, _ in events(client, max_tokens=0)] == ["message_start", "message_delta", "message_stop"]


def test_a_stream_opens_at_once_and_is_kept_alive_by_pings(serve_with: ServeWith) -> None:
    server = serve_with(servers.narrow())
    body = {"messages": QUESTION, "max_tokens": 300, "ignore_eos": True, "stream": True}
    with Wire(server.url) as busy, Wire(server.url) as waiting:
        busy.ask(body, path=PATH)
        busy.read_until(b"content_block_delta")
        waiting.ask({**body, "max_tokens": 1}, path=PATH)
        waiting.read_until(b"message_start")
        assert b"content_block" not in waiting.read_until(b'event: ping\ndata: {"type":"ping"}\n\n')


def test_what_claude_code_sends_around_a_question_is_fine(client: httpx.Client) -> None:
    body = {
        "model": "local-model",
        "system": [
            {"type": "text", "text": "x-anthropic-billing-header: cc_version=2.1.332.abc; cc_entrypoint=sdk-cli;"},
            {"type": "text", "text": "You are an agent.", "cache_control": {"type": "ephemeral"}},
        ],
        "messages": [
            *QUESTION,
            {"role": "system", "content": [{"type": "text", "text": "The date is known."}]},
        ],
        "metadata": {"user_id": '{"a": 1}'},
        "thinking": {"type": "adaptive", "display": "omitted"},
        "output_config": {"effort": "high"},
        "context_management": {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]},
        "tools": [],
    }
    headers = {"anthropic-version": "2023-06-01", "anthropic-beta": "a-beta-of-tomorrow-2027-01-01"}
    response = client.post(PATH + "?beta=true", json={**body, "max_tokens": 4}, headers=headers)

    assert response.status_code == 200, response.text


def test_the_billing_block_keeps_no_prompt_from_being_reused(client: httpx.Client) -> None:
    def asked(mark: str) -> int:
        system = [
            {"type": "text", "text": f"x-anthropic-billing-header: cc_version={mark};"},
            {"type": "text", "text": "You are the keeper of a lighthouse on a long grey coast. " * 6},
        ]
        read: int = ask(client, system=system, max_tokens=1)["usage"]["cache_read_input_tokens"]
        return read

    asked("one")
    assert asked("two") > 60


def test_system_messages_in_the_middle_are_read(client: httpx.Client) -> None:
    later = [*QUESTION, {"role": "system", "content": "Answer in capitals."}]
    counts = [
        client.post(PATH + "/count_tokens", json={"messages": messages}).json()["input_tokens"]
        for messages in (QUESTION, later)
    ]
    assert counts[0] != counts[1]


@pytest.mark.parametrize(
    ("fields", "named"),
    [
        (
            {"messages": [{"role": "user", "content": [{"type": "image", "source": {}}]}]},
            "messages.0.content.0.source.type",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "document"}]}]}, "messages.0.content.0.type"),
        (
            {"messages": [*QUESTION, {"role": "assistant", "content": [{"type": "tool_use", "id": "a"}]}]},
            "messages.1.content.0.input",
        ),
        ({"messages": [{"role": "user", "content": [{"type": "text"}]}]}, "messages.0.content.0.text"),
        ({"tools": [{"name": "f"}], "tool_choice": {"name": "f"}}, "tool_choice.type"),
        ({"tools": [{"name": "f"}], "tool_choice": {"type": "any", "name": "f"}}, "tool_choice.name"),
        ({"output_format": {"type": "json_schema", "schema": {}}}, "output_format"),
        ({"output_config": {"task_budget": {"total": 5}}}, "output_config.task_budget"),
        ({"messages": [{"role": "user", "content": [{"text": "a"}]}]}, "messages.0.content.0.type"),
        ({"messages": [{"role": "robot", "content": "a"}]}, "messages.0.role"),
        ({"messages": [{"role": "user"}]}, "messages.0.content"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_use", "id": "a"}]}]}, "messages.0.content.0"),
        ({"messages": [{"role": "user", "content": [{"type": "tool_result"}]}]}, "messages.0.content.0.tool_use_id"),
        ({"tools": [{"type": "web_search_20250305", "name": "a"}]}, "tools.0.type"),
        ({"tool_choice": {"type": "any"}}, "tool_choice"),
        ({"tools": [{"name": "a"}], "tool_choice": {"type": "tool"}}, "tool_choice.name"),
        ({"tools": [{"name": "a"}], "tool_choice": {"type": "tool", "name": "b"}}, "tool_choice"),
        ({"thinking": {"type": "enabled", "budget_tokens": 1024}}, "thinking.type"),
        ({"output_config": {"format": {"type": "json_schema", "schema": {"not": {}}}}}, "output_config.format"),
        ({"context_management": {"edits": [{"type": "clear_tool_uses_20250919"}]}}, "context_management"),
        ({"stop_sequences": ["a"], "stop": ["b"]}, "stop_sequences"),
        ({"n": 2}, "n "),
        ({"max_tokens": "4"}, "max_tokens"),
        ({"system": [{"type": "image"}]}, "system.0"),
    ],
    ids=str,
)
def test_what_cannot_be_done_is_refused_by_name(client: httpx.Client, fields: dict[str, Any], named: str) -> None:
    error = refused(client, **fields)

    assert error["type"] == "invalid_request_error"
    assert named in error["message"]
    refused(client, path=PATH + "/count_tokens", **fields)


def test_every_error_of_these_paths_has_anthropic_s_shape(
    client: httpx.Client, serve_with: ServeWith, connect: Connect
) -> None:
    locked = connect(serve_with(servers.locked()))
    assert refused(locked, 401)["type"] == "authentication_error"
    assert refused(client, 404, PATH + "/nothing")["type"] == "not_found_error"
    response = client.get(PATH)
    assert (response.status_code, response.json()["type"]) == (405, "error")
    over = refused(client, messages=[{"role": "user", "content": "word " * 3000}])
    assert over["message"].startswith("prompt is too long: ")
    assert over["n_prompt_tokens"] > over["n_ctx"]


def test_a_full_queue_is_a_rate_limit_with_a_time_to_wait(serve_with: ServeWith, connect: Connect) -> None:
    server = serve_with(servers.narrow())
    client = connect(server)
    gauges = Gauges(client)
    body = {"messages": QUESTION, "max_tokens": 400, "ignore_eos": True}
    wires = [Wire(server.url) for _ in range(3)]
    try:
        for count, wire in enumerate(wires):
            wire.ask(body, path=PATH)
            gauges.wait_running(1) if not count else gauges.wait_queued(count)
        response = client.post(PATH, json=body)
        assert response.status_code == 429
        assert response.json()["error"]["type"] == "rate_limit_error"
        assert response.headers["retry-after"].isdigit()
    finally:
        for wire in wires:
            wire.hang_up()


def test_a_client_that_leaves_frees_its_slot(server: LiveServer, client: httpx.Client) -> None:
    gauges = Gauges(client)
    with Wire(server.url) as wire:
        wire.ask({"messages": QUESTION, "ignore_eos": True, "stream": True}, path=PATH)
        wire.read_until(b"content_block_delta")
    gauges.wait_running(0)


# ---- the SDK --------------------------------------------------------------------------------------


def test_the_sdk_asks_streams_and_counts(api: anthropic.Anthropic) -> None:
    asked: dict[str, Any] = {"model": "smollm2-135m", "max_tokens": 16, "messages": QUESTION, "system": "Be brief."}
    whole = api.messages.create(**asked, extra_body={"temperature": 0})
    with api.messages.stream(**asked, extra_body={"temperature": 0}) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    counted = api.messages.count_tokens(model="smollm2-135m", messages=asked["messages"], system="Be brief.")

    assert whole.content[0].type == "text"
    assert text == whole.content[0].text
    assert final.usage.output_tokens == whole.usage.output_tokens
    assert counted.input_tokens == whole.usage.input_tokens + (whole.usage.cache_read_input_tokens or 0)


def test_the_sdk_maps_errors_to_its_own(api: anthropic.Anthropic, server: LiveServer) -> None:
    with pytest.raises(anthropic.BadRequestError, match=r"thinking\.type"):
        api.messages.create(
            model="m", max_tokens=4, messages=[{"role": "user", "content": "a"}],
            thinking={"type": "enabled", "budget_tokens": 1024},
        )  # fmt: skip
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        api.messages.create(model="m", max_tokens=4, messages=[{"role": "user", "content": "word " * 3000}])
