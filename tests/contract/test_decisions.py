"""Decisions on the real model: probabilities that hold together, and refusals that name the question."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

PATH = "/v1/systemone"
STATE = "My parcel is a week late and nobody answers the phone. I want to know where it is, today."
TOPIC = {
    "type": "choice",
    "instructions": "What is the mail about?",
    "criteria": {"delivery": "a parcel that is late or lost", "wedding": "an invitation", "cooking": None},
}
ANGER = {"type": "score", "instructions": "How angry is the writer?", "criteria": ["calm", "annoyed", "furious"]}
URGENT = {"type": "noul", "instructions": "Must somebody answer today?"}


@pytest.fixture(scope="module")
def decider(judges: httpx.Client) -> httpx.Client:
    """A client of a server whose chat model decides too."""
    return judges


def decide(client: httpx.Client, state: Any = STATE, **questions: Any) -> dict[str, Any]:
    answer = client.post(PATH, json={"state": state, "questions": questions})
    assert answer.status_code == 200, answer.text
    body: dict[str, Any] = answer.json()
    return body


def test_every_type_of_question_is_answered_by_its_id(decider: httpx.Client) -> None:
    body = decide(decider, topic=TOPIC, anger=ANGER, urgent=URGENT)
    topic, anger, urgent = (body["answers"][name] for name in ("topic", "anger", "urgent"))

    assert topic["choice"] == max(topic["probabilities"], key=topic["probabilities"].get)
    assert list(topic["probabilities"]) == ["delivery", "wedding", "cooking"]
    assert sum(topic["probabilities"].values()) == pytest.approx(1, abs=1e-4)
    assert anger["score"] == pytest.approx(sum(int(k) * p for k, p in anger["probabilities"].items()), abs=1e-4)
    assert anger["legend"] == {"0": "calm", "1": "annoyed", "2": "furious"}
    assert 0 <= urgent["noul"] <= 1
    assert body["usage"]["output_tokens"] == 0
    assert body["usage"]["input_tokens_details"]["cached_tokens"] > 0


def test_a_decision_is_the_same_alone_and_among_others(decider: httpx.Client) -> None:
    alone = decide(decider, topic=TOPIC)["answers"]["topic"]

    with ThreadPoolExecutor(4) as pool:
        others = list(pool.map(lambda _: decide(decider, anger=ANGER, topic=TOPIC)["answers"]["topic"], range(4)))

    for other in others:
        assert other == alone


def test_another_state_gives_another_answer(decider: httpx.Client) -> None:
    parcel = decide(decider, STATE, topic=TOPIC)["answers"]["topic"]["probabilities"]
    feast = decide(decider, "You are invited to our wedding in June.", topic=TOPIC)["answers"]["topic"]["probabilities"]

    assert feast["wedding"] > parcel["wedding"]


CALLED = {"id": "call_1", "type": "function", "function": {"name": "refund", "arguments": '{"euros": 500}'}}
USER = {"role": "user", "content": STATE}


@pytest.mark.parametrize(
    "more",
    [
        {"messages": [USER], "order": "a late parcel, number 4711"},
        [USER | {"name": "bob"}],
        [USER, {"role": "assistant", "content": None, "tool_calls": [CALLED]}],
    ],
)
def test_everything_in_a_state_is_read(decider: httpx.Client, more: Any) -> None:
    less = decide(decider, [USER], urgent=URGENT)["usage"]["input_tokens"]
    assert decide(decider, more, urgent=URGENT)["usage"]["input_tokens"] > less


def test_parts_of_text_are_text(decider: httpx.Client) -> None:
    parts = [{"role": "user", "content": [{"type": "text", "text": STATE}]}]
    assert decide(decider, parts, urgent=URGENT)["answers"] == decide(decider, [USER], urgent=URGENT)["answers"]


def test_a_picture_in_a_state_is_refused_by_its_place(decider: httpx.Client) -> None:
    shown = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
    state = {"messages": [USER, {"role": "user", "content": [{"type": "text", "text": "a"}, shown]}]}
    answer = decider.post(PATH, json={"state": state, "questions": {"q": URGENT}})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "state.messages.1.content.1")


def test_two_names_of_one_answer_are_refused(decider: httpx.Client) -> None:
    asked = URGENT | {"criteria": {"true": "it burns", "yes": "it may burn"}}
    answer = decider.post(PATH, json={"state": STATE, "questions": {"q": asked}})
    assert (answer.status_code, answer.json()["error"]["param"]) == (422, "questions.q")


def test_more_options_than_slots_are_told_apart_too(decider: httpx.Client) -> None:
    colours = dict.fromkeys(["red", "reddish", "green", "blue", "white", "black"])
    question = {"type": "choice", "instructions": "Which colour is snow?", "criteria": colours}

    found = decide(decider, "It snowed.", colour=question)["answers"]["colour"]["probabilities"]

    assert list(found) == list(colours)
    assert sum(found.values()) == pytest.approx(1, abs=1e-4)


@pytest.mark.parametrize(
    ("questions", "path"),
    [
        ({"topic": {**TOPIC, "type": "essay"}}, "questions.topic"),
        ({"topic": {**TOPIC, "criteria": {"x" * 300: None}}}, "questions.topic"),
        ({"topic": {**TOPIC, "criteria": {str(n): None for n in range(256)}}}, "questions.topic"),
        ({str(n): URGENT for n in range(65)}, "questions"),
        ({}, "questions"),
    ],
)
def test_a_question_that_cannot_be_answered_is_named(decider: httpx.Client, questions: Any, path: str) -> None:
    answer = decider.post(PATH, json={"state": STATE, "questions": questions})

    assert answer.status_code == 422
    assert answer.json()["error"]["message"].startswith(f"{path}: ")
    assert len(answer.content) < 4096


def test_a_state_that_fills_the_context_is_refused_with_its_question(decider: httpx.Client) -> None:
    answer = decider.post(PATH, json={"state": "word " * 600, "questions": {"urgent": URGENT}})

    assert answer.status_code == 400
    assert answer.json()["error"]["code"] == "context_length_exceeded"
    assert answer.json()["error"]["param"] == "questions.urgent"


@pytest.mark.parametrize("field", ["images", "files", "videos"])
def test_evidence_that_cannot_be_seen_is_refused_by_name(decider: httpx.Client, field: str) -> None:
    body = {"state": STATE, "questions": {"urgent": URGENT}}
    assert decider.post(PATH, json={**body, field: []}).status_code == 200

    refused = decider.post(PATH, json={**body, field: ["data:image/png;base64,AAAA"]})

    assert refused.status_code == 400
    assert refused.json()["error"]["param"] == field


def test_without_a_model_that_decides_the_capability_is_named(client: httpx.Client) -> None:
    answer = client.post(PATH, json={"state": STATE, "questions": {"urgent": URGENT}})

    assert answer.status_code == 501
    assert "decision" in answer.json()["error"]["message"]
