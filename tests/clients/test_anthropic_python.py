"""Anthropic's Python library, as its page shows it and where things go wrong."""

from __future__ import annotations

import base64
import json
from typing import cast

import anthropic
import pytest
from anthropic.types import MessageParam, OutputConfigParam, TextBlock, ToolParam, ToolUseBlock

from tests.clients.conftest import ServeScript, Show, call, prompts
from tests.support.live import LiveServer
from tests.support.png import plain_png

QUESTION: list[MessageParam] = [{"role": "user", "content": "What is 2+2?"}]
ADD: ToolParam = {
    "name": "add",
    "input_schema": {
        "type": "object",
        "properties": {"first": {"type": "integer"}, "second": {"type": "integer"}},
        "required": ["first", "second"],
    },
}
SUM: dict[str, object] = {
    "type": "object",
    "properties": {"total": {"type": "integer"}},
    "required": ["total"],
    "additionalProperties": False,
}


def sdk(server: LiveServer, timeout: float = 60.0) -> anthropic.Anthropic:
    return anthropic.Anthropic(base_url=server.url, api_key="none", max_retries=0, timeout=timeout)


def test_the_page_s_program_prints_what_it_should(show: Show, server: LiveServer) -> None:
    lines = show("anthropic-python", server).splitlines()

    assert "4" in lines[0]
    assert lines[1] == lines[0]
    assert int(lines[2].removesuffix(" tokens")) > 10


def test_a_picture_is_read(serve_script: ServeScript) -> None:
    server = serve_script(["It is red."], options={"sees": True})
    image = {"type": "base64", "media_type": "image/png", "data": base64.b64encode(plain_png(40, 30)).decode()}
    content = [{"type": "text", "text": "What is it?"}, {"type": "image", "source": image}]
    asked = cast("list[MessageParam]", [{"role": "user", "content": content}])
    message = sdk(server).messages.create(model="a", max_tokens=50, messages=asked)
    counted = sdk(server).messages.count_tokens(model="a", messages=asked)

    assert isinstance(message.content[0], TextBlock)
    assert message.content[0].text == "It is red."
    assert counted.input_tokens == message.usage.input_tokens + (message.usage.cache_read_input_tokens or 0)
    assert "[picture of 40 x 30]" in prompts(server)[0]


def test_a_message_says_the_same_whole_and_streamed(serve_script: ServeScript) -> None:
    api = sdk(serve_script(["One two three."] * 2))
    whole = api.messages.create(model="a", max_tokens=50, messages=QUESTION)
    with api.messages.stream(model="a", max_tokens=50, messages=QUESTION) as stream:
        streamed = stream.get_final_message()

    assert isinstance(whole.content[0], TextBlock)
    assert isinstance(streamed.content[0], TextBlock)
    assert whole.content[0].text == streamed.content[0].text == "One two three."
    assert whole.usage.output_tokens == streamed.usage.output_tokens
    assert whole.stop_reason == streamed.stop_reason == "end_turn"


def test_a_tool_is_called_and_its_result_is_taken(serve_script: ServeScript) -> None:
    api = sdk(serve_script(["Let me see.\n" + call("add", first=2, second=2), "It is 4."]))
    with api.messages.stream(model="a", max_tokens=100, messages=QUESTION, tools=[ADD]) as stream:
        first = stream.get_final_message()

    assert first.stop_reason == "tool_use"
    text, called = first.content
    assert isinstance(text, TextBlock)
    assert isinstance(called, ToolUseBlock)
    assert (called.name, called.input) == ("add", {"first": 2, "second": 2})
    turn: MessageParam = {"role": "assistant", "content": first.content}
    result: MessageParam = {
        "role": "user",
        "content": [{"type": "tool_result", "tool_use_id": called.id, "content": "4"}],
    }
    last = api.messages.create(model="a", max_tokens=100, messages=[*QUESTION, turn, result], tools=[ADD])
    assert isinstance(last.content[0], TextBlock)
    assert last.content[0].text == "It is 4."


def test_an_answer_has_the_form_of_the_schema(serve_script: ServeScript) -> None:
    api = sdk(serve_script(['{"total": 4}']))
    form: OutputConfigParam = {"format": {"type": "json_schema", "schema": SUM}}
    answer = api.messages.create(model="a", max_tokens=100, messages=QUESTION, output_config=form)

    assert isinstance(answer.content[0], TextBlock)
    assert json.loads(answer.content[0].text) == {"total": 4}


def test_a_budget_above_the_context_is_cut_and_said(serve_script: ServeScript) -> None:
    server = serve_script(["word " * 200], options={"context_tokens": 128})
    with sdk(server).messages.stream(model="a", max_tokens=128_000, messages=QUESTION) as stream:
        answer = stream.get_final_message()

    assert answer.stop_reason == "max_tokens"
    assert answer.usage.input_tokens + answer.usage.output_tokens == 128


def test_a_prompt_that_is_too_long_is_refused_with_its_numbers(server: LiveServer) -> None:
    long: list[MessageParam] = [{"role": "user", "content": "word " * 2000}]
    with pytest.raises(anthropic.BadRequestError, match=r"prompt is too long: \d+ tokens > \d+ maximum"):
        sdk(server).messages.create(model="a", max_tokens=5, messages=long)


def test_a_refusal_is_a_bad_request_that_names_the_field(server: LiveServer) -> None:
    with pytest.raises(anthropic.BadRequestError, match="best_of"):
        sdk(server).messages.create(model="a", max_tokens=5, messages=QUESTION, extra_body={"best_of": 3})


def test_a_fault_in_the_middle_of_a_stream_is_raised(serve_script: ServeScript) -> None:
    server = serve_script([["One ", {"fault": "a broken wire"}]])
    with (
        pytest.raises(anthropic.APIError, match="a broken wire"),
        sdk(server).messages.stream(model="a", max_tokens=50, messages=QUESTION) as stream,
    ):
        stream.get_final_message()


def test_silence_is_no_fault_as_long_as_it_is_filled(serve_script: ServeScript) -> None:
    server = serve_script([[{"wait": 1.5}, "At last."]], stream={"keepalive_seconds": 0.2})
    with sdk(server, timeout=0.8).messages.stream(model="a", max_tokens=50, messages=QUESTION) as stream:
        assert stream.get_final_text() == "At last."
