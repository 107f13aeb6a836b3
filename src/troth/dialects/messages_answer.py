"""An answer as Anthropic's clients read it, whole or event by event.

Divergences from Anthropic, all additive: `timings` on the message and on `message_delta`; `message_delta` repeats
the input's counts, since only then it is known how much of the prompt came from the cache.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from troth.dialects.sse import event_frame
from troth.dialects.timings import timings_of
from troth.dialects.usage import thoughts_of
from troth.domain import (
    CallBegan,
    CallSaid,
    Choice,
    Ended,
    Event,
    Finished,
    FinishReason,
    Reply,
    Said,
    Thought,
    ToolCall,
    Usage,
)
from troth.errors import EngineFault, Refusal

PING = event_frame("ping", {"type": "ping"})
SIGNATURE = "unsigned"  # clients want one, and give it back; nobody checks it here
REASONS: Mapping[FinishReason, str] = {"stop": "end_turn", "length": "max_tokens", "tool_calls": "tool_use"}
Kind = Literal["text", "thinking", "tool_use"]
TYPES = {429: "rate_limit_error", 500: "api_error", 503: "overloaded_error"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What is known of a message before it is written."""

    model: str
    request_id: str
    prompt_tokens: int
    id: str = field(default_factory=lambda: "msg_" + secrets.token_hex(12))

    def message(self, content: list[dict[str, Any]], usage: dict[str, Any]) -> dict[str, Any]:
        """The message, not ended yet."""
        return {
            "id": self.id,
            "type": "message",
            "role": "assistant",
            "model": self.model,
            "content": content,
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }


def whole(reply: Reply, heading: Heading) -> dict[str, Any]:
    """The answer as one message."""
    (choice,) = reply.choices
    content: list[dict[str, Any]] = []
    if choice.thoughts:
        content.append({"type": "thinking", "thinking": choice.thoughts, "signature": SIGNATURE})
    if choice.text:
        content.append({"type": "text", "text": choice.text})
    content += [_tool_use(call) for call in choice.calls]
    return heading.message(content, usage_of(reply.usage)) | _ending(choice) | {"timings": timings_of(reply.timings)}


def _tool_use(call: ToolCall) -> dict[str, Any]:
    """A call. Arguments that were cut are no object: then their text is told beside an empty one."""
    try:
        arguments = json.loads(call.arguments)
    except ValueError:
        arguments = None
    block: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": arguments or {}}
    if not isinstance(arguments, dict):
        block |= {"input": {}, "partial_input": call.arguments}
    return block


def usage_of(usage: Usage) -> dict[str, Any]:
    """The counts: the three of the input sum to the prompt."""
    told: dict[str, Any] = {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.answer_tokens,
    }
    if usage.thoughts.tokens:
        told["output_tokens_details"] = thoughts_of(usage.thoughts)
    return told


def fault_of(refusal: Refusal, request_id: str) -> dict[str, Any]:
    """`refusal` as Anthropic's clients read it after the first byte."""
    kind = TYPES.get(refusal.status, "api_error" if refusal.status >= 500 else "invalid_request_error")
    return {
        "type": "error",
        "error": {"type": kind, "message": refusal.message, **refusal.facts},
        "request_id": request_id,
    }


UNFORESEEN = event_frame(
    "error", fault_of(EngineFault("The server failed to finish this answer.", code="internal_error"), "")
)


class MessageEvents:
    """Writes the events of one answer as Anthropic's. Holds one answer's state.

    A block is open while events of its kind come; the first of another kind closes it and opens the next.
    """

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        self._index = -1  # of the block that was opened last
        self._open: Kind | None = None
        self._end = Choice()

    def open_all(self) -> bytes:
        """`message_start`, which is sent at once."""
        usage = usage_of(Usage(self._heading.prompt_tokens, 0))
        return _frame("message_start", message=self._heading.message([], usage))

    def end(self) -> bytes:
        """Anthropic's last event."""
        return _frame("message_stop")

    def fault(self, refusal: Refusal) -> bytes:
        """The event of a fault after the first byte."""
        return event_frame("error", fault_of(refusal, self._heading.request_id))

    def write(self, event: Event) -> bytes:
        """The events that `event` causes, none to several."""
        match event:
            case Said() if event.text:
                opened = self._in("text", {"type": "text", "text": ""})
                return opened + self._delta({"type": "text_delta", "text": event.text})
            case Thought():
                opened = self._in("thinking", {"type": "thinking", "thinking": "", "signature": ""})
                return opened + self._delta({"type": "thinking_delta", "thinking": event.text})
            case CallBegan():
                block = {"type": "tool_use", "id": event.id, "name": event.name, "input": {}}
                return self._closed() + self._in("tool_use", block)
            case CallSaid():
                return self._delta({"type": "input_json_delta", "partial_json": event.text})
            case Ended():
                self._end = Choice(finish=event.finish, stop_text=event.stop_text)
                return b""
            case Finished():
                told = {"usage": usage_of(event.usage), "timings": timings_of(event.timings)}
                return self._closed() + _frame("message_delta", delta=_ending(self._end), **told)
            case _:
                return b""

    def _in(self, kind: Kind, block: dict[str, Any]) -> bytes:
        """A block of this kind is open."""
        if self._open == kind:
            return b""
        closed = self._closed()
        self._open = kind
        self._index += 1
        return closed + _frame("content_block_start", index=self._index, content_block=block)

    def _delta(self, delta: dict[str, Any]) -> bytes:
        return _frame("content_block_delta", index=self._index, delta=delta)

    def _closed(self) -> bytes:
        if self._open is None:
            return b""
        signed = b""
        if self._open == "thinking":
            signed = self._delta({"type": "signature_delta", "signature": SIGNATURE})
        self._open = None
        return signed + _frame("content_block_stop", index=self._index)


def _frame(kind: str, **body: Any) -> bytes:
    return event_frame(kind, {"type": kind, **body})


def _ending(choice: Choice) -> dict[str, Any]:
    if choice.stop_text is not None:
        return {"stop_reason": "stop_sequence", "stop_sequence": choice.stop_text}
    return {"stop_reason": REASONS[choice.finish], "stop_sequence": None}
