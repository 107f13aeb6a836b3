"""`verbose` on chat: what stands behind an answer, in llama-server's words."""

from __future__ import annotations

from typing import Any

import httpx

from tests.support.judge import chunks_of

ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Say hi"}], "max_tokens": 4, "temperature": 0}
PATH = "/v1/chat/completions"


def test_a_whole_answer_tells_its_prompt_and_settings_only_when_asked(client: httpx.Client) -> None:
    told = client.post(PATH, json={**ASKED, "verbose": True}).json()
    verbose = told["__verbose"]

    assert verbose["content"] == told["choices"][0]["message"]["content"]
    assert "Say hi" in verbose["prompt"]
    assert verbose["generation_settings"]["temperature"] == 0
    assert verbose["tokens_predicted"] == told["usage"]["completion_tokens"]
    assert "__verbose" not in client.post(PATH, json={**ASKED, "verbose": False}).json()


def test_a_stream_tells_it_once_and_changes_nothing_else(client: httpx.Client) -> None:
    told = chunks_of(client.post(PATH, json={**ASKED, "verbose": True, "stream": True}).text)
    plain = chunks_of(client.post(PATH, json={**ASKED, "stream": True}).text)

    (verbose,) = [chunk for chunk in told if "__verbose" in chunk]
    assert verbose["choices"] == []
    assert verbose["__verbose"]["stop_type"] == "limit"
    assert "Say hi" in verbose["__verbose"]["prompt"]
    rest = [chunk["choices"] for chunk in told if chunk is not verbose]
    assert rest == [chunk["choices"] for chunk in plain]
