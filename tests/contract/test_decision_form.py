"""Decisions as chat requests, on the real model: the probabilities of `/v1/systemone` in a chat answer's shape."""

from __future__ import annotations

import json
import math
from typing import Any

import httpx
import pytest

from tests.support.judge import chunks_of

CHAT = "/v1/chat/completions"
MODEL = "decider-135m"
STATE = "My parcel is a week late and nobody answers the phone."
QUESTION = "What is the mail about?"
NAMES = ["delivery", "wedding", "cooking"]
TOPIC = {"description": QUESTION, "enum": NAMES}

Body = dict[str, Any]


def asked(schema: Any = TOPIC, **fields: Any) -> Body:
    form = {"type": "json_schema", "json_schema": {"name": "topic", "schema": schema}}
    return {
        "model": MODEL,
        "messages": [{"role": "user", "content": STATE}],
        "response_format": form,
        "logprobs": True,
        "top_logprobs": 20,
    } | fields


def answered(client: httpx.Client, body: Body) -> Body:
    answer = client.post(CHAT, json=body)
    assert answer.status_code == 200, answer.text
    told: Body = answer.json()
    return told


def shares(answer: Body) -> dict[str, float]:
    (entry,) = answer["choices"][0]["logprobs"]["content"]
    return {each["token"]: math.exp(each["logprob"]) for each in entry["top_logprobs"]}


def decided(client: httpx.Client, **question: Any) -> Body:
    body = {"model": MODEL, "state": STATE, "questions": {"q": {"instructions": QUESTION, **question}}}
    answer: Body = client.post("/v1/systemone", json=body).json()["answers"]["q"]
    return answer


def test_the_answer_is_the_likeliest_option_and_the_probabilities_are_those_of_systemone(judges: httpx.Client) -> None:
    answer = answered(judges, asked())
    direct = decided(judges, type="choice", criteria=dict.fromkeys(NAMES))

    choice = answer["choices"][0]
    assert json.loads(choice["message"]["content"]) == direct["choice"]
    assert (choice["finish_reason"], answer["model"]) == ("stop", MODEL)
    assert answer["usage"]["completion_tokens"] == 0
    found = {json.loads(token): share for token, share in shares(answer).items()}
    assert found == pytest.approx(direct["probabilities"], abs=1e-5)
    assert choice["logprobs"]["content"][0]["token"] == choice["message"]["content"]


def test_options_with_descriptions_are_told_to_the_model(judges: httpx.Client) -> None:
    meant = {"delivery": "a parcel that is late or lost", "wedding": "an invitation", "cooking": "food"}
    options = [{"const": name, "description": words} for name, words in meant.items()]
    answer = answered(judges, asked({"description": QUESTION, "oneOf": options}))
    direct = decided(judges, type="choice", criteria=meant)
    assert {json.loads(key): share for key, share in shares(answer).items()} == pytest.approx(
        direct["probabilities"], abs=1e-5
    )


def test_calls_and_names_in_the_conversation_are_read(judges: httpx.Client) -> None:
    call = {"id": "call_1", "type": "function", "function": {"name": "refund", "arguments": '{"euros": 500}'}}
    done = {"role": "tool", "tool_call_id": "call_1", "content": "done"}
    user: Body = {"role": "user", "content": STATE}

    def tokens(*messages: Body) -> int:
        count: int = answered(judges, asked(messages=list(messages)))["usage"]["prompt_tokens"]
        return count

    assert tokens(user, {"role": "assistant", "content": "Well.", "tool_calls": [call]}, done) > tokens(
        user, {"role": "assistant", "content": "Well."}, {"role": "user", "content": "done"}
    )
    assert tokens(user | {"name": "bob"}) > tokens(user)


def test_two_questions_are_one_too_many(judges: httpx.Client) -> None:
    answer = judges.post(CHAT, json=asked({"description": "Another?", "properties": {"topic": TOPIC}}))
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "conflicting_values")


def test_a_boolean_is_a_question_of_yes_and_no(judges: httpx.Client) -> None:
    answer = answered(judges, asked({"description": QUESTION, "type": "boolean"}))
    direct = decided(judges, type="noul")
    assert shares(answer)["true"] == pytest.approx(direct["noul"], abs=1e-5)
    assert json.loads(answer["choices"][0]["message"]["content"]) is (direct["noul"] >= 0.5)


def test_an_object_of_one_property_is_answered_as_an_object(judges: httpx.Client) -> None:
    schema = {
        "type": "object",
        "properties": {"topic": {"enum": NAMES}},
        "required": ["topic"],
        "additionalProperties": False,
    }
    body = asked(schema)
    body["response_format"]["json_schema"]["description"] = QUESTION
    answer = answered(judges, body)
    plain = answered(judges, asked())
    assert json.loads(answer["choices"][0]["message"]["content"]) == {
        "topic": json.loads(plain["choices"][0]["message"]["content"])
    }
    assert sorted(shares(answer).values()) == pytest.approx(sorted(shares(plain).values()), abs=1e-6)


