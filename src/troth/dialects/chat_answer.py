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
from troth.domain import Began, Choice, Ended, Event, Finished, Progress, Reply, Said


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What is the same in every chunk of one answer."""

    model: str
    system_fingerprint: str
    id: str = field(default_factory=lambda: "chatcmpl-" + secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))  # Unix seconds


def whole(reply: Reply, heading: Heading, *, logprobs: bool) -> dict[str, Any]:
    """The answer as one `chat.completion` object."""
    return {
        "id": heading.id,
        "object": "chat.completion",
        "created": heading.created,
        "model": heading.model,
        "system_fingerprint": heading.system_fingerprint,
        "choices": [_choice(index, choice, logprobs) for index, choice in enumerate(reply.choices)],
        "usage": usage_of(reply.usage),
        "timings": timings_of(reply.timings),
    }


def _choice(index: int, choice: Choice, logprobs: bool) -> dict[str, Any]:
    return {
        "index": index,
        "message": {"role": "assistant", "content": choice.text, "refusal": None},
        "logprobs": logprobs_of(choice.pieces) if logprobs else None,
        "finish_reason": choice.finish,
    }


class ChatChunks:
    """Writes the events of one answer as `chat.completion.chunk` frames. Holds one answer's state."""

    def __init__(self, heading: Heading, *, choices: int, include_usage: bool) -> None:
        self._include_usage = include_usage
        self._unopened = set(range(choices))  # choices whose role was not sent
        self._ending: dict[str, Any] | None = None  # a finish chunk that may turn out to be the last
        self._heading = {
            "id": heading.id,
            "object": "chat.completion.chunk",
            "created": heading.created,
            "model": heading.model,
            "system_fingerprint": heading.system_fingerprint,
        }
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
            case Ended():
                opened = self._opened(event.choice)
                self._ending = self._chunk({"index": event.choice, "delta": {}, "finish_reason": event.finish})
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

    def _opened(self, choice: int) -> bytes:
        return self._role(choice) if choice in self._unopened else b""

    def _role(self, choice: int) -> bytes:
        self._unopened.discard(choice)
        return data_frame(
            self._chunk({"index": choice, "delta": {"role": "assistant", "content": ""}, "finish_reason": None})
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
