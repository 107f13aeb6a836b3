"""The normal form of a conversation: the list of messages that chat templates read."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import takewhile
from typing import Literal

from troth.domain import Turn

SystemMessages = Literal["hoist", "merge_leading"]


def normal_form(turns: Sequence[Turn], policy: SystemMessages) -> list[dict[str, str]]:
    """The turns as fresh dictionaries, with at most one system message, which comes first.

    `hoist` collects the system turns of the whole conversation. `merge_leading` merges only those before
    the first other turn; a later one is said by the user, so that a cached prefix stays valid.
    """
    if policy == "hoist":
        system = [turn for turn in turns if turn.role == "system"]
        others = [turn for turn in turns if turn.role != "system"]
    else:
        system = list(takewhile(lambda turn: turn.role == "system", turns))
        others = list(turns[len(system) :])
    messages = [_message(turn) for turn in others]
    if system:
        messages.insert(0, {"role": "system", "content": "\n\n".join(turn.text for turn in system)})
    return messages


def _message(turn: Turn) -> dict[str, str]:
    message = {"role": "user" if turn.role == "system" else turn.role, "content": turn.text}
    if turn.name is not None:
        message["name"] = turn.name
    return message
