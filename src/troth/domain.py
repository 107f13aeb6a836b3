"""The nouns of the corridor: what one room hands to the next.

A request becomes a `Call` at the edge, an `Ask` in a dialect, a `Plan` in policy, a `Prompt` in the
prompt room, a `Job` for the scheduler, and comes back as `Event`s that fold into a `Reply`.
Everything here is data or a protocol; nothing here computes tokens, speaks HTTP or reads a clock.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

import numpy as np
import numpy.typing as npt

TokenIds = npt.NDArray[np.int32]
Role = Literal["system", "user", "assistant", "tool"]
FinishReason = Literal["stop", "length"]

# ---- edge → dialect ---------------------------------------------------------------------------


@dataclass(slots=True)
class Account:
    """What one request cost, filled along the corridor and read once, by the access log and metrics."""

    request_id: str = ""
    model: str = ""
    prompt_tokens: int = 0
    cached_tokens: int = 0
    answer_tokens: int = 0
    queue_seconds: float = 0.0
    finish: str = ""


@dataclass(frozen=True, slots=True)
class Call:
    """A legal request: the operation, the checked body and parameters, and its account.

    `body` and `parameters` are instances of the generated model of the operation, or None where the
    operation has none. `given` names the honoured fields that the client set to a value other than
    their neutral one: policy checks them against the engine that will answer.
    """

    operation: str
    body: Any  # the generated model of this operation: each dialect narrows it
    parameters: Any
    given: frozenset[str]
    account: Account
    local: bool  # the caller is on this machine
    caller: str = ""  # a digest of the caller's key, where keys are kept apart


@dataclass(frozen=True, slots=True)
class Whole:
    """An answer with one body. `body` is JSON-ready data, or bytes of `media_type`."""

    body: Any
    status: int = 200
    media_type: str = "application/json"
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Stream:
    """An answer in server-sent events. `frames` yields finished SSE frames; `keepalive` is one frame.

    Every refusal happened before this object exists: the 200 header goes out before the first frame. The
    dialect turns later ones into frames; `failure` is the frame for what nobody foresaw.
    """

    frames: AsyncIterator[bytes]
    keepalive: bytes
    failure: bytes
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Whole | Stream

# ---- dialect → policy -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One message of a conversation: who speaks and the text said. Content is data, never markup."""

    role: Role
    text: str
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Tag:
    """What a client calls a conversation, and with whom its saved states may be shared. Neither changes an answer."""

    label: str | None = None  # `session_id`: shown, and good for forgetting
    handle: str | None = None  # a keep-name: what it names is not evicted until it is released
    owner: str = ""  # the caller, where callers are kept apart
    salt: str = ""  # `cache_salt`, as a digest

    @property
    def realm(self) -> tuple[str, str]:
        """Only states of the same realm are ever reused: how long a prompt takes tells what others have asked."""
        return (self.owner, self.salt)

    def or_else(self, other: Tag) -> Tag:
        """This tag, its gaps filled from the other, which is of the same realm."""
        return replace(self, label=self.label or other.label, handle=self.handle or other.handle)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the client said, in no dialect. None or an empty mapping means: the client did not say."""

    turns: tuple[Turn, ...]
    model: str | None = None
    given: frozenset[str] = frozenset()
    sampling: Mapping[str, Any] = field(default_factory=dict)  # names and types of `Sampling`
    logit_bias: tuple[tuple[int | str, float], ...] = ()  # token id or text; -inf bans
    ignore_eos: bool = False
    seed: int | None = None
    budget_tokens: int | None = None  # answer tokens asked for; None: no limit asked
    budget_field: str = "max_tokens"
    choices: int = 1
    stop: tuple[str, ...] = ()
    logprobs: int | None = None  # alternatives per token; None: no logprobs at all
    priority: int = 0  # lower runs first, as in vLLM
    tag: Tag = Tag()
    add_generation_prompt: bool = True
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    progress: bool = False  # report prompt progress
    token_timings: bool = False  # carry timings on every Said


# ---- policy → prompt --------------------------------------------------------------------------

SAMPLER_NAMES = ("penalties", "dry", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "xtc", "temperature")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sampling:
    """How the next token is drawn. Names, defaults and order are llama-server's (README, /completion)."""

    temperature: float = 0.8  # 0 is greedy
    dynatemp_range: float = 0.0
    dynatemp_exponent: float = 1.0
    top_k: int = 40  # <= 0 is off
    top_p: float = 0.95
    min_p: float = 0.05
    top_n_sigma: float = -1.0  # <= 0 is off
    typical_p: float = 1.0
    xtc_probability: float = 0.0
    xtc_threshold: float = 0.1
    repeat_last_n: int = 64  # tokens; -1 is the whole context
    repeat_penalty: float = 1.0
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    dry_multiplier: float = 0.0
    dry_base: float = 1.75
    dry_allowed_length: int = 2
    dry_penalty_last_n: int = 64
    dry_sequence_breakers: tuple[str, ...] = ("\n", ":", '"', "*")
    mirostat: int = 0
    mirostat_tau: float = 5.0
    mirostat_eta: float = 0.1
    min_keep: int = 0
    samplers: tuple[str, ...] = SAMPLER_NAMES


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens the answer may have. Pure arithmetic: fitting needs no second visit to policy."""

    asked_tokens: int | None  # None: the client set no limit
    default_tokens: int | None  # used when nothing was asked; None: what the context leaves
    cap_tokens: int | None  # the operator's ceiling

    def fit(self, prompt_tokens: int, context_tokens: int) -> Fit:
        """The answer tokens that the context and the cap leave; `prompt_tokens < context_tokens`."""
        assert prompt_tokens < context_tokens
        room = context_tokens - prompt_tokens
        if self.cap_tokens is not None:
            room = min(room, self.cap_tokens)
        wanted = self.asked_tokens if self.asked_tokens is not None else self.default_tokens
        if wanted is None or wanted == room:
            return Fit(room, None)
        if wanted < room:
            return Fit(wanted, None)
        return Fit(room, wanted if self.asked_tokens is not None else None)


@dataclass(frozen=True, slots=True)
class Fit:
    """The answer's final room, and the asked number when it had to be cut (reported to the client)."""

    answer_tokens: int
    clamped_from: int | None


@dataclass(frozen=True, slots=True)
class ServedModel:
    """One model as policy sees it: its names, its kind, what its engine honours. Read-only."""

    id: str
    kind: str
    engine: str
    aliases: tuple[str, ...] = ()
    honours: frozenset[str] = frozenset()
    sampling: Mapping[str, Any] = field(default_factory=dict)  # the operator's defaults for this model


@dataclass(frozen=True, slots=True)
class Plan:
    """An Ask with every choice made, each with its origin (request, model, server or default)."""

    ask: Ask
    model: ServedModel
    sampling: Sampling
    seed: int  # of the first choice, uint32; choice k uses seed + k
    budget: Budget
    origins: Mapping[str, str]


# ---- prompt → scheduler -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Prompt:
    """What the model sees: token ids, [prompt_tokens], and the room that is left to answer."""

    tokens: TokenIds
    answer_tokens: int
    context_tokens: int
    logit_bias: tuple[tuple[int, float], ...] = ()
    clamped_from: int | None = None

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
    tag: Tag = Tag()
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
