"""A completion as OpenAI's clients read it, whole or chunk by chunk.

Divergences from OpenAI, all additive:
1. `timings` as on chat; `prompt_progress` chunks when asked, with empty `choices`.
2. `logprobs` has OpenAI's four lists and, as `content`, llama-server's entries.
3. A fault after the first byte is one frame with an `error` object, and no `[DONE]`.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from troth.dialects.logprobs import IMPOSSIBLE, logprobs_of
from troth.dialects.sse import DONE, data_frame, json_line, quoted
from troth.dialects.timings import timings_of
from troth.dialects.usage import usage_of
from troth.domain import Began, CallBegan, CallSaid, Ended, Event, Finished, Piece, Progress, Reply, Said, Thought


@dataclass(frozen=True, slots=True, kw_only=True)
class Heading:
    """What is the same in every chunk of one answer."""

    model: str
    system_fingerprint: str
    id: str = field(default_factory=lambda: "cmpl-" + secrets.token_hex(12))
    created: int = field(default_factory=lambda: int(time.time()))  # Unix seconds

    @property
    def body(self) -> dict[str, Any]:
        """As it is written."""
        return {
            "id": self.id,
            "object": "text_completion",
            "created": self.created,
            "model": self.model,
            "system_fingerprint": self.system_fingerprint,
        }


def whole(reply: Reply, heading: Heading, *, logprobs: bool, echoes: Sequence[str]) -> dict[str, Any]:
    """The answer as one `text_completion` object. `echoes`: what each choice begins with."""
    choices = [
        {
            "index": index,
            "text": echoes[index] + choice.text,
            "logprobs": logprobs_by_list(choice.pieces, 0) if logprobs else None,
            "finish_reason": choice.finish,
        }
        for index, choice in enumerate(reply.choices)
    ]
    return heading.body | {
        "choices": choices,
        "usage": usage_of(reply.usage),
        "timings": timings_of(reply.timings),
    }


def logprobs_by_list(pieces: Iterable[Piece], offset: int) -> dict[str, Any]:
    """OpenAI's four lists, and llama-server's entries. `offset`: characters of the answer before these tokens."""
    pieces = list(pieces)
    content = logprobs_of(pieces)["content"]
    others = "top_probs" if pieces and pieces[0].as_drawn else "top_logprobs"
    offsets = []
    for entry in content:
        offsets.append(offset)
        offset += len(entry["token"])
    return {
        "tokens": [entry["token"] for entry in content],
        "token_logprobs": [_logprob(entry) for entry in content],
        "top_logprobs": [{each["token"]: _logprob(each) for each in entry[others]} for entry in content],
        "text_offset": offsets,
        "content": content,
    }


def _logprob(entry: Mapping[str, Any]) -> float:
    """The log probability of an entry, be it told as such or as a probability."""
    if "logprob" in entry:
        return float(entry["logprob"])
    return math.log(entry["prob"]) if entry["prob"] > 0 else IMPOSSIBLE


class CompletionChunks:
    """Writes the events of one answer as `text_completion` frames. Holds one answer's state."""

    def __init__(self, heading: Heading, *, echoes: Sequence[str], include_usage: bool) -> None:
        """`echoes`: what each choice begins with."""
        self._echoes = dict(enumerate(echoes))
        self._include_usage = include_usage
        self._ending: dict[str, Any] | None = None  # a finish chunk that may turn out to be the last
        self._lengths: dict[int, int] = {}  # characters said, by choice
        self._heading = heading.body
        # Most frames differ in one string: everything around it is written once.
        self._before = f'data: {json_line(self._heading)[:-1]},"choices":[{{"index":'
        self._after = ',"logprobs":null,"finish_reason":null}]' + (',"usage":null' if include_usage else "") + "}\n\n"

    def open_all(self) -> bytes:
        """Nothing: a completion has no role to open with."""
        return b""

    def end(self) -> bytes:
        """OpenAI's last frame."""
        return DONE

    def write(self, event: Event) -> bytes:
        """The frames that `event` causes, none to several."""
        if isinstance(event, Finished):
            return self._finish(event)
        late = self._let_go()
        match event:
            case Began():
                return late + self._echo(event.choice)
            case Said():
                return late + self._echo(event.choice) + self._said(event)
            case Ended():
                echo = self._echo(event.choice)
                self._ending = self._chunk(_piece(event.choice, "", finish=event.finish))
                return late + echo
            case Progress():
                return late + self._progress(event)
            case Thought() | CallBegan() | CallSaid():
                return b""  # a text that is continued has no such parts

    def _echo(self, choice: int) -> bytes:
        text = self._echoes.pop(choice, "")
        return self._text(choice, text) if text else b""

    def _text(self, choice: int, text: str) -> bytes:
        return f'{self._before}{choice},"text":{quoted(text)}{self._after}'.encode()

    def _said(self, said: Said) -> bytes:
        offset = self._lengths.get(said.choice, 0)
        if not said.pieces and said.timings is None:
            return self._text(said.choice, said.text)
        logprobs = logprobs_by_list(said.pieces, offset) if said.pieces else None
        # Of the tokens, as in a whole answer: text of theirs may be held back until more has come.
        self._lengths[said.choice] = offset + sum(map(len, logprobs["tokens"])) if logprobs else offset
        chunk = self._chunk(_piece(said.choice, said.text, logprobs=logprobs))
        if said.timings is not None:
            chunk["timings"] = timings_of(said.timings)
        return data_frame(chunk)

    def _progress(self, progress: Progress) -> bytes:
        chunk = self._chunk()
        chunk["prompt_progress"] = progress_of(progress)
        if progress.timings is not None:
            chunk["timings"] = timings_of(progress.timings)
        return data_frame(chunk)

    def _let_go(self) -> bytes:
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


def progress_of(progress: Progress) -> dict[str, Any]:
    """`prompt_progress` as llama-server writes it."""
    return {
        "total": progress.total,
        "cache": progress.cache,
        "processed": progress.processed,
        "time_ms": progress.time_ms,
    }


def _piece(index: int, text: str, *, logprobs: Any = None, finish: str | None = None) -> dict[str, Any]:
    return {"index": index, "text": text, "logprobs": logprobs, "finish_reason": finish}
