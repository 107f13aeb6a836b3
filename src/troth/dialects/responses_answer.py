"""An answer in the words of OpenAI's Responses API, whole or event by event.

Divergences from OpenAI, all additive: `timings` on the answer; `prompt_progress` on `response.in_progress` when asked;
`tools_left_out` for tools that the model was not shown.
"""

from __future__ import annotations

import secrets
import time
from dataclasses import dataclass, field

from troth.dialects.completion_answer import progress_of
from troth.dialects.responses_items import Body, Item, Kind, items_of
from troth.dialects.responses_tools import Toolbox
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
    Form,
    Plan,
    Progress,
    Reply,
    Said,
    Talk,
    Thought,
    Timings,
    Usage,
)
from troth.errors import Refusal

SERVER_ERROR = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What is known of an answer before it is written."""

    plan: Plan
    instructions: str | None
    parallel_tool_calls: bool
    toolbox: Toolbox
    id: str = field(default_factory=lambda: "resp_" + secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))  # Unix seconds

    def response(self, status: str, output: list[Body], **more: object) -> Body:
        """The answer at this moment."""
        sampling, ask = self.plan.sampling, self.plan.ask
        effort = ask.source.thinking.effort if isinstance(ask.source, Talk) else None
        left_out = {"tools_left_out": self.toolbox.left_out} if self.toolbox.left_out else {}
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
            "reasoning": {"effort": effort, "summary": None},
            "store": False,
            "temperature": sampling.temperature,
            "text": {"format": _format(ask.form)},
            "tool_choice": self.toolbox.choice,
            "tools": self.toolbox.shown,
            **left_out,
            "top_p": sampling.top_p,
            "truncation": "disabled",
            "usage": None,
            "metadata": {},
        } | more

    def ended(self, end: Choice, items: list[Item], usage: Usage, timings: Timings) -> tuple[str, Body]:
        """How it ended, and the whole answer. One cut at its budget is incomplete."""
        cut = end.finish == "length"
        status = "incomplete" if cut else "completed"
        more: Body = {
            "completed_at": int(time.time()),
            "usage": usage_of(usage),
            "timings": timings_of(timings),
        }
        if cut:
            more["incomplete_details"] = {"reason": "max_output_tokens"}
        names = self.toolbox.names
        output = [item.body(status if item is items[-1] else "completed", names) for item in items]
        return status, self.response(status, output, **more)


def whole(reply: Reply, heading: Heading) -> Body:
    """The answer as one object."""
    (choice,) = reply.choices
    items = items_of(choice.thoughts, choice.text, choice.calls)
    return heading.ended(choice, items, reply.usage, reply.timings)[1]


def usage_of(usage: Usage) -> Body:
    """Token counts by this API's names."""
    return {
        "input_tokens": usage.prompt_tokens,
        "input_tokens_details": {"cached_tokens": usage.cached_tokens, "cache_write_tokens": 0},
        "output_tokens": usage.answer_tokens,
        "output_tokens_details": thoughts_of(usage.thoughts),
        "total_tokens": usage.prompt_tokens + usage.answer_tokens,
    }


def _format(form: Form | None) -> Body:
    if form is None:
        return {"type": "text"}
    if form.kind == "json_object":
        return {"type": "json_object"}
    return {"type": "json_schema", "name": "answer", "schema": form.body, "strict": True}


class ResponseEvents:
    """Writes the events of one answer as this API's, numbered. Holds one answer's state.

    One item is open at a time; the first event of another kind completes it and opens the next.
    """

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        self._number = 0
        self._items: list[Item] = []
        self._is_open = False
        self._end = Choice()

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
        """`response.failed`, with a code that this API's typed clients know."""
        return self._failed("server_error" if refusal.status == SERVER_ERROR else refusal.code, refusal.message)

    def broken(self) -> bytes:
        """`response.failed` for what nobody foresaw."""
        return self._failed("server_error", "The server failed to finish this answer.")

    def _failed(self, code: str, message: str) -> bytes:
        names = self._heading.toolbox.names
        output = [item.body("incomplete" if item is self._items[-1] else "completed", names) for item in self._items]
        error = {"code": code, "message": message}
        return self._frame("response.failed", response=self._heading.response("failed", output, error=error))

    def write(self, event: Event) -> bytes:
        """The events that `event` causes, none to several."""
        match event:
            case Said() if event.text:
                opened = self._in("message")
                return opened + self._delta("response.output_text.delta", event.text, event.timings, logprobs=[])
            case Thought():
                opened = self._in("reasoning")
                return opened + self._delta("response.reasoning_text.delta", event.text, event.timings)
            case CallBegan():
                return self._closed("completed") + self._opened(Item("function_call", event.id, event.name))
            case CallSaid():
                return self._delta("response.function_call_arguments.delta", event.text, event.timings)
            case Progress():
                return self._frame("response.in_progress", response=self._now(), prompt_progress=progress_of(event))
            case Ended():
                self._end = Choice(finish=event.finish, stop_text=event.stop_text)
                return b""
            case Finished():
                opened = b"" if self._items else self._in("message")  # an answer without a word is an empty message
                status, response = self._heading.ended(self._end, self._items, event.usage, event.timings)
                return opened + self._closed(status) + self._frame(f"response.{status}", response=response)
            case _:
                return b""

    def _in(self, kind: Kind) -> bytes:
        """An item of this kind is open."""
        if self._is_open and self._items[-1].kind == kind:
            return b""
        return self._closed("completed") + self._opened(Item(kind))

    def _opened(self, item: Item) -> bytes:
        self._items.append(item)
        self._is_open = True
        body = item.body("in_progress", self._heading.toolbox.names, is_new=True)
        added = self._frame("response.output_item.added", output_index=self._index, item=body)
        if item.kind == "function_call":
            return added
        return added + self._frame("response.content_part.added", **self._place(item), part=item.part(""))

    def _delta(self, kind: str, text: str, timings: Timings | None, **more: object) -> bytes:
        item = self._items[-1]
        item.pieces.append(text)
        if timings is not None:
            more["timings"] = timings_of(timings)
        return self._frame(kind, **self._place(item), delta=text, **more)

    def _closed(self, status: str) -> bytes:
        if not self._is_open:
            return b""
        self._is_open = False
        item, text = self._items[-1], self._items[-1].text
        place = self._place(item)
        if item.kind == "function_call":
            name = self._heading.toolbox.names.get(item.name, ("", item.name))[1]
            done = self._frame("response.function_call_arguments.done", **place, name=name, arguments=text)
        else:
            is_message = item.kind == "message"
            kind = "response.output_text.done" if is_message else "response.reasoning_text.done"
            done = self._frame(kind, **place, text=text, **({"logprobs": []} if is_message else {}))
            done += self._frame("response.content_part.done", **place, part=item.part(text))
        body = item.body(status, self._heading.toolbox.names)
        return done + self._frame("response.output_item.done", output_index=self._index, item=body)

    @property
    def _index(self) -> int:
        return len(self._items) - 1

    def _place(self, item: Item) -> Body:
        place: Body = {"item_id": item.id, "output_index": self._index}
        return place if item.kind == "function_call" else place | {"content_index": 0}

    def _now(self) -> Body:
        return self._heading.response("in_progress", [])

    def _frame(self, kind: str, **body: object) -> bytes:
        frame = event_frame(kind, {"type": kind, "sequence_number": self._number, **body})
        self._number += 1
        return frame
