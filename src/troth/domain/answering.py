"""From the prompt room to the reply: a `Job` is worked on, and comes back as `Event`s that fold into a `Reply`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
import numpy.typing as npt

from troth.domain.asking import NOBODY, Sampling, Tag

TokenIds = npt.NDArray[np.int32]
FinishReason = Literal["stop", "length"]

# ---- prompt → scheduler -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model sees: token ids, [prompt_tokens], and the room that is left to answer."""

    tokens: TokenIds
    answer_tokens: int
    context_tokens: int
    logit_bias: tuple[tuple[int, float], ...] = ()
    clamped_from: int | None = None
    text: str = ""  # the same as text, control tokens written out
    shown_ids: frozenset[int] = frozenset()  # control tokens that are written out in the answer

    def __post_init__(self) -> None:
        assert len(self.tokens) > 0
        assert self.answer_tokens >= 0
        assert len(self.tokens) + self.answer_tokens <= self.context_tokens


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One candidate token and its natural-log probability under the raw logits (0 = certain)."""

    token_id: int
    piece: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class Piece:
    """One generated token: its id, its bytes (possibly half a character), its logprobs if asked."""

    token_id: int
    piece: bytes
    logprob: TokenLogprob | None = None
    alternatives: tuple[TokenLogprob, ...] = ()


class Interpreter(Protocol):
    """Turns the tokens of one choice into what was said. Runs on the scheduler's thread, in the step.

    It runs there, and not behind a queue, so that a stop string ends the sequence in the step that
    completed it: no token is computed after the answer is over.
    """

    def feed(self, piece: Piece) -> Said | None:
        """Take one token; the text that is now certain, or None while it is held back."""

    @property
    def stopped(self) -> str | None:
        """The stop string that was met, or None."""

    @property
    def finish(self) -> FinishReason | None:
        """Why the sequence must end now: a stop string, or a limit of the text; None while it may go on."""

    def flush(self) -> Said | None:
        """The text still held back when the sequence ends; nothing is held afterwards."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """One request for the scheduler: a prompt, and one interpreter for each choice wanted."""

    prompt: Prompt
    sampling: Sampling
    seed: int
    interpreters: Sequence[Interpreter]
    ignore_eos: bool = False
    logprobs: int | None = None
    priority: int = 0
    tag: Tag = NOBODY
    progress: bool = False
    token_timings: bool = False


# ---- scheduler → reply ------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Timings:
    """Where the time went, as llama-server's `timings` object counts it (tools/server, result_timings)."""

    cache_n: int = 0
    prompt_n: int = 0
    prompt_ms: float = 0.0
    predicted_n: int = 0
    predicted_ms: float = 0.0
    draft_n: int = 0
    draft_n_accepted: int = 0
    max_tokens_clamped_from: int | None = None
    max_tokens_clamped_to: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a request over all its choices; `prompt_tokens` includes the cached ones."""

    prompt_tokens: int
    answer_tokens: int
    cached_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Progress:
    """How much of the prompt has been read: `processed` of `total` tokens, `cache` of them for free."""

    total: int
    cache: int
    processed: int
    time_ms: int
    timings: Timings | None = None


@dataclass(frozen=True, slots=True)
class Began:
    """A choice has its first token; nothing was said before."""

    choice: int


@dataclass(frozen=True, slots=True)
class Said:
    """Text of a choice that is now certain, with the logprobs of the tokens it came from."""

    text: str
    pieces: tuple[Piece, ...] = ()  # filled only when logprobs were asked for
    choice: int = 0
    timings: Timings | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A choice is complete. `stop_text` is the stop string met; None for end of turn and for length."""

    choice: int
    finish: FinishReason
    stop_text: str | None = None
    tokens: int = 0  # of the choice


@dataclass(frozen=True, slots=True)
class Finished:
    """All choices are complete. Always the last event of a request that did not fail."""

    usage: Usage
    timings: Timings


Event = Progress | Began | Said | Ended | Finished


@dataclass(slots=True)
class Choice:
    """One whole choice, folded from its events."""

    text: str = ""
    pieces: list[Piece] = field(default_factory=list)
    finish: FinishReason = "stop"
    stop_text: str | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """A whole answer: the fold of the event stream, and nothing that the stream did not say."""

    choices: Sequence[Choice]
    usage: Usage
    timings: Timings


class Ticket(Protocol):
    """A place in the line of one engine. Whoever got it must leave it: `async with` cancels on exit."""

    async def wait_started(self, seconds: float) -> bool:
        """True once the request has left the queue; False when `seconds` passed first.

        Raises: QueueTimeout when it waited too long, EngineFault when the engine failed.
        """

    def events(self) -> AsyncIterator[Event]:
        """The events of the request, in order; ends after Finished. Raises what `wait_started` raises."""

    def cancel(self) -> None:
        """The request leaves the engine within one step, wherever it is. Safe to call twice."""

    @property
    def queue_seconds(self) -> float:
        """How long the request waited, so far or in all."""
