"""Calls of functions on every API: what may be called, how it is told, and how a conversation goes on after it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.judge import chunks_of

Body = dict[str, Any]
Called = list[tuple[str, str, Any]]  # id, name, arguments

CITY: Body = {
    "type": "object",
    "properties": {"city": {"type": "string", "maxLength": 12}, "unit": {"enum": ["c", "f"]}},
    "required": ["city", "unit"],
    "additionalProperties": False,
}
EMPTY: Body = {"type": "object", "properties": {}}
HUGE: Body = {"type": "object", "properties": {"script": {"type": "string", "maxLength": 524288}}}
QUESTION = "How is the weather in Rome?"


@dataclass(frozen=True, slots=True)
class Dialect:
    """How one API asks for a call, and where an answer has it."""

    path: str
    body: Callable[[str], Body]  # by the choice: auto, none, any or one
    whole: Callable[[Body], Called]
    streamed: Callable[[str], Called]
    ended: Callable[[Body], str]
    history: Callable[[str], Body]  # the same conversation after a call and its result, which is given


def chat(choice: str) -> Body:
    tool = {"type": "function", "function": {"name": "get_weather", "parameters": CITY}}
    named = {"type": "function", "function": {"name": "get_weather"}}
    spelled = {"auto": "auto", "none": "none", "any": "required", "one": named}[choice]
    asked = [{"role": "user", "content": QUESTION}]
    return {"messages": asked, "tools": [tool], "tool_choice": spelled, "parallel_tool_calls": False}


def responses(choice: str) -> Body:
    tool = {"type": "function", "name": "get_weather", "parameters": CITY}
    named = {"type": "function", "name": "get_weather"}
    spelled = {"auto": "auto", "none": "none", "any": "required", "one": named}[choice]
    return {"input": QUESTION, "tools": [tool], "tool_choice": spelled, "parallel_tool_calls": False}


def messages(choice: str) -> Body:
    tool = {"name": "get_weather", "input_schema": CITY}
    spelled: Body = {"type": {"one": "tool"}.get(choice, choice)}
    if choice == "one":
        spelled["name"] = "get_weather"
    if choice in ("auto", "any"):
        spelled["disable_parallel_tool_use"] = True
    return {"messages": [{"role": "user", "content": QUESTION}], "tools": [tool], "tool_choice": spelled}


def chat_calls(answer: Body) -> Called:
    calls = answer["choices"][0]["message"].get("tool_calls", [])
    return [(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"])) for call in calls]


def chat_stream(text: str) -> Called:
    calls: dict[int, list[str]] = {}
    for chunk in chunks_of(text):
        for choice in chunk["choices"]:
            assert "<tool_call>" not in (choice["delta"].get("content") or "")
            for call in choice["delta"].get("tool_calls", []):
                if call["index"] not in calls:
                    assert call["function"]["arguments"] == "", "the piece that names has no arguments"
                    calls[call["index"]] = [call["id"], call["function"]["name"], ""]
                else:
                    assert set(call) == {"index", "function"}, "later pieces have arguments alone"
                    calls[call["index"]][2] += call["function"]["arguments"]
    return [(id_, name, json.loads(arguments)) for id_, name, arguments in calls.values()]


def response_calls(answer: Body) -> Called:
    calls = [item for item in answer["output"] if item["type"] == "function_call"]
    return [(call["call_id"], call["name"], json.loads(call["arguments"])) for call in calls]


def response_stream(text: str) -> Called:
    events = chunks_of(text)
    deltas = [event["delta"] for event in events if event["type"] == "response.function_call_arguments.delta"]
    (done,) = [event for event in events if event["type"] == "response.function_call_arguments.done"]
    assert "".join(deltas) == done["arguments"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    return response_calls(events[-1]["response"])


def message_calls(answer: Body) -> Called:
    return [(block["id"], block["name"], block["input"]) for block in answer["content"] if block["type"] == "tool_use"]


def message_stream(text: str) -> Called:
    calls: dict[int, list[str]] = {}
    for event in chunks_of(text):
        if event["type"] == "content_block_start" and event["content_block"]["type"] == "tool_use":
            assert event["content_block"]["input"] == {}
            calls[event["index"]] = [event["content_block"]["id"], event["content_block"]["name"], ""]
        if event["type"] == "content_block_delta" and event["delta"]["type"] == "input_json_delta":
            calls[event["index"]][2] += event["delta"]["partial_json"]
    return [(id_, name, json.loads(arguments)) for id_, name, arguments in calls.values()]


def chat_history(result: str) -> Body:
    call = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
    body = chat("none")
    body["messages"] += [
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": result},
    ]
    return body


def response_history(result: str) -> Body:
    return responses("none") | {
        "input": [
            {"role": "user", "content": QUESTION},
            {"type": "reasoning", "id": None, "summary": [], "content": None, "encrypted_content": None},
            {"type": "function_call", "call_id": "c1", "name": "get_weather", "arguments": '{"city": "Rome"}'},
            {"type": "function_call_output", "id": "fco_1", "call_id": "c1", "output": result},
        ]
    }


def message_history(result: str) -> Body:
    body = messages("none")
    use = {"type": "tool_use", "id": "c1", "name": "get_weather", "input": {"city": "Rome"}}
    told = {"type": "tool_result", "tool_use_id": "c1", "content": [{"type": "text", "text": result}]}
    body["messages"] += [{"role": "assistant", "content": [use]}, {"role": "user", "content": [told]}]
    return body


DIALECTS = {
    "chat": Dialect(
        "/v1/chat/completions",
        chat,
        chat_calls,
        chat_stream,
        lambda answer: str(answer["choices"][0]["finish_reason"]),
        chat_history,
    ),
    "responses": Dialect(
        "/v1/responses",
        responses,
        response_calls,
        response_stream,
        lambda answer: str(answer["output"][-1]["type"]),
        response_history,
    ),
    "messages": Dialect(
        "/v1/messages",
        messages,
        message_calls,
        message_stream,
        lambda answer: str(answer["stop_reason"]),
        message_history,
    ),
}
CALLING = {"chat": "tool_calls", "responses": "function_call", "messages": "tool_use"}
each_dialect = pytest.mark.parametrize("name", DIALECTS)


def asked(client: httpx.Client, name: str, **fields: Any) -> httpx.Response:
    response = client.post(DIALECTS[name].path, json={"max_tokens": 60, "temperature": 0, **fields})
    assert response.status_code == 200, response.text
    return response


@each_dialect
@pytest.mark.parametrize("choice", ["any", "one"])
def test_a_call_that_is_demanded_is_made_and_fits_its_schema(name: str, choice: str, client: httpx.Client) -> None:
    dialect = DIALECTS[name]
    answer = asked(client, name, **dialect.body(choice)).json()
    ((_, function, arguments),) = dialect.whole(answer)
    assert function == "get_weather"
    assert set(arguments) == {"city", "unit"}
    assert arguments["unit"] in ("c", "f")
    assert dialect.ended(answer) == CALLING[name]


@each_dialect
def test_a_stream_of_a_call_says_what_the_whole_answer_says(name: str, client: httpx.Client) -> None:
    dialect = DIALECTS[name]
    whole = dialect.whole(asked(client, name, **dialect.body("one")).json())
    streamed = dialect.streamed(asked(client, name, **dialect.body("one"), stream=True).text)
    assert [call[1:] for call in whole] == [call[1:] for call in streamed]
    assert whole[0][0] != streamed[0][0], "no two calls have one id"


@each_dialect
def test_no_call_is_made_where_none_may_be(name: str, client: httpx.Client) -> None:
    dialect = DIALECTS[name]
    answer = asked(client, name, **dialect.body("none") | {"max_tokens": 8}).json()
    assert dialect.whole(answer) == []
    assert dialect.ended(answer) != CALLING[name]


@each_dialect
def test_a_conversation_goes_on_after_a_call(name: str, client: httpx.Client) -> None:
    dialect = DIALECTS[name]
    short, long = (
        asked(client, name, **dialect.history(result) | {"max_tokens": 1}).json()["usage"]
        for result in ("sunny", "sunny in the morning and rain in the evening")
    )
    count = {"chat": "prompt_tokens", "responses": "input_tokens", "messages": "input_tokens"}[name]
    read = [each[count] + each.get("cache_read_input_tokens", 0) for each in (short, long)]
    assert read[0] < read[1]


def test_one_hundred_hot_calls_of_a_named_function_are_all_valid(client: httpx.Client) -> None:
    body = chat("one") | {"temperature": 1, "n": 8, "max_tokens": 80}
    calls = 0
    for seed in range(13):
        answer = client.post(DIALECTS["chat"].path, json=body | {"seed": seed * 100}).json()
        for choice in answer["choices"]:
            (call,) = choice["message"]["tool_calls"]
            arguments = json.loads(call["function"]["arguments"])
            assert (choice["finish_reason"], call["function"]["name"]) == ("tool_calls", "get_weather")
            assert set(arguments) == {"city", "unit"}
            calls += 1
    assert calls == 104


def test_tools_with_empty_and_huge_schemas_stand_beside_each_other(client: httpx.Client) -> None:
    tools = [
        {"type": "function", "function": {"name": name, "parameters": parameters}}
        for name, parameters in (("placeholder", {"type": "object"}), ("nothing", EMPTY), ("workflow", HUGE))
    ]
    for choice in ("auto", {"type": "function", "function": {"name": "nothing"}}):
        body = {"messages": [{"role": "user", "content": "Hi"}], "tools": tools, "tool_choice": choice}
        response = client.post(DIALECTS["chat"].path, json=body | {"max_tokens": 12})
        assert response.status_code == 200, response.text


def test_a_call_that_the_budget_cuts_ends_for_its_length_and_can_be_sent_back(client: httpx.Client) -> None:
    body = chat("one") | {"max_tokens": 24, "temperature": 0}
    answer = client.post(DIALECTS["chat"].path, json=body).json()["choices"][0]
    assert answer["finish_reason"] == "length"
    (call,) = answer["message"]["tool_calls"]
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(call["function"]["arguments"])
    told = {"role": "tool", "tool_call_id": call["id"], "content": "cut"}
    later = [*body["messages"], answer["message"], told]
    assert client.post(DIALECTS["chat"].path, json=body | {"messages": later, "max_tokens": 1}).status_code == 200


def test_a_function_of_a_namespace_has_two_names_on_the_wire_and_one_for_the_model(client: httpx.Client) -> None:
    space = {"type": "namespace", "name": "agents", "tools": responses("any")["tools"]}
    body = responses("any") | {"tools": [space, {"type": "web_search"}, {"type": "custom", "name": "patch"}]}
    answer = asked(client, "responses", **body).json()
    (call,) = [item for item in answer["output"] if item["type"] == "function_call"]
    assert (call["name"], call["namespace"]) == ("get_weather", "agents")
    assert answer["tools_left_out"] == ["custom", "web_search"]
    assert answer["tools"] == [space]
    output = {"type": "function_call_output", "call_id": call["call_id"], "output": "sun"}
    again = [{"role": "user", "content": QUESTION}, call, output]
    assert asked(client, "responses", **body | {"input": again, "tool_choice": "none", "max_tokens": 1})


def test_the_older_form_gives_the_older_form_back(client: httpx.Client) -> None:
    function = {"name": "get_weather", "parameters": CITY}
    body = {"messages": [{"role": "user", "content": QUESTION}], "functions": [function], "temperature": 0}
    answer = asked(client, "chat", **body, function_call={"name": "get_weather"}).json()["choices"][0]
    assert answer["finish_reason"] == "function_call"
    assert json.loads(answer["message"]["function_call"]["arguments"])["city"]
    assert "tool_calls" not in answer["message"]


def test_the_count_is_that_of_the_call_with_its_tools(client: httpx.Client) -> None:
    body = messages("any")
    counted = client.post("/v1/messages/count_tokens", json=body).json()["input_tokens"]
    usage = asked(client, "messages", **body | {"max_tokens": 1}).json()["usage"]
    assert counted == usage["input_tokens"] + usage["cache_read_input_tokens"]


@pytest.mark.parametrize("field", ["tool_call_id", "id", "name", "arguments"])
def test_what_a_call_or_a_result_lacks_is_named_by_its_place(field: str, client: httpx.Client) -> None:
    body = chat_history("sunny")
    call, result = body["messages"][1]["tool_calls"][0], body["messages"][2]
    holder = {"tool_call_id": result, "id": call}.get(field, call["function"])
    holder[field] = None
    response = client.post(DIALECTS["chat"].path, json=body)
    assert response.status_code == 400
    place = {"tool_call_id": "messages.2.tool_call_id", "id": "messages.1.tool_calls.0.id"}
    assert place.get(field, f"messages.1.tool_calls.0.function.{field}") in response.json()["error"]["message"]
