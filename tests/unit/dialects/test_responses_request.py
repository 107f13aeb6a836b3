"""Items of the Responses API as turns of a conversation."""

from __future__ import annotations

import json
from typing import Any

from troth._generated.models import ResponsesRequest
from troth.dialects.responses_request import read
from troth.dialects.responses_tools import toolbox_of
from troth.domain import Talk

USER: dict[str, Any] = {"role": "user", "content": "Hi"}
SAID: dict[str, Any] = {"role": "assistant", "content": "Yes."}
CALL: dict[str, Any] = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
RESULT: dict[str, Any] = {"type": "function_call_output", "call_id": "c", "output": "here"}


def thought(words: str) -> dict[str, Any]:
    return {"type": "reasoning", "id": "rs", "summary": [], "content": [{"type": "reasoning_text", "text": words}]}


def turns(*items: dict[str, Any]) -> list[tuple[str, str | None]]:
    body = ResponsesRequest.model_validate_json(json.dumps({"input": items}))
    source = read(body, frozenset(), None, "", toolbox_of(body)).source
    assert isinstance(source, Talk)
    return [(turn.role, turn.reasoning) for turn in source.turns]


def test_reasoning_in_several_items_belongs_to_the_turn_that_follows() -> None:
    expected = [("user", None), ("assistant", "One.\nTwo."), ("user", None)]
    assert turns(USER, thought("One."), thought("Two."), SAID, USER) == expected


def test_reasoning_that_nothing_followed_is_a_turn_of_its_own() -> None:
    assert turns(USER, thought("One."), USER) == [("user", None), ("assistant", "One."), ("user", None)]


def test_reasoning_before_a_result_belongs_to_the_turn_behind_it() -> None:
    expected = [("user", None), ("assistant", None), ("tool", None), ("assistant", "One."), ("user", None)]
    assert turns(USER, CALL, thought("One."), RESULT, SAID, USER) == expected


def test_reasoning_that_says_nothing_is_no_turn() -> None:
    assert turns(USER, thought(""), USER) == [("user", None), ("user", None)]
