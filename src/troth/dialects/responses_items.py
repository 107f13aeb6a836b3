"""The items of an answer of OpenAI's Responses API: reasoning, a message, calls of functions."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from troth.domain import ToolCall

Body = dict[str, Any]
Kind = Literal["reasoning", "message", "function_call"]
PREFIXES: Mapping[Kind, str] = {"reasoning": "rs_", "message": "msg_", "function_call": "fc_"}


@dataclass(slots=True)
class Item:
    """One item while it is written: its id, and its text or arguments in pieces."""

    kind: Kind
    call_id: str = ""
    name: str = ""
    pieces: list[str] = field(default_factory=list)
    id: str = ""

    def __post_init__(self) -> None:
        self.id = PREFIXES[self.kind] + secrets.token_hex(12)

    @property
    def text(self) -> str:
        """What it says so far."""
        return "".join(self.pieces)

    def part(self, text: str) -> Body:
        """Its one part, with this text."""
        if self.kind == "reasoning":
            return {"type": "reasoning_text", "text": text}
        return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}

    def body(self, status: str, names: Mapping[str, tuple[str, str]], *, is_new: bool = False) -> Body:
        """The item on the wire. `is_new`: it has no content yet. `names`: functions that have a namespace."""
        content = [] if is_new else [self.part(self.text)]
        common: Body = {"id": self.id, "type": self.kind, "status": status}
        match self.kind:
            case "reasoning":
                return common | {"summary": [], "content": content, "encrypted_content": None}
            case "message":
                return common | {"role": "assistant", "content": content}
            case "function_call":
                space, name = names.get(self.name, ("", self.name))
                spaced = {"namespace": space} if space else {}
                return common | {"call_id": self.call_id, "name": name, **spaced, "arguments": self.text}


def items_of(thoughts: str, text: str, calls: list[ToolCall]) -> list[Item]:
    """The items of a whole answer. One that says nothing at all is an empty message."""
    items = [Item("reasoning", pieces=[thoughts])] if thoughts else []
    if text or not calls:
        items.append(Item("message", pieces=[text]))
    return items + [Item("function_call", call.id, call.name, [call.arguments]) for call in calls]
