"""Moderation on a real model: shares that hold together, and refusals.

No guard fits into a test, so the verdicts of this model mean nothing: how they are asked for and told is tested.
"""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from openai import OpenAI

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import of_judges
from tests.support.live import LiveServer

PATH = "/v1/moderations"
BREAD = "I want to learn to bake bread."


@pytest.fixture(scope="module")
def judging(serve_with: ServeWith) -> LiveServer:
    """A server with one model of this kind, read as Qwen3Guard writes."""
    return serve_with(of_judges())


@pytest.fixture(scope="module")
def guard(judging: LiveServer, connect: Connect) -> httpx.Client:
    """A client of that server."""
    return connect(judging)


def results(client: httpx.Client, **body: Any) -> list[dict[str, Any]]:
    answer = client.post(PATH, json=body)
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    return found


def test_every_input_has_a_result_whose_shares_hold_together(guard: httpx.Client) -> None:
    first, second = results(guard, input=[BREAD, "How do I hurt somebody?"])

    for result in (first, second):
        assert sum(result["label_scores"].values()) == pytest.approx(1, abs=1e-4)
        assert result["label"] == max(result["label_scores"], key=result["label_scores"].get)
        assert sum(result["category_scores"].values()) == pytest.approx(1 - result["label_scores"]["Safe"], abs=1e-3)
        assert result["flagged"] == any(result["categories"].values())
        assert {"violence", "self-harm", "sexual/minors", "jailbreak"} <= set(result["categories"])
    assert first["label_scores"] != second["label_scores"]


def test_a_list_of_texts_text_parts_and_a_conversation_are_inputs(guard: httpx.Client) -> None:
    (alone,) = results(guard, input=BREAD)
    (parts,) = results(guard, input=[{"type": "text", "text": BREAD}])
    (talk,) = results(guard, messages=[{"role": "user", "content": BREAD}])

    assert alone["label"] == parts["label"] == talk["label"]


def test_what_is_controversial_is_flagged_where_the_client_is_strict(guard: httpx.Client) -> None:
    (lenient,), (strict,) = results(guard, input=BREAD), results(guard, input=BREAD, strict=True)

    assert strict["flagged"] == (strict["label"] != "Safe")
    assert lenient["flagged"] == (lenient["label"] == "Unsafe")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "input"),
        ({"input": []}, "input"),
        ({"input": " "}, "input"),
        ({"input": ["good", ""]}, "input.1"),
        ({"input": [{"type": "image_url", "image_url": {"url": "data:,"}}]}, "input.0.image_url.url"),
        ({"messages": [{"role": "user", "content": " "}]}, "messages"),
        ({"input": [{"type": "text"}]}, "input.0"),
        ({"input": ["a"] * 65}, "input"),
        ({"input": "a", "messages": [{"role": "user", "content": "a"}]}, "messages"),
        ({"input": "word " * 400}, "input"),
    ],
)
def test_what_cannot_be_judged_is_refused_by_its_place(guard: httpx.Client, body: dict[str, Any], param: str) -> None:
    answer = guard.post(PATH, json=body)

    assert answer.status_code == 400
    assert answer.json()["error"]["param"] == param


def test_openai_s_client_reads_the_results(judging: LiveServer) -> None:
    with OpenAI(base_url=f"{judging.url}/v1", api_key="none", max_retries=0) as client:
        moderation = client.moderations.create(model="omni-moderation-latest", input=BREAD)

    assert moderation.results[0].category_scores.violence >= 0
    assert moderation.results[0].flagged == any(moderation.results[0].categories.model_dump().values())


def test_without_a_guard_the_capability_is_named(client: httpx.Client) -> None:
    answer = client.post(PATH, json={"input": BREAD})

    assert answer.status_code == 501
    assert "moderation" in answer.json()["error"]["message"]


def test_a_guard_is_not_for_chat(guard: httpx.Client) -> None:
    body = {"model": "guard", "messages": [{"role": "user", "content": "Hi"}]}
    answer = guard.post("/v1/chat/completions", json=body)

    assert answer.status_code == 400
    assert "/v1/moderations" in answer.json()["error"]["message"]
