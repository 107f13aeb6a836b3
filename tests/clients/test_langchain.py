"""LangChain's chat models, as their page shows them and where things go wrong."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
import tiktoken
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel

from tests.clients.conftest import ServeScript, Show, call
from tests.support.live import LiveServer

FORCED = call("Sum", total=4)
KINDS = ["openai", "responses", "anthropic"]


def chat(server: LiveServer, kind: str) -> Any:
    """A chat model of LangChain at the server."""
    if kind == "anthropic":
        return ChatAnthropic(model="local-model", base_url=server.url, api_key="none", max_retries=0)
    return ChatOpenAI(
        model="local-model",
        base_url=f"{server.url}/v1",
        api_key="none",
        max_retries=0,
        use_responses_api=kind == "responses",
    )


def test_the_page_s_program_prints_what_it_should(show: Show, server: LiveServer) -> None:
    lines = show("langchain", server).splitlines()

    assert "4" in lines[0]
    assert lines[1] == lines[0]
    assert lines[2]


@pytest.mark.parametrize("kind", KINDS)
def test_an_answer_is_the_same_whole_and_streamed(serve_script: ServeScript, kind: str) -> None:
    model = chat(serve_script(["One two three."] * 2), kind)
    whole = model.invoke([("system", "Be brief."), ("human", "Count to three.")])

    assert whole.text == "One two three."
    assert whole.usage_metadata["output_tokens"] > 3
    assert "".join(chunk.text for chunk in model.stream("Count to three.")) == "One two three."


@pytest.mark.parametrize("kind", KINDS)
def test_a_prompt_that_is_too_long_is_a_bad_request(server: LiveServer, kind: str) -> None:
    with pytest.raises((openai.BadRequestError, anthropic.BadRequestError), match=r"too long|context"):
        chat(server, kind).invoke("word " * 2000)


class Sum(BaseModel):
    """The sum of two numbers."""

    total: int


def add(first: int, second: int) -> int:
    """The sum of two numbers."""
    return first + second


@pytest.mark.parametrize("kind", KINDS)
def test_a_tool_is_called_and_its_result_is_taken(serve_script: ServeScript, kind: str) -> None:
    model = chat(serve_script([call("add", first=2, second=2), "It is 4."]), kind).bind_tools([add])
    asked = model.invoke("What is 2+2?")
    (called,) = asked.tool_calls

    assert (called["name"], called["args"]) == ("add", {"first": 2, "second": 2})
    told = [("human", "What is 2+2?"), asked, {"role": "tool", "content": "4", "tool_call_id": called["id"]}]
    assert model.invoke(told).text == "It is 4."


@pytest.mark.parametrize(("kind", "method"), [("openai", "json_schema"), ("responses", "json_schema")])
def test_an_answer_is_an_object_of_the_class(serve_script: ServeScript, kind: str, method: str) -> None:
    model = chat(serve_script(['{"total": 4}']), kind).with_structured_output(Sum, method=method)

    assert model.invoke("What is 2+2?") == Sum(total=4)


@pytest.mark.parametrize("kind", ["openai", "anthropic"])
def test_an_answer_is_an_object_of_the_class_by_way_of_a_tool(serve_script: ServeScript, kind: str) -> None:
    model = chat(serve_script([FORCED]), kind).with_structured_output(Sum, method="function_calling")

    assert model.invoke("What is 2+2?") == Sum(total=4)


def test_json_is_an_object(serve_script: ServeScript) -> None:
    model = chat(serve_script(['{"total": 4}']), "openai").with_structured_output(None, method="json_mode")

    assert model.invoke("Say what 2+2 is, in JSON.") == {"total": 4}


# ---- embeddings ----------------------------------------------------------------------------------


def embeddings(server: LiveServer, **fields: Any) -> OpenAIEmbeddings:
    url = f"{server.url}/v1"
    return OpenAIEmbeddings(model="bge-small-en", base_url=url, api_key="none", max_retries=0, **fields)


def test_the_page_s_program_prints_the_sizes_of_vectors(show: Show, vector_server: LiveServer) -> None:
    assert show("langchain", vector_server, at=1).split() == ["384", "2"]


def test_texts_that_mean_the_same_are_near(vector_server: LiveServer) -> None:
    model = embeddings(vector_server, check_embedding_ctx_length=False)
    query = model.embed_query("A cat")
    near, far = model.embed_documents(["A feline", "The stock market"])

    assert sum(map(float.__mul__, query, near)) > sum(map(float.__mul__, query, far))


def test_the_ids_of_another_tokenizer_are_refused(vector_server: LiveServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its default turns texts into ids of OpenAI's tokenizer. That has to be fetched, so one like it stands in."""
    ranks = {bytes([byte]): 100_000 + byte for byte in range(256)}
    foreign = tiktoken.Encoding("foreign", pat_str=".", mergeable_ranks=ranks, special_tokens={})
    for name in ("encoding_for_model", "get_encoding"):
        monkeypatch.setattr(tiktoken, name, lambda _: foreign)

    with pytest.raises(openai.BadRequestError, match=r"this model's ids are from 0 to 30521.*send texts"):
        embeddings(vector_server).embed_query("A cat")
