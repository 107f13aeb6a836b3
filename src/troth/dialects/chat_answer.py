"""A chat completion as OpenAI's clients read it, whole or chunk by chunk.

Both forms say the same: the whole answer is written from the fold of the events that the chunks are
written from. Divergences from OpenAI, all additive:
1. `timings` on the answer, on the last chunk before `[DONE]`, and on every chunk when asked.
2. `prompt_progress` chunks when asked, with empty `choices` as the usage chunk has, so that the role
   still arrives once, with the first token.
3. A fault after the first byte is one frame with an `error` object, and no `[DONE]`.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from troth.dialects.logprobs import logprobs_of
from troth.dialects.sse import DONE, data_frame, json_line, quoted
from troth.dialects.timings import timings_of
from troth.dialects.usage import usage_of
from troth.domain import (
    Began,
    CallBegan,
    CallSaid,
    Choice,
    Ended,
    Event,
    Finished,
    FinishReason,
    Progress,
    Reply,
    Said,
    Thought,
    Timings,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What is the same in every chunk of one answer."""

    model: str
    system_fingerprint: str
    id: str = field(default_factory=lambda: "chatcmpl-" + secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))  # Unix seconds

    @property
    def chunk(self) -> dict[str, Any]:
        """As it is written in a chunk."""
        return {
            "id": self.id,
            "object": "chat.completion.chunk",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.system_fingerprint,
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Telling:
    """What of an answer is told, and in which words."""

    logprobs: bool = False
    thoughts: bool = True  # send the reasoning at all
    as_function: bool = False  # the one call in OpenAI's older form
    include_usage: bool = False  # on streams


def whole(reply: Reply, heading: Heading, telling: Telling) -> dict[str, Any]:
    """The answer as one `chat.completion` object."""
    return {
        "id": heading.id,
        "object": "chat.completion",
        "created": heading.created,
        "model": heading.model,
        "system_fingerprint": heading.system_fingerprint,
        "choices": [_choice(index, choice, telling) for index, choice in enumerate(reply.choices)],
        "usage": usage_of(reply.usage),
        "timings": timings_of(reply.timings),
    }


def _choice(index: int, choice: Choice, telling: Telling) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": choice.text, "refusal": None}
    if choice.thoughts and telling.thoughts:
        message["reasoning_content"] = choice.thoughts
    if choice.calls:
        message["content"] = choice.text or None
        if telling.as_function:
            message["function_call"] = {"name": choice.calls[0].name, "arguments": choice.calls[0].arguments}
        else:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.arguments}}
                for call in choice.calls
            ]
    return {
        "index": index,
        "message": message,
        "logprobs": logprobs_of(choice.pieces) if telling.logprobs else None,
        "finish_reason": _reason(choice.finish, telling),
    }


def _reason(finish: FinishReason, telling: Telling) -> str:
    return "function_call" if finish == "tool_calls" and telling.as_function else finish


