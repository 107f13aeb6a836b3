"""The normal form of a conversation: the list of messages that chat templates read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, Literal

from troth.domain import ToolCall, Turn
from troth.errors import BadRequest

SystemMessages = Literal["hoist", "merge_leading"]
Message = dict[str, Any]


def normal_form(turns: Sequence[Turn], policy: SystemMessages) -> list[Turn]:
    """The turns with at most one of the system's, which comes first.

    `hoist` collects the system turns of the whole conversation. `merge_leading` merges only those before
    the first other turn; a later one is said by the user, so that a cached prefix stays valid.

    Raises: BadRequest for system turns with different names, which one message cannot have.
    """
    if policy == "hoist":
        system = [turn for turn in turns if turn.role == "system"]
        others = [turn for turn in turns if turn.role != "system"]
    else:
        system = list(takewhile(lambda turn: turn.role == "system", turns))
        others = list(turns[len(system) :])
    form = [replace(turn, role="user") if turn.role == "system" else turn for turn in others]
    return [_merged(system), *form] if system else form


def message_of(turn: Turn, *, names: dict[str, str], text_arguments: bool = False) -> Message:
    """The turn as a fresh dictionary. `names`: by the id of a call, the function that it called."""
    message: Message = {"role": turn.role, "content": turn.text}
    if turn.name is not None:
        message["name"] = turn.name
    if turn.reasoning is not None:
        message["reasoning_content"] = turn.reasoning
    if turn.calls:
        message["tool_calls"] = [_call(call, text_arguments=text_arguments) for call in turn.calls]
    if turn.call_id is not None:
        message["tool_call_id"] = turn.call_id
        if turn.name is None and turn.call_id in names:
            message["name"] = names[turn.call_id]
    return message


def called_names(turns: Sequence[Turn]) -> dict[str, str]:
    """By the id of each call of the conversation, the function that it called."""
    return {call.id: call.name for turn in turns for call in turn.calls}


def _call(call: ToolCall, *, text_arguments: bool) -> dict[str, Any]:
    arguments: Any = call.arguments
    if not text_arguments:
        try:
            read = json.loads(call.arguments)
        except (ValueError, RecursionError):
            read = None  # a call that was cut: it stays the text that it is
        if isinstance(read, dict):
            arguments = read
    return {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _merged(system: Sequence[Turn]) -> Turn:
    names = {turn.name for turn in system}
    if len(names) > 1:
        raise BadRequest(
            "The system messages become one, and they have different names: give all of them one name, or none.",
            param="messages",
            code="conflicting_values",
        )
    return replace(system[0], text="\n\n".join(turn.text for turn in system))
