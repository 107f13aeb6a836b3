"""What the events of another server mean: the chunks of one choice as our events.

Read are OpenAI's chunks of chat completions and of completions, with what llama-server, vLLM, SGLang and Ollama add:
`reasoning_content` or `reasoning`, `timings`, `prompt_progress`, `stop_reason` or `matched_stop`, and log
probabilities in either form. Whatever else they say is left out.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_core import from_json

from troth.domain import (
    Ask,
    Began,
    CallBegan,
    CallSaid,
    Ended,
    Event,
    FinishReason,
    Piece,
    Progress,
    Said,
    Thought,
    ThoughtCount,
    Timings,
    TokenLogprob,
    Usage,
)
from troth.errors import UpstreamFault

UNKNOWN_ID = -1
IMPOSSIBLE = -9999.0  # OpenAI's number for a token that cannot come
FINISHES: Mapping[str, FinishReason] = {
    "stop": "stop",
    "eos": "stop",
    "length": "length",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
}
Body = Mapping[str, Any]  # a JSON object of another server


def broken(words: str) -> UpstreamFault:
    """What is raised when the other server's words are no answer."""
    return UpstreamFault(f"The upstream's answer is broken: {words}.", code="upstream_broken")


@dataclass(slots=True)
class Clock:
    """When things came, in seconds."""

    asked: float
    first: float = 0.0
    last: float = 0.0


class Reader:
    """Reads the answer of one choice, chunk by chunk. Holds its state."""

    def __init__(self, ask: Ask, choice: int, *, is_mute: bool = False) -> None:
        """`is_mute`: no token was asked for, and the one that servers give all the same is left out."""
        self._choice = choice
        self._is_mute = is_mute
        self._alternatives = ask.logprobs
        self._as_drawn = ask.as_drawn
        self._tells_timings = ask.token_timings
        self._stop = ask.stop
        self._waiting: tuple[Piece, ...] = ()  # tokens whose text has not come
        self._calls: list[str] = []  # ids, in order
        self._places: dict[int, int] = {}  # the other server's index of a call → ours
        self._begun = False
        self._chunks = 0
        self._usage: Body = {}
        self._timings: Body = {}
        self._finish: FinishReason | None = None
        self._stop_text: str | None = None
        self._clock = Clock(time.perf_counter())

    @property
    def is_complete(self) -> bool:
        """True once the other server has said why the answer ended."""
        return self._finish is not None

    def read(self, data: bytes) -> list[Event]:
        """The events of one chunk. Raises UpstreamFault for what is none, and in the words of an error."""
        try:
            chunk = from_json(data)
        except ValueError as error:
            raise broken("an event is no JSON") from error
        if not isinstance(chunk, dict):
            raise broken("an event is no object")
        if chunk.get("error"):
            raise UpstreamFault(f"The upstream failed: {words_of(chunk)}", code="upstream_broken")
        try:
            return self._read(chunk)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            raise broken("an event has another form than a chunk has") from error

    def _read(self, chunk: Body) -> list[Event]:
        self._usage = chunk.get("usage") or self._usage
        shown = chunk.get("__verbose")
        if shown and shown.get("stopping_word") in self._stop:  # llama-server tells it nowhere else
            self._stop_text = shown["stopping_word"]
        self._timings = chunk.get("timings") or self._timings
        if self._is_mute:
            self._finish = "length"
            return []
        progress = chunk.get("prompt_progress")
        if progress is not None:
            return [self._progress(progress, chunk)] if self._choice == 0 else []
        events: list[Event] = []
        for choice in chunk.get("choices") or ():
            self._tell(choice, events)
        if events:
            self._clock.last = time.perf_counter()
            self._timed(events)
        return events

    def _tell(self, choice: Body, events: list[Event]) -> None:
        delta = choice.get("delta") or {}
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        text = delta.get("content") or choice.get("text")
        calls = delta.get("tool_calls") or ()
        if choice.get("logprobs") and self._alternatives is not None:
            self._waiting += self._pieces(choice["logprobs"])
        if (thought or text or calls) and not self._begun:
            self._begun = True
            self._clock.first = time.perf_counter()
            events.append(Began(self._choice))
        if thought:
            events.append(Thought(_text(thought), self._choice))
        for position, call in enumerate(calls):
            self._call(call, position, events)
        if text:
            events.append(Said(_text(text), self._waiting, self._choice))
        if thought or text or calls:
            self._waiting = ()
            self._chunks += 1
        if choice.get("finish_reason"):
            self._ends(choice)

    def _call(self, call: Body, position: int, events: list[Event]) -> None:
        """A call begins where its name is told, and where an id comes that has not been seen."""
        index, function = call.get("index", position), call.get("function") or {}
        call_id, name = call.get("id"), function.get("name")
        if index not in self._places or (call_id and name and call_id not in self._calls):
            if not name:
                raise broken("a call has no name")
            self._places[index] = len(self._calls)
            self._calls.append(call_id or f"call_{self._choice}_{len(self._calls)}")
            events.append(CallBegan(self._places[index], self._calls[-1], _text(name), self._choice))
        if self._places[index] != len(self._calls) - 1:
            raise broken("the arguments of two calls are mixed")
        arguments = function.get("arguments")
        if isinstance(arguments, dict):
            arguments = json.dumps(arguments, ensure_ascii=False)
        if arguments:
            events.append(CallSaid(self._places[index], _text(arguments), self._choice))

    def _ends(self, choice: Body) -> None:
        reason = str(choice["finish_reason"])
        finish = FINISHES.get(reason)
        if finish is None:
            raise broken(f"it ended with {reason[:64]!r}")
        met = choice.get("stop_reason", choice.get("matched_stop"))
        if isinstance(met, str) and met in self._stop:
            self._stop_text = met
        # vLLM ends the call of a function that was named with "stop".
        self._finish = "tool_calls" if self._calls and finish == "stop" else finish

    def _timed(self, events: list[Event]) -> None:
        """The last event that can carry timings has them, where they were asked for."""
        last = events[-1]
        if self._tells_timings and self._timings and isinstance(last, Said | Thought | CallSaid):
            events[-1] = replace(last, timings=self.timings())

    def _progress(self, progress: Body, chunk: Body) -> Progress:
        timings = self.timings() if chunk.get("timings") and self._tells_timings else None
        return Progress(
            int(progress["total"]),
            int(progress["cache"]),
            int(progress["processed"]),
            int(progress["time_ms"]),
            timings,
        )

    # ---- log probabilities ------------------------------------------------------------------------

    def _pieces(self, logprobs: Body) -> tuple[Piece, ...]:
        entries: Sequence[Body] = logprobs.get("content") or _entries(logprobs)
        return tuple(self._piece(entry) for entry in entries)

    def _piece(self, entry: Body) -> Piece:
        chosen = _candidate(entry)
        others = entry.get("top_logprobs") or entry.get("top_probs") or ()
        alternatives = tuple(_candidate(other) for other in others[: self._alternatives])
        return Piece(chosen.token_id, chosen.piece, chosen, alternatives, self._as_drawn)

    # ---- the end ----------------------------------------------------------------------------------

    def end(self) -> list[Event]:
        """What was held back, and the end. Raises UpstreamFault when the other server never told of it."""
        if self._finish is None:
            raise broken("it stopped before its end")
        events: list[Event] = []
        if not self._begun:
            events.append(Began(self._choice))
        if self._waiting:
            events.append(Said("", self._waiting, self._choice))
        usage = self.usage()
        events.append(Ended(self._choice, self._finish, self._stop_text, usage.answer_tokens, usage.thoughts))
        return events

    def usage(self) -> Usage:
        """The counts as the other server told them; of one that told none, a chunk counts as a token."""
        details = self._usage.get("prompt_tokens_details") or {}
        told = self._usage.get("completion_tokens_details") or {}
        timings = self._timings
        cached = details.get("cached_tokens") or timings.get("cache_n") or 0
        answer = 0 if self._is_mute else self._usage.get("completion_tokens") or timings.get("predicted_n")
        return Usage(
            int(self._usage.get("prompt_tokens") or timings.get("prompt_n", 0) + timings.get("cache_n", 0)),
            int(self._chunks if answer is None else answer),
            int(cached),
            ThoughtCount(int(told.get("reasoning_tokens") or 0)),
        )

    def timings(self) -> Timings:
        """Where the time went: the other server's word, or what was seen from here."""
        told, usage, clock = self._timings, self.usage(), self._clock
        if told:
            return Timings(
                cache_n=int(told.get("cache_n", 0)),
                prompt_n=int(told.get("prompt_n", 0)),
                prompt_ms=float(told.get("prompt_ms", 0.0)),
                predicted_n=0 if self._is_mute else int(told.get("predicted_n", 0)),
                predicted_ms=0.0 if self._is_mute else float(told.get("predicted_ms", 0.0)),
                draft_n=int(told.get("draft_n", 0)),
                draft_n_accepted=int(told.get("draft_n_accepted", 0)),
            )
        first = clock.first or time.perf_counter()
        return Timings(
            cache_n=usage.cached_tokens,
            prompt_n=max(usage.prompt_tokens - usage.cached_tokens, 0),
            prompt_ms=(first - clock.asked) * 1000,
            predicted_n=usage.answer_tokens,
            predicted_ms=max(clock.last - first, 0.0) * 1000,
        )