def test_options_may_be_numbers(judges: httpx.Client) -> None:
    answer = answered(judges, asked({"description": "How many parcels?", "enum": [1, 2, 3]}))
    assert json.loads(answer["choices"][0]["message"]["content"]) in (1, 2, 3)


def test_another_question_is_another_decision(judges: httpx.Client) -> None:
    first = answered(judges, asked({"description": "What is it about?", "enum": NAMES}))
    second = answered(judges, asked({"description": "What is it surely not about?", "enum": NAMES}))
    assert shares(first) != shares(second)


def test_a_streamed_decision_is_the_whole_one(judges: httpx.Client) -> None:
    whole = answered(judges, asked())
    answer = judges.post(CHAT, json=asked(stream=True, stream_options={"include_usage": True}))
    chunks = chunks_of(answer.text)
    text = "".join(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])
    entries = [choice["logprobs"] for chunk in chunks for choice in chunk["choices"] if choice.get("logprobs")]
    assert text == whole["choices"][0]["message"]["content"]
    assert entries == [whole["choices"][0]["logprobs"]]
    assert chunks[-1]["usage"]["prompt_tokens"] == whole["usage"]["prompt_tokens"]


def test_without_logprobs_there_are_none(judges: httpx.Client) -> None:
    body = asked()
    del body["logprobs"], body["top_logprobs"]
    assert answered(judges, body)["choices"][0]["logprobs"] is None


REFUSED: list[tuple[Body, str]] = [
    ({"response_format": {"type": "text"}}, "response_format"),
    ({"temperature": 0.7}, "temperature"),
    ({"stop": ["x"]}, "stop"),
    ({"n": 2}, "n"),
    ({"tools": [{"type": "function", "function": {"name": "add"}}]}, "tools"),
    ({"lora": [{"id": 0, "scale": 1}]}, "lora"),
]


@pytest.mark.parametrize(("fields", "param"), REFUSED, ids=[param for _, param in REFUSED])
def test_what_a_decision_cannot_do_is_refused_by_name(fields: Body, param: str, judges: httpx.Client) -> None:
    answer = judges.post(CHAT, json=asked(**fields))
    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"enum": NAMES}, "description"),
        ({"description": "?", "enum": ["one"]}, "needs two"),
        ({"description": "?", "enum": ["a", "a"]}, "same name"),
        ({"description": "?", "enum": ["1", 1]}, "same name"),
        ({"description": "?", "enum": ["", "a"]}, "without a name"),
        ({"description": "?", "type": "string"}, "names no options"),
        ({"description": "?", "oneOf": [{"type": "string"}]}, "names no options"),
        ({"description": "?", "enum": ["a", "b"], "type": "integer"}, "does not allow"),
        ({"description": "?", "enum": ["a", "bcd"], "maxLength": 2}, "does not allow"),
        ({"description": "?", "type": "object", "properties": {"a": {"enum": [1, 2]}, "b": {}}}, "one property"),
        ({"description": "?", "enum": ["a", "x" * 300]}, "option_bytes_max"),
        ({"description": "?", "enum": list(range(300))}, "options_max"),
        ({"description": "?", "enum": ["a", "b"], "pattern": "(a+)+$"}, "not followed"),
        ({"description": "?", "enum": ["a", "b"], "$ref": "#/nowhere"}, "not followed"),
        ({"description": "?", "enum": ["a", "b"], "minLength": "x"}, "none that can be followed"),
        (True, "decision model"),
    ],
)
def test_a_schema_that_is_no_question_is_refused_with_the_reason(schema: Any, words: str, judges: httpx.Client) -> None:
    answer = judges.post(CHAT, json=asked(schema))
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert words in error["message"]
    assert len(error["message"]) < 1000


def test_a_conversation_that_is_too_long_is_refused_with_its_numbers(judges: httpx.Client) -> None:
    answer = judges.post(CHAT, json=asked(messages=[{"role": "user", "content": "word " * 600}]))
    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["param"]) == ("context_length_exceeded", "messages")


def test_a_budget_leaves_room_for_a_decision_which_has_no_tokens(judges: httpx.Client) -> None:
    assert answered(judges, asked(max_tokens=1))["choices"] == answered(judges, asked())["choices"]


def test_a_chat_model_that_decides_too_writes_its_chat_answers(judges: httpx.Client) -> None:
    answer = answered(judges, asked(model="smollm2-135m", temperature=0))
    assert answer["usage"]["completion_tokens"] > 0
    assert json.loads(answer["choices"][0]["message"]["content"]) in NAMES
