"""Questions as they are asked, and answers as they are told."""

from __future__ import annotations

from typing import Any

import pytest

from troth._generated.models import SystemOneRequest
from troth.dialects.decisions import choice_confidence, read, score_confidence
from troth.errors import Unprocessable

TOPIC = {"type": "choice", "instructions": "What is it about?", "criteria": {"delivery": "a parcel", "refund": None}}


def ask(**fields: Any) -> Any:
    body = {"state": "A parcel is late.", "questions": {"topic": TOPIC}} | fields
    return read(SystemOneRequest.model_validate(body), frozenset())


@pytest.mark.parametrize(
    ("state", "text"),
    [
        ("plain", "plain"),
        ({"a": 1}, '{"a": 1}'),
        ([1, 2], "[1, 2]"),
        ([{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes?"}], "user: Hi\nassistant: Yes?"),
        ({"messages": [{"role": "user", "content": "Hi"}]}, "user: Hi"),
        (False, "false"),
    ],
)
def test_a_state_is_a_text_or_messages_or_any_json(state: Any, text: str) -> None:
    assert ask(state=state).state == text


def test_the_options_of_each_type() -> None:
    score = {"type": "score", "instructions": {"ask": "anger"}, "criteria": ["calm", "furious"]}
    noul = {"type": "noul", "instructions": "Urgent?", "criteria": {"true": "today"}}
    topic, anger, urgent = ask(questions={"topic": TOPIC, "anger": score, "urgent": noul}).questions

    assert [(option.key, option.description) for option in topic.options] == [("delivery", "a parcel"), ("refund", "")]
    assert [(option.key, option.description) for option in anger.options] == [("0", "calm"), ("1", "furious")]
    assert [(option.key, option.description) for option in urgent.options] == [("yes", "today"), ("no", "")]
    assert anger.instructions == '{"ask": "anger"}'


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("text", "a question is an object"),
        ({**TOPIC, "type": "essay"}, "type is one of choice, score, noul"),
        ({**TOPIC, "instructions": ""}, "instructions say what is asked"),
        ({**TOPIC, "instructions": 3}, "instructions say what is asked"),
        ({**TOPIC, "criteria": {}}, "criteria of a choice is an object"),
        ({**TOPIC, "criteria": ["a"]}, "criteria of a choice is an object"),
        ({**TOPIC, "criteria": {"": "x"}}, "an option has no name"),
        ({**TOPIC, "criteria": {"a": 3}}, "descriptions in criteria are texts or null"),
        ({"type": "score", "instructions": "?", "criteria": ["one"]}, "a list of 2 to 10 levels"),
        ({"type": "score", "instructions": "?", "criteria": ["x"] * 11}, "a list of 2 to 10 levels"),
        ({"type": "noul", "instructions": "?", "criteria": ["x"]}, "criteria of a noul is null"),
        ({"type": "noul", "instructions": "?", "criteria": {"maybe": "x"}}, "criteria of a noul is null"),
    ],
)
def test_a_bad_question_is_named_by_its_path(question: Any, words: str) -> None:
    with pytest.raises(Unprocessable, match=words) as refused:
        ask(questions={"topic": question})

    assert refused.value.message.startswith("questions.topic: ")
    assert refused.value.param == "questions.topic"


@pytest.mark.parametrize("fields", [{"state": None}, {"questions": None}, {"questions": {}}, {"questions": [TOPIC]}])
def test_without_a_state_or_questions_there_is_nothing_to_decide(fields: dict[str, Any]) -> None:
    with pytest.raises(Unprocessable):
        ask(**fields)


def test_the_confidence_of_a_choice_goes_from_even_to_certain() -> None:
    assert choice_confidence([0.25] * 4) == pytest.approx(0)
    assert choice_confidence([1.0, 0.0]) == pytest.approx(1)
    assert choice_confidence([1.0]) == 1


def test_the_confidence_of_a_score_falls_with_the_distance_from_the_likeliest_level() -> None:
    assert score_confidence([0.0, 1.0, 0.0]) == 1
    assert score_confidence([0.5, 0.0, 0.5]) == 0
    assert score_confidence([0.0, 0.8, 0.2]) == pytest.approx(1 - 0.2 / (2 / 3))
