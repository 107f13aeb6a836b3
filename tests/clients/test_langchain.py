"""LangChain's chat models, as their page shows them and where things go wrong."""

from __future__ import annotations

from typing import Any

import anthropic
import openai
import pytest
from langchain_anthropic import ChatAnthropic
from langchain_openai import ChatOpenAI

from tests.clients.conftest import ServeScript, Show
from tests.support.live import LiveServer

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
