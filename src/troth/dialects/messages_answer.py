"""An answer as Anthropic's clients read it, whole or event by event.

Divergences from Anthropic, all additive: `timings` on the message and on `message_delta`; `message_delta` repeats
the input's counts, since only then it is known how much of the prompt came from the cache.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from troth.dialects.sse import event_frame
from troth.dialects.timings import timings_of
from troth.domain import Choice, Ended, Event, Finished, Reply, Said, Usage
from troth.errors import EngineFault, Refusal

PING = event_frame("ping", {"type": "ping"})
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
    content = [{"type": "text", "text": choice.text}] if choice.text else []
    return heading.message(content, usage_of(reply.usage)) | _ending(choice) | {"timings": timings_of(reply.timings)}


def usage_of(usage: Usage) -> dict[str, int]:
    """The counts: the three of the input sum to the prompt."""
    return {
        "input_tokens": usage.prompt_tokens - usage.cached_tokens,
        "cache_read_input_tokens": usage.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": usage.answer_tokens,
    }


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
    """Writes the events of one answer as Anthropic's. Holds one answer's state."""

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        self._is_open = False
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
                delta = _frame("content_block_delta", index=0, delta={"type": "text_delta", "text": event.text})
                return self._opened() + delta
            case Ended():
                self._end = Choice(finish=event.finish, stop_text=event.stop_text)
                return b""
            case Finished():
                told = {"usage": usage_of(event.usage), "timings": timings_of(event.timings)}
                return self._closed() + _frame("message_delta", delta=_ending(self._end), **told)
            case _:
                return b""

    def _opened(self) -> bytes:
        if self._is_open:
            return b""
        self._is_open = True
        return _frame("content_block_start", index=0, content_block={"type": "text", "text": ""})

    def _closed(self) -> bytes:
        return _frame("content_block_stop", index=0) if self._is_open else b""


def _frame(kind: str, **body: Any) -> bytes:
    return event_frame(kind, {"type": kind, **body})


def _ending(choice: Choice) -> dict[str, Any]:
    if choice.stop_text is not None:
        return {"stop_reason": "stop_sequence", "stop_sequence": choice.stop_text}
    return {"stop_reason": "max_tokens" if choice.finish == "length" else "end_turn", "stop_sequence": None}
