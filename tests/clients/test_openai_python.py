"""OpenAI's Python library, as its page shows it and where things go wrong."""

from __future__ import annotations

import json

import openai
import pytest
from openai.types.chat import ChatCompletionMessageParam, ChatCompletionToolParam
from openai.types.responses import FunctionToolParam, ResponseFunctionToolCall, ResponseInputParam
from pydantic import BaseModel

from tests.clients.conftest import ServeScript, Show, call
from tests.support.filled import FULL, UNTIL_GONE, refused_once, statuses
from tests.support.live import LiveServer, wait_until
from tests.support.sdk import joined, sdk, text_of

QUESTION: list[ChatCompletionMessageParam] = [{"role": "user", "content": "What is 2+2?"}]
OPERATION = "create_chat_completion"
NUMBERS: dict[str, object] = {
    "type": "object",
    "properties": {"first": {"type": "integer"}, "second": {"type": "integer"}},
    "required": ["first", "second"],
    "additionalProperties": False,
}
ADD: ChatCompletionToolParam = {"type": "function", "function": {"name": "add", "parameters": NUMBERS}}
FLAT_ADD: FunctionToolParam = {"type": "function", "name": "add", "parameters": NUMBERS, "strict": True}
BROKEN = ["One ", {"fault": "a broken wire"}]


def loose(url: str) -> openai.OpenAI:
    """The library as it is by default: its types know no codes of other servers, and no chunk without a reason."""
    return openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=0)


def test_the_page_s_program_prints_what_it_should(show: Show, server: LiveServer) -> None:
    lines = show("openai-python", server).splitlines()

    assert "4" in lines[0]
    assert lines[1] == lines[0]
    assert lines[2].endswith(" tokens")


def test_a_completion_says_the_same_whole_and_streamed(server: LiveServer) -> None:
    api = loose(server.url)
    whole = api.completions.create(model="a", prompt="The sea is", max_tokens=8, temperature=0)
    chunks = api.completions.create(model="a", prompt="The sea is", max_tokens=8, temperature=0, stream=True)

    assert whole.choices[0].text == "".join(chunk.choices[0].text for chunk in chunks if chunk.choices)


def test_the_streaming_helpers_gather_the_answer(serve_script: ServeScript) -> None:
    api = sdk(serve_script(["One two three.", "Four five six."]).url)
    with api.chat.completions.stream(model="a", messages=QUESTION) as chat:
        assert chat.get_final_completion().choices[0].message.content == "One two three."
    with api.responses.stream(model="a", input="Count.") as response:
        assert response.get_final_response().output_text == "Four five six."


def test_the_helpers_for_parsing_take_plain_text(serve_script: ServeScript) -> None:
    api = sdk(serve_script(["One.", "Two."]).url)

    assert api.chat.completions.parse(model="a", messages=QUESTION).choices[0].message.content == "One."
    assert api.responses.parse(model="a", input="Count.").output_text == "Two."


class Sum(BaseModel):
    """What the helpers for parsing make of an answer."""

    total: int


def test_the_helpers_for_parsing_give_objects(serve_script: ServeScript) -> None:
    api = sdk(serve_script(['{"total": 4}'] * 3).url)

    chat = api.chat.completions.parse(model="a", messages=QUESTION, response_format=Sum)
    assert chat.choices[0].message.parsed == Sum(total=4)
    assert api.responses.parse(model="a", input="2+2?", text_format=Sum).output_parsed == Sum(total=4)
    with api.chat.completions.stream(model="a", messages=QUESTION, response_format=Sum) as stream:
        assert stream.get_final_completion().choices[0].message.parsed == Sum(total=4)


