"""The normal form of a conversation: the list of messages that chat templates read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Literal

from troth.domain import Turn
from troth.errors import BadRequest

SystemMessages = Literal["hoist", "merge_leading"]


def normal_form(turns: Sequence[Turn], policy: SystemMessages) -> list[dict[str, str]]:
    """The turns as fresh dictionaries, with at most one system message, which comes first.

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
    messages = [_message(turn, "user" if turn.role == "system" else turn.role) for turn in others]
    if system:
        messages.insert(0, _merged(system))
    return messages


def _merged(system: Sequence[Turn]) -> dict[str, str]:
    names = {turn.name for turn in system}
    if len(names) > 1:
        raise BadRequest(
            "The system messages become one, and they have different names: give all of them one name, or none.",
            param="messages",
            code="conflicting_values",
        )
    return _message(replace(system[0], text="\n\n".join(turn.text for turn in system)), "system")


def _message(turn: Turn, role: str) -> dict[str, str]:
    message = {"role": role, "content": turn.text}
    if turn.name is not None:
        message["name"] = turn.name
    return message
