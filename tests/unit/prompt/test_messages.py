"""The normal form of conversations."""

from __future__ import annotations

import pytest

from troth.domain import Role, ToolCall, Turn
from troth.errors import BadRequest
from troth.prompt.messages import called_names, message_of, normal_form


def turns(*said: tuple[Role, str]) -> list[Turn]:
    return [Turn(role=role, text=text) for role, text in said]


def pairs(form: list[Turn]) -> list[tuple[str, str]]:
    return [(turn.role, turn.text) for turn in form]


LATE = turns(("system", "a"), ("system", "b"), ("user", "c"), ("system", "d"), ("assistant", "e"))


def test_hoist_makes_one_system_message_and_puts_it_first() -> None:
    messages = normal_form(LATE, "hoist")

    assert pairs(messages) == [("system", "a\n\nb\n\nd"), ("user", "c"), ("assistant", "e")]


def test_merge_leading_leaves_later_system_turns_in_place_as_user_turns() -> None:
    messages = normal_form(LATE, "merge_leading")

    assert pairs(messages) == [("system", "a\n\nb"), ("user", "c"), ("user", "d"), ("assistant", "e")]


def test_a_conversation_without_system_turns_gets_none() -> None:
    said = turns(("user", "a"), ("user", "b"), ("tool", "c"))

    assert pairs(normal_form(said, "hoist")) == [("user", "a"), ("user", "b"), ("tool", "c")]
    assert pairs(normal_form(said, "merge_leading")) == [("user", "a"), ("user", "b"), ("tool", "c")]


def test_a_name_is_kept_and_an_absent_one_is_absent() -> None:
    named = normal_form([Turn(role="user", text="a", name="Ada"), Turn(role="user", text="b")], "hoist")

    messages = [message_of(turn, names={}) for turn in named]

    assert messages == [{"role": "user", "content": "a", "name": "Ada"}, {"role": "user", "content": "b"}]


def test_no_turns_are_no_messages() -> None:
    assert normal_form([], "hoist") == []
    assert normal_form([], "merge_leading") == []


def test_merged_system_messages_keep_the_name_they_share() -> None:
    named = [Turn(role="system", text="a", name="Ann"), Turn(role="system", text="b", name="Ann")]
    assert normal_form(named, "hoist") == [Turn(role="system", text="a\n\nb", name="Ann")]


@pytest.mark.parametrize("other", ["Bob", None])
def test_system_messages_with_different_names_are_refused(other: str | None) -> None:
    named = [Turn(role="system", text="a", name="Ann"), Turn(role="system", text="b", name=other)]
    with pytest.raises(BadRequest, match="different names"):
        normal_form(named, "hoist")


CALL = ToolCall("call_1", "add", '{"a": 1}')


def test_a_result_is_named_after_the_call_that_it_answers() -> None:
    said = [Turn(role="assistant", text="", calls=(CALL,)), Turn(role="tool", text="4", call_id="call_1")]

    assert message_of(said[1], names=called_names(said)) == {
        "role": "tool",
        "content": "4",
        "tool_call_id": "call_1",
        "name": "add",
    }


def test_arguments_are_an_object_unless_the_template_wants_text() -> None:
    turn = Turn(role="assistant", text="", calls=(CALL,), reasoning="hm")

    as_object, as_text = (message_of(turn, names={}, text_arguments=text) for text in (False, True))

    assert as_object["tool_calls"][0]["function"] == {"name": "add", "arguments": {"a": 1}}
    assert as_text["tool_calls"][0]["function"] == {"name": "add", "arguments": '{"a": 1}'}
    assert as_object["reasoning_content"] == "hm"


@pytest.mark.parametrize("arguments", ["{", "[1]", "", "x"])
def test_arguments_that_are_no_object_stay_the_text_that_they_are(arguments: str) -> None:
    turn = Turn(role="assistant", text="", calls=(ToolCall("c", "add", arguments),))

    assert message_of(turn, names={})["tool_calls"][0]["function"]["arguments"] == arguments