def test_a_tool_is_called_and_its_result_is_taken(serve_script: ServeScript) -> None:
    server = serve_script([call("add", first=2, second=2), "It is 4."])
    api = sdk(server.url)
    with api.chat.completions.stream(model="a", messages=QUESTION, tools=[ADD]) as stream:
        choice = stream.get_final_completion().choices[0]

    assert choice.finish_reason == "tool_calls"
    assert choice.message.tool_calls is not None
    (called,) = choice.message.tool_calls
    assert (called.function.name, json.loads(called.function.arguments)) == ("add", {"first": 2, "second": 2})
    asked: ChatCompletionMessageParam = {
        "role": "assistant",
        "tool_calls": [
            {
                "id": called.id,
                "type": "function",
                "function": {"name": called.function.name, "arguments": called.function.arguments},
            }
        ],
    }
    result: ChatCompletionMessageParam = {"role": "tool", "tool_call_id": called.id, "content": "4"}
    answer = api.chat.completions.create(model="a", messages=[*QUESTION, asked, result], tools=[ADD])
    assert text_of(answer) == "It is 4."


def test_a_response_calls_a_tool_and_takes_its_result(serve_script: ServeScript) -> None:
    api = sdk(serve_script([call("add", first=2, second=2), "It is 4."]).url)
    with api.responses.stream(model="a", input="2+2?", tools=[FLAT_ADD]) as stream:
        first = stream.get_final_response()

    (called,) = first.output
    assert isinstance(called, ResponseFunctionToolCall)
    assert json.loads(called.arguments) == {"first": 2, "second": 2}
    history: ResponseInputParam = [
        {"role": "user", "content": "2+2?"},
        {"type": "function_call", "call_id": called.call_id, "name": called.name, "arguments": called.arguments},
        {"type": "function_call_output", "call_id": called.call_id, "output": "4"},
    ]
    assert api.responses.create(model="a", input=history, tools=[FLAT_ADD]).output_text == "It is 4."


def test_a_refusal_names_the_field_and_is_not_repeated(serve_script: ServeScript) -> None:
    server = serve_script([])
    with pytest.raises(openai.BadRequestError) as caught:
        sdk(server.url, max_retries=2).chat.completions.create(model="a", messages=QUESTION, extra_body={"best_of": 3})

    assert (caught.value.param, caught.value.code) == ("best_of", "unsupported_value")
    assert wait_until(lambda: statuses(server, OPERATION).count("400"), "the refusal was logged") == 1


def test_a_prompt_that_is_too_long_is_refused_with_its_numbers(server: LiveServer) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        sdk(server.url).chat.completions.create(model="a", messages=[{"role": "user", "content": "word " * 2000}])

    assert caught.value.code == "context_length_exceeded"
    assert isinstance(caught.value.body, dict)
    assert caught.value.body["n_ctx"] == 1024


def test_a_full_queue_is_waited_for(serve_script: ServeScript) -> None:
    server = serve_script([[UNTIL_GONE, "At last."]], **FULL)
    api = sdk(server.url, max_retries=2)
    answer = refused_once(server, OPERATION, lambda: api.chat.completions.create(model="a", messages=QUESTION))

    assert text_of(answer) == "At last."


def test_a_fault_in_the_middle_of_a_stream_is_raised(serve_script: ServeScript) -> None:
    server = serve_script([BROKEN, BROKEN, BROKEN])
    api = sdk(server.url)

    with pytest.raises(openai.APIError, match="a broken wire"):
        list(api.chat.completions.create(model="a", messages=QUESTION, stream=True))
    with pytest.raises(openai.APIError, match="a broken wire"):
        list(loose(server.url).completions.create(model="a", prompt="One", stream=True))
    events = list(loose(server.url).responses.create(model="a", input="Count.", stream=True))
    assert events[-1].type == "response.failed"
    assert events[-1].response.error is not None
    assert "a broken wire" in events[-1].response.error.message


def test_silence_is_no_fault_as_long_as_it_is_filled(serve_script: ServeScript) -> None:
    server = serve_script([[{"wait": 1.5}, "At last."]] * 2, stream={"keepalive_seconds": 0.2})
    api = sdk(server.url).with_options(timeout=0.8)

    assert joined(list(api.chat.completions.create(model="a", messages=QUESTION, stream=True))) == "At last."
    with api.responses.stream(model="a", input="Count.") as response:
        assert response.get_final_response().output_text == "At last."


def test_the_page_s_second_program_prints_the_size_of_a_vector(show: Show, vector_server: LiveServer) -> None:
    assert show("openai-python", vector_server, at=1).split() == ["64"]
