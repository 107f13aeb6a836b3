"""An answer in the words of OpenAI's Responses API, whole or event by event.

Divergences from OpenAI, all additive: `timings` on the answer; `prompt_progress` on `response.in_progress` when asked.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field
from typing import Any

from troth.dialects.completion_answer import progress_of
from troth.dialects.sse import event_frame
from troth.dialects.timings import timings_of
from troth.domain import Choice, Ended, Event, Finished, Plan, Progress, Reply, Said, Timings, Usage
from troth.errors import Refusal

Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What is known of an answer before it is written."""

    plan: Plan
    instructions: str | None
    parallel_tool_calls: bool
    id: str = field(default_factory=lambda: "resp_" + secrets.token_hex(12))
    message_id: str = field(default_factory=lambda: "msg_" + secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))  # Unix seconds

    def response(self, status: str, output: list[Body], **more: Any) -> Body:
        """The answer at this moment."""
        sampling, ask = self.plan.sampling, self.plan.ask
        return {
            "id": self.id,
            "object": "response",
            "created_at": self.created,
            "completed_at": None,
            "status": status,
            "error": None,
            "incomplete_details": None,
            "instructions": self.instructions,
            "max_output_tokens": ask.budget_tokens,
            "model": self.plan.model.id,
            "output": output,
            "parallel_tool_calls": self.parallel_tool_calls,
            "previous_response_id": None,
            "reasoning": {"effort": None, "summary": None},
            "store": False,
            "temperature": sampling.temperature,
            "text": {"format": {"type": "text"}},
            "tool_choice": "auto",
            "tools": [],
            "top_p": sampling.top_p,
            "truncation": "disabled",
            "usage": None,
            "metadata": {},
        } | more

    def message(self, status: str, text: str | None) -> Body:
        """The one item of the output; without a text its content has not begun."""
        return {
            "id": self.message_id,
            "type": "message",
            "role": "assistant",
            "status": status,
            "content": [] if text is None else [part(text)],
        }

    def ended(self, choice: Choice, usage: Usage, timings: Timings) -> tuple[str, Body]:
        """How it ended, and the whole answer. One cut at its budget is incomplete."""
        cut = choice.finish == "length"
        status = "incomplete" if cut else "completed"
        more: Body = {
            "completed_at": int(time.time()),
            "usage": usage_of(usage),
            "timings": timings_of(timings),
        }
        if cut:
            more["incomplete_details"] = {"reason": "max_output_tokens"}
        return status, self.response(status, [self.message(status, choice.text)], **more)


def whole(reply: Reply, heading: Heading) -> Body:
    """The answer as one object."""
    (choice,) = reply.choices
    return heading.ended(choice, reply.usage, reply.timings)[1]


def part(text: str) -> Body:
    """A part of text."""
    return {"type": "output_text", "text": text, "annotations": [], "logprobs": []}


def usage_of(usage: Usage) -> Body:
    """Token counts by this API's names."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.answer_tokens,
        "output_tokens_details": {"reasoning_tokens": 0},
        "total_tokens": usage.prompt_tokens + usage.answer_tokens,
    }


class ResponseEvents:
    """Writes the events of one answer as this API's, numbered. Holds one answer's state."""

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        self._number = 0
        self._texts: list[str] | None = None  # of the message, once it has begun
        self._end = Choice()
        self._place = {"item_id": heading.message_id, "output_index": 0, "content_index": 0}

    def open_all(self) -> bytes:
        """`response.created` and `response.in_progress`, which are sent at once."""
        return self._frame("response.created", response=self._now()) + self.keepalive()

    def keepalive(self) -> bytes:
        """One more `response.in_progress`: this API's clients count events, not comments."""
        return self._frame("response.in_progress", response=self._now())

    def end(self) -> bytes:
        """Nothing: the last event says that it is the last."""
        return b""

    def fault(self, refusal: Refusal) -> bytes:
        """`response.failed`."""
        return self._failed(refusal.code, refusal.message)

    def broken(self) -> bytes:
        """`response.failed` for what nobody foresaw."""
        return self._failed("server_error", "The server failed to finish this answer.")

    def _failed(self, code: str, message: str) -> bytes:
        text = self._texts and "".join(self._texts)
        output = [self._heading.message("incomplete", text)] if text else []
        error = {"code": code, "message": message}
        return self._frame("response.failed", response=self._heading.response("failed", output, error=error))

    def write(self, event: Event) -> bytes:
        """The events that `event` causes, none to several."""
        match event:
            case Said() if event.text:
                opened = self._opened()
                assert self._texts is not None
                self._texts.append(event.text)
                more = {} if event.timings is None else {"timings": timings_of(event.timings)}
                delta = self._frame("response.output_text.delta", **self._place, delta=event.text, logprobs=[], **more)
                return opened + delta
            case Progress():
                return self._frame("response.in_progress", response=self._now(), prompt_progress=progress_of(event))
            case Ended():
                self._end = Choice(finish=event.finish, stop_text=event.stop_text)
                return b""
            case Finished():
                return self._closed(event)
            case _:
                return b""

    def _opened(self) -> bytes:
        if self._texts is not None:
            return b""
        self._texts = []
        item = self._heading.message("in_progress", None)
        return self._frame("response.output_item.added", output_index=0, item=item) + self._frame(
            "response.content_part.added", **self._place, part=part("")
        )

    def _closed(self, finished: Finished) -> bytes:
        opened = self._opened()  # an answer without a word is an empty message
        assert self._texts is not None
        self._end.text = "".join(self._texts)
        status, response = self._heading.ended(self._end, finished.usage, finished.timings)
        text = self._end.text
        done = self._frame("response.output_text.done", **self._place, text=text, logprobs=[])
        done += self._frame("response.content_part.done", **self._place, part=part(text))
        done += self._frame("response.output_item.done", output_index=0, item=self._heading.message(status, text))
        return opened + done + self._frame(f"response.{status}", response=response)

    def _now(self) -> Body:
        return self._heading.response("in_progress", [])

    def _frame(self, kind: str, **body: Any) -> bytes:
        frame = event_frame(kind, {"type": kind, "sequence_number": self._number, **body})
        self._number += 1
        return frame
