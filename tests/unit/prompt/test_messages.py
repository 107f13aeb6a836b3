"""The normal form of conversations."""

from __future__ import annotations

import pytest

from troth.domain import Role, Turn
from troth.errors import BadRequest
from troth.prompt.messages import normal_form


def turns(*said: tuple[Role, str]) -> list[Turn]:
    return [Turn(role=role, text=text) for role, text in said]


def pairs(messages: list[dict[str, str]]) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in messages]


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

    assert named == [{"role": "user", "content": "a", "name": "Ada"}, {"role": "user", "content": "b"}]


def test_no_turns_are_no_messages() -> None:
    assert normal_form([], "hoist") == []
    assert normal_form([], "merge_leading") == []


def test_merged_system_messages_keep_the_name_they_share() -> None:
    named = [Turn(role="system", text="a", name="Ann"), Turn(role="system", text="b", name="Ann")]
    assert normal_form(named, "hoist") == [{"role": "system", "content": "a\n\nb", "name": "Ann"}]


@pytest.mark.parametrize("other", ["Bob", None])
def test_system_messages_with_different_names_are_refused(other: str | None) -> None:
    named = [Turn(role="system", text="a", name="Ann"), Turn(role="system", text="b", name=other)]
    with pytest.raises(BadRequest, match="different names"):
        normal_form(named, "hoist")
