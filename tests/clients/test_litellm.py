"""LiteLLM, as its page shows it and where things go wrong."""

from __future__ import annotations

import json
from typing import Any

import litellm
import pytest

from tests.clients.conftest import ServeScript, Show, call
from tests.support.live import LiveServer

ROUTES = pytest.mark.parametrize(("provider", "path"), [("openai", "/v1"), ("anthropic", "")])
ADD = {
    "type": "function",
    "function": {
        "name": "add",
        "parameters": {
            "type": "object",
            "properties": {"first": {"type": "integer"}, "second": {"type": "integer"}},
            "required": ["first", "second"],
        },
    },
}


def ask(server: LiveServer, provider: str, path: str, text: str = "What is 2+2?", **fields: Any) -> Any:
    return litellm.completion(
        model=f"{provider}/local-model",
        api_base=server.url + path,
        api_key="none",
        messages=[{"role": "user", "content": text}],
        num_retries=0,
        **fields,
    )


def test_the_page_s_program_prints_what_it_should(show: Show, server: LiveServer) -> None:
    printed = show("litellm", server).splitlines()  # and a word of the library's own about providers
    answers = [line for line in printed if "4" in line]

    assert len(answers) == 2
    assert answers[0] == answers[1]


@ROUTES
def test_an_answer_is_the_same_whole_and_streamed(serve_script: ServeScript, provider: str, path: str) -> None:
    server = serve_script(["One two three."] * 2)
    whole = ask(server, provider, path)
    chunks = list(ask(server, provider, path, stream=True))

    assert whole.choices[0].message.content == "One two three."
    assert whole.usage.completion_tokens > 3
    assert "".join(chunk.choices[0].delta.content or "" for chunk in chunks) == "One two three."


def test_a_response_is_answered(serve_script: ServeScript) -> None:
    server = serve_script(["One two three."])
    answer = litellm.responses(
        model="openai/local-model", api_base=f"{server.url}/v1", api_key="none", input="Count to three."
    )

    assert answer.output[0].content[0].text == "One two three."


@ROUTES
def test_a_prompt_that_is_too_long_is_known_as_such(server: LiveServer, provider: str, path: str) -> None:
    with pytest.raises(litellm.ContextWindowExceededError):
        ask(server, provider, path, text="word " * 2000)


@ROUTES
def test_a_refusal_is_a_bad_request_that_names_the_field(server: LiveServer, provider: str, path: str) -> None:
    asked: dict[str, Any] = {"best_of": 3}
    with pytest.raises(litellm.BadRequestError, match="best_of"):
        ask(server, provider, path, **({"extra_body": asked} if provider == "openai" else asked))


@ROUTES
def test_a_tool_is_called(serve_script: ServeScript, provider: str, path: str) -> None:
    server = serve_script([call("add", first=2, second=2)] * 2)
    whole = ask(server, provider, path, tools=[ADD]).choices[0]
    chunks = list(ask(server, provider, path, tools=[ADD], stream=True))
    streamed = litellm.stream_chunk_builder(chunks).choices[0]

    for choice in (whole, streamed):
        assert choice.finish_reason == "tool_calls"
        (called,) = choice.message.tool_calls
        assert (called.function.name, json.loads(called.function.arguments)) == ("add", {"first": 2, "second": 2})


# ---- vectors and relevance -----------------------------------------------------------------------


def test_the_page_s_program_prints_a_size_and_the_best_document(show: Show, vector_server: LiveServer) -> None:
    printed = show("litellm", vector_server, at=1).splitlines()

    assert printed[-2:] == ["384", "1 Paris is the capital of France."]


def test_a_refusal_of_vectors_names_the_field(vector_server: LiveServer) -> None:
    with pytest.raises(litellm.BadRequestError, match="dimensions"):
        litellm.embedding(
            model="openai/text-embedding-3-small",
            api_base=f"{vector_server.url}/v1",
            api_key="none",
            input=["a"],
            dimensions=1000,
            num_retries=0,
        )
