"""Reasoning before the answer, on a model that reasons: apart from the text, bounded, and given back."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import Settings
from tests.support.judge import chunks_of

Body = dict[str, Any]
CHAT = "/v1/chat/completions"
ASKED: Body = {"messages": [{"role": "user", "content": "Write about a fox."}], "temperature": 0, "max_tokens": 24}
MARKERS = ("<thinking>", "</thinking>")


@pytest.fixture(scope="session")
def thinker(thinking: Settings, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server whose model reasons."""
    return connect(serve_with(thinking))


def answered(client: httpx.Client, path: str = CHAT, **fields: Any) -> Any:
    response = client.post(path, json=ASKED | fields)
    assert response.status_code == 200, response.text
    return response.json()


def details(answer: Any) -> Any:
    return answer["usage"]["completion_tokens_details"]


def test_reasoning_stands_beside_the_text_and_is_counted(thinker: httpx.Client) -> None:
    answer = answered(thinker, thinking_token_budget=5)
    message = answer["choices"][0]["message"]
    assert message["reasoning_content"]
    assert message["content"]
    assert not any(marker in message["content"] + message["reasoning_content"] for marker in MARKERS)
    assert details(answer) == {
        "reasoning_tokens": 5,
        "reasoning_closed_at": 5,
        "reasoning_closed_by": "max_thinking_tokens",
    }


@pytest.mark.parametrize("more", [{}, {"presence_penalty": 1}, {"temperature": 2, "top_k": 0}, {"ignore_eos": True}])
@pytest.mark.parametrize("name", ["thinking_token_budget", "thinking_budget", "max_thinking_tokens"])
def test_a_budget_holds_whatever_else_is_asked(name: str, more: Body, thinker: httpx.Client) -> None:
    answer = answered(thinker, CHAT, **{name: 4, **more})
    assert details(answer)["reasoning_tokens"] == 4


def test_a_reply_that_runs_out_inside_its_reasoning_is_empty_and_says_length(thinker: httpx.Client) -> None:
    answer = answered(thinker, max_tokens=6)
    assert answer["choices"][0]["finish_reason"] == "length"
    assert answer["choices"][0]["message"]["content"] == ""
    assert details(answer) == {"reasoning_tokens": 6}


@pytest.mark.parametrize(
    "off",
    [
        {"enable_thinking": False},
        {"reasoning_effort": "none"},
        {"reasoning_effort": "minimal"},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"reasoning": {"enabled": False}},
        {"thinking": {"type": "disabled"}},
        {"thinking": False},
    ],
    ids=str,
)
def test_every_way_to_switch_reasoning_off_does(off: Body, thinker: httpx.Client) -> None:
    answer = answered(thinker, **off)
    assert answer["choices"][0]["message"]["content"]
    assert "reasoning_content" not in answer["choices"][0]["message"]
    assert details(answer)["reasoning_tokens"] == 0


def test_a_stream_says_what_the_whole_answer_says(thinker: httpx.Client) -> None:
    whole = answered(thinker, thinking_token_budget=5)["choices"][0]["message"]
    chunks = chunks_of(thinker.post(CHAT, json=ASKED | {"thinking_token_budget": 5, "stream": True}).text)
    deltas = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta.get("reasoning_content") or "" for delta in deltas) == whole["reasoning_content"]
    assert "".join(delta.get("content") or "" for delta in deltas) == whole["content"]


def test_reasoning_can_be_left_in_the_text_or_left_out(thinker: httpx.Client) -> None:
    inside = answered(thinker, thinking_token_budget=5, reasoning_format="none")["choices"][0]["message"]
    without = answered(thinker, thinking_token_budget=5, include_reasoning=False)["choices"][0]["message"]
    assert "</thinking>" in inside["content"]
    assert "reasoning_content" not in without
    assert not any(marker in without["content"] for marker in MARKERS)


def test_a_form_begins_after_the_reasoning(thinker: httpx.Client) -> None:
    message = answered(thinker, thinking_token_budget=5, json_schema={"const": 5})["choices"][0]["message"]
    assert message["reasoning_content"]
    assert message["content"] == "5"


def test_a_call_is_made_after_the_reasoning(thinker: httpx.Client) -> None:
    tool = {"type": "function", "function": {"name": "add", "parameters": {"const": {"a": 1}}}}
    answer = answered(thinker, thinking_token_budget=5, tools=[tool], tool_choice="required", max_tokens=60)
    message = answer["choices"][0]["message"]
    assert message["reasoning_content"]
    assert message["tool_calls"][0]["function"]["name"] == "add"
    assert message["content"] is None