def words_of(body: object) -> str:
    """The words of an error in any of the shapes that servers have."""
    found: object = body
    for key in ("error", "message"):
        if isinstance(found, dict) and key in found:
            found = found[key]
    if isinstance(found, dict):
        found = found.get("detail", found)
    return found if isinstance(found, str) else json.dumps(found, ensure_ascii=False)


def _text(value: Any) -> str:  # what should be a text
    if not isinstance(value, str):
        raise TypeError("a text")
    return value


def _candidate(entry: Body) -> TokenLogprob:
    """One token. Those of a draw are told as probabilities."""
    written = entry.get("bytes")
    piece = bytes(written) if written is not None else _text(entry["token"]).encode("utf-8", "surrogatepass")
    if "prob" in entry:
        logprob = math.log(entry["prob"]) if entry["prob"] > 0 else IMPOSSIBLE
    else:
        logprob = IMPOSSIBLE if entry.get("logprob") is None else float(entry["logprob"])
    return TokenLogprob(int(entry.get("id", UNKNOWN_ID)), piece, max(min(logprob, 0.0), IMPOSSIBLE))


def _entries(lists: Body) -> list[Body]:
    """OpenAI's four lists of completions, as the entries of chat."""
    tokens, values = lists.get("tokens") or (), lists.get("token_logprobs") or ()
    tops = lists.get("top_logprobs") or [None] * len(tokens)
    return [
        {
            "token": token,
            "logprob": value,
            "top_logprobs": [
                {"token": other, "logprob": number}
                for other, number in sorted((top or {}).items(), key=lambda pair: -pair[1])
            ],
        }
        for token, value, top in zip(tokens, values, tops, strict=False)
    ]
