"""A real llama-server behind Troth: every dialect, what it holds, and what it would drop."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.support.judge import chunks_of

CHAT, MESSAGES, RESPONSES = "/v1/chat/completions", "/v1/messages", "/v1/responses"
HELLO = [{"role": "user", "content": "Count from 1 to 9."}]
COLD = {"temperature": 0, "max_tokens": 12}
Asked = Callable[..., dict[str, Any]]


def test_an_answer_is_that_of_the_server_itself(asked: Asked, far: str) -> None:
    body = {"messages": HELLO, **COLD}
    itself = httpx.post(far + CHAT, json=body, timeout=60, trust_env=False).json()

    mine = asked(CHAT, **body)

    assert mine["choices"][0]["message"]["content"] == itself["choices"][0]["message"]["content"]
    assert mine["usage"]["prompt_tokens"] == itself["usage"]["prompt_tokens"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        (CHAT, {"messages": HELLO, "max_tokens": 5}),
        (MESSAGES, {"messages": HELLO, "max_tokens": 5}),
        (RESPONSES, {"input": "Hello", "max_output_tokens": 5}),
        ("/v1/completions", {"prompt": "Once", "max_tokens": 5}),
        ("/completion", {"prompt": "Once", "n_predict": 5}),
    ],
)
def test_every_dialect_is_answered_whole_and_streamed(near: httpx.Client, path: str, body: dict[str, Any]) -> None:
    whole, streamed = near.post(path, json=body), near.post(path, json={**body, "stream": True})

    assert (whole.status_code, streamed.status_code) == (200, 200)
    assert '"predicted_n":5' in whole.text
    assert '"predicted_n":5' in streamed.text


def test_progress_and_timings_are_told(near: httpx.Client) -> None:
    body = {"messages": HELLO, "max_tokens": 3, "stream": True, "return_progress": True, "timings_per_token": True}

    chunks = chunks_of(near.post(CHAT, json=body).text)

    assert chunks[0]["prompt_progress"]["total"] > 0
    assert all("timings" in chunk for chunk in chunks if any(each["delta"].get("content") for each in chunk["choices"]))


def test_log_probabilities_come_in_every_form(asked: Asked) -> None:
    (choice,) = asked(CHAT, messages=HELLO, temperature=0, max_tokens=2, logprobs=True, top_logprobs=3)["choices"]
    assert [len(entry["top_logprobs"]) for entry in choice["logprobs"]["content"]] == [3, 3]
    (choice,) = asked(CHAT, messages=HELLO, temperature=0, max_tokens=2, logprobs=True)["choices"]
    assert [entry["top_logprobs"] for entry in choice["logprobs"]["content"]] == [[], []]
    (choice,) = asked(CHAT, messages=HELLO, max_tokens=1, n_probs=2, post_sampling_probs=True)["choices"]
    assert 0 < choice["logprobs"]["content"][0]["prob"] <= 1
    (choice,) = asked("/v1/completions", prompt="Once", temperature=0, max_tokens=2, logprobs=2)["choices"]
    assert len(choice["logprobs"]["top_logprobs"]) == 2


def test_a_stop_text_is_named(asked: Asked) -> None:
    answer = asked(MESSAGES, messages=HELLO, temperature=0, max_tokens=30, stop_sequences=["3"])

    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", "3")


def test_a_form_is_held(asked: Asked) -> None:
    schema = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": {**schema, "additionalProperties": False}}}

    answer = asked(CHAT, messages=HELLO, max_tokens=40, response_format=form)
    choice = asked(CHAT, messages=HELLO, max_tokens=9, guided_choice=["yes", 'a "no"'])

    assert set(json.loads(answer["choices"][0]["message"]["content"])) == {"ok"}
    assert choice["choices"][0]["message"]["content"] in ("yes", 'a "no"')


def test_tokens_are_counted_over_there(asked: Asked) -> None:
    prompt = asked(CHAT, messages=HELLO, **COLD)["usage"]["prompt_tokens"]

    assert asked("/v1/messages/count_tokens", messages=HELLO)["input_tokens"] == prompt
    assert asked("/detokenize", tokens=asked("/tokenize", content="Hello")["tokens"])["content"] == "Hello"


def test_a_last_message_of_the_assistant_is_gone_on_with_only_when_asked_for(near: httpx.Client, asked: Asked) -> None:
    talk = [*HELLO, {"role": "assistant", "content": "1, 2,"}]

    assert asked(MESSAGES, messages=talk, **COLD)["content"][0]["text"].strip().startswith("3")
    assert near.post(CHAT, json={"messages": talk, **COLD}).json()["error"]["param"] == "messages"


@pytest.mark.parametrize(
    ("body", "param"), [({"handle": "mine"}, "handle"), ({"priority": 1}, "priority"), ({"verbose": True}, "verbose"),
                        ({"enable_thinking": True}, "enable_thinking"), ({"guided_regex": "a+"}, "guided_regex")],
)  # fmt: skip
def test_what_it_would_drop_is_refused_by_name(near: httpx.Client, body: dict[str, Any], param: str) -> None:
    answer = near.post(CHAT, json={"messages": HELLO, "max_tokens": 2, **body})

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, param)


def test_its_refusals_keep_status_and_words(near: httpx.Client) -> None:
    answer = near.post(CHAT, json={"messages": HELLO, "grammar": "root ::= ("})

    assert answer.status_code == 400
    assert "grammar" in answer.json()["error"]["message"]


def test_a_prompt_that_is_too_long_is_refused_with_counts(near: httpx.Client) -> None:
    answer = near.post(CHAT, json={"messages": [{"role": "user", "content": "word " * 3000}]})

    assert answer.json()["error"]["code"] == "context_length_exceeded"