def test_messages_have_a_block_of_reasoning_before_the_text(thinker: httpx.Client) -> None:
    thought = {"thinking": {"type": "enabled", "budget_tokens": 5}}
    whole = answered(thinker, "/v1/messages", **thought)
    assert [block["type"] for block in whole["content"]] == ["thinking", "text"]
    assert whole["usage"]["output_tokens_details"]["reasoning_closed_by"] == "max_thinking_tokens"
    events = chunks_of(thinker.post("/v1/messages", json=ASKED | thought | {"stream": True}).text)
    kinds = [event["content_block"]["type"] for event in events if event["type"] == "content_block_start"]
    assert kinds == ["thinking", "text"]
    told = "".join(event["delta"].get("thinking", "") for event in events if event["type"] == "content_block_delta")
    assert told == whole["content"][0]["thinking"]
    again = [*ASKED["messages"], {"role": "assistant", "content": whole["content"]}, *ASKED["messages"]]
    assert answered(thinker, "/v1/messages", messages=again, max_tokens=1)


def test_responses_have_an_item_of_reasoning_before_the_message(
    thinking: Settings, serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(thinking | {"thinking": {"budget_tokens": 5}}))
    body = {"input": "Write about a fox.", "temperature": 0, "max_output_tokens": 24}
    whole = client.post("/v1/responses", json=body).json()
    assert [item["type"] for item in whole["output"]] == ["reasoning", "message"]
    events = chunks_of(client.post("/v1/responses", json=body | {"stream": True}).text)
    deltas = [event["delta"] for event in events if event["type"] == "response.reasoning_text.delta"]
    assert "".join(deltas) == whole["output"][0]["content"][0]["text"]
    assert whole["usage"]["output_tokens_details"]["reasoning_tokens"] == 5
    again = [{"role": "user", "content": "a"}, *whole["output"], {"role": "user", "content": "b"}]
    assert client.post("/v1/responses", json={"input": again, "max_output_tokens": 1}).status_code == 200


def test_room_is_kept_for_the_answer(thinking: Settings, serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(thinking | {"thinking": {"answer_room_tokens": 16}}))
    answer = answered(client)
    assert answer["choices"][0]["message"]["content"]
    assert details(answer) == {"reasoning_tokens": 8, "reasoning_closed_at": 8, "reasoning_closed_by": "answer_room"}


def test_reasoning_of_earlier_turns_is_given_back_unless_it_is_not_wanted(thinker: httpx.Client) -> None:
    first = {"role": "assistant", "content": "A fox.", "reasoning_content": "The user wants a fox, so I give one."}
    messages = [*ASKED["messages"], first, *ASKED["messages"]]
    kept, left = (
        answered(thinker, messages=messages, preserve_thinking=keep, max_tokens=1)["usage"]["prompt_tokens"]
        for keep in (True, False)
    )
    assert kept > left


def test_markers_in_the_history_are_text_like_any_other(thinker: httpx.Client) -> None:
    asked = [{"role": "user", "content": "Repeat: hello </thinking> world"}]
    answer = answered(thinker, messages=asked, thinking_token_budget=5)
    assert details(answer)["reasoning_tokens"] == 5


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"enable_thinking": True}, "enable_thinking"),
        ({"reasoning_effort": "high"}, "reasoning_effort"),
        ({"thinking_token_budget": 8}, "thinking_token_budget"),
        ({"preserve_thinking": True}, "preserve_thinking"),
    ],
)
def test_a_model_that_does_not_reason_refuses_to(fields: Body, param: str, client: httpx.Client) -> None:
    response = client.post(CHAT, json=ASKED | fields)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


def test_the_last_message_is_gone_on_with(client: httpx.Client) -> None:
    begun = [{"role": "user", "content": "Name a colour."}, {"role": "assistant", "content": "My answer is: bl"}]
    answer = answered(client, messages=begun, continue_final_message=True, max_tokens=1, logprobs=True, top_logprobs=3)
    choice = answer["choices"][0]
    assert not choice["message"]["content"].startswith("My answer")
    assert len(choice["logprobs"]["content"][0]["top_logprobs"]) == 3
    rendered = client.post("/apply-template", json={"messages": begun, "continue_final_message": True}).json()["prompt"]
    assert rendered.endswith("assistant\nMy answer is: bl")


def test_the_last_message_of_the_assistant_is_gone_on_with_on_messages(client: httpx.Client) -> None:
    begun = [{"role": "user", "content": "Name a colour."}, {"role": "assistant", "content": "My answer is: bl"}]
    counts = [
        client.post("/v1/messages/count_tokens", json={"messages": messages}).json()["input_tokens"]
        for messages in (begun, [*begun, {"role": "user", "content": "x"}])
    ]
    assert counts[0] < counts[1]
    assert answered(client, "/v1/messages", messages=begun, max_tokens=2)["content"]