class ChatChunks:
    """Writes the events of one answer as `chat.completion.chunk` frames. Holds one answer's state."""

    def __init__(self, heading: Heading, telling: Telling, *, choices: int) -> None:
        self._telling = telling
        self._include_usage = include_usage = telling.include_usage
        self._unopened = set(range(choices))  # choices whose role was not sent
        self._ending: dict[str, Any] | None = None  # a finish chunk that may turn out to be the last
        self._heading = heading.chunk
        # Most frames differ in one string: everything around it is written once.
        self._before = f'data: {json_line(self._heading)[:-1]},"choices":[{{"index":'
        self._after = ',"finish_reason":null}]' + (',"usage":null' if include_usage else "") + "}\n\n"

    def open_all(self) -> bytes:
        """The role chunks of all choices, before any token."""
        return b"".join(self._role(choice) for choice in sorted(self._unopened))

    def end(self) -> bytes:
        """OpenAI's last frame."""
        return DONE

    def write(self, event: Event) -> bytes:
        """The frames that `event` causes, none to several; every choice opens with its role."""
        if isinstance(event, Finished):
            return self._finish(event)
        late = self._let_go()
        match event:
            case Said():
                return late + self._opened(event.choice) + self._delta(event)
            case Began():
                return late + self._opened(event.choice)
            case Thought():
                return late + self._opened(event.choice) + self._thought(event)
            case CallBegan() | CallSaid():
                return late + self._opened(event.choice) + self._call(event)
            case Ended():
                opened = self._opened(event.choice)
                reason = _reason(event.finish, self._telling)
                self._ending = self._chunk({"index": event.choice, "delta": {}, "finish_reason": reason})
                return late + opened
            case Progress():
                return late + self._progress(event)

    def _delta(self, said: Said) -> bytes:
        if not said.pieces and said.timings is None:
            text = quoted(said.text)
            return f'{self._before}{said.choice},"delta":{{"content":{text}}}{self._after}'.encode()
        choice: dict[str, Any] = {"index": said.choice, "delta": {"content": said.text}}
        if said.pieces:
            choice["logprobs"] = logprobs_of(said.pieces)
        chunk = self._chunk(choice | {"finish_reason": None})
        if said.timings is not None:
            chunk["timings"] = timings_of(said.timings)
        return data_frame(chunk)

    def _thought(self, thought: Thought) -> bytes:
        if not self._telling.thoughts:
            return b""
        return self._other(thought.choice, {"reasoning_content": thought.text}, thought.timings)

    def _call(self, event: CallBegan | CallSaid) -> bytes:
        """A call begins with its id, its name and no arguments; after that there are arguments alone."""
        call: dict[str, Any] = {"index": event.index}
        if isinstance(event, CallBegan):
            call |= {"id": event.id, "type": "function"}
            function, timings = {"name": event.name, "arguments": ""}, None
        else:
            function, timings = {"arguments": event.text}, event.timings
        if self._telling.as_function:
            return self._other(event.choice, {"function_call": function}, timings)
        return self._other(event.choice, {"tool_calls": [call | {"function": function}]}, timings)

    def _other(self, choice: int, delta: dict[str, Any], timings: Timings | None) -> bytes:
        chunk = self._chunk({"index": choice, "delta": delta, "finish_reason": None})
        if timings is not None:
            chunk["timings"] = timings_of(timings)
        return data_frame(chunk)

    def _opened(self, choice: int) -> bytes:
        return self._role(choice) if choice in self._unopened else b""

    def _role(self, choice: int) -> bytes:
        self._unopened.discard(choice)
        return data_frame(
            self._chunk({"index": choice, "delta": {"role": "assistant", "content": None}, "finish_reason": None})
        )

    def _progress(self, progress: Progress) -> bytes:
        chunk = self._chunk()
        chunk["prompt_progress"] = {
            "total": progress.total,
            "cache": progress.cache,
            "processed": progress.processed,
            "time_ms": progress.time_ms,
        }
        if progress.timings is not None:
            chunk["timings"] = timings_of(progress.timings)
        return data_frame(chunk)

    def _let_go(self) -> bytes:
        """The finish chunk held back, now that another event shows that it is not the last one."""
        if self._ending is None:
            return b""
        chunk, self._ending = self._ending, None
        return data_frame(chunk)

    def _finish(self, finished: Finished) -> bytes:
        timings = timings_of(finished.timings)
        if self._include_usage:
            usage_chunk = self._chunk() | {"usage": usage_of(finished.usage), "timings": timings}
            return self._let_go() + data_frame(usage_chunk)
        if self._ending is not None:
            self._ending["timings"] = timings
        return self._let_go()

    def _chunk(self, choice: Mapping[str, Any] | None = None) -> dict[str, Any]:
        chunk: dict[str, Any] = {**self._heading, "choices": [] if choice is None else [choice]}
        if self._include_usage:
            chunk["usage"] = None
        return chunk


def aside(heading: Heading, told: Mapping[str, Any]) -> bytes:
    """A chunk of its own, without choices, for what is told besides the answer."""
    return data_frame({**heading.chunk, "choices": [], **told})
