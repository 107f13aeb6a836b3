"""From the prompt room to the reply: a `Job` is worked on, and comes back as `Event`s that fold into a `Reply`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal, Protocol

from troth.domain.adapters import NO_ADAPTERS, Adapters
from troth.domain.asking import NOBODY, Tag, ToolCall
from troth.domain.media import Sight, TokenIds, View
from troth.domain.sampling import Sampling

FinishReason = Literal["stop", "length", "tool_calls"]
ClosedBy = Literal["max_thinking_tokens", "answer_room"]  # who ended a block of reasoning, if not the model

# ---- prompt → scheduler -----------------------------------------------------------------------


PatternKind = Literal["lark", "json_schema", "gbnf", "regex"]


@dataclass(frozen=True, slots=True)
class GrammarSource:
    """What an answer must look like: rules of llguidance's Lark dialect, and the patterns that they refer to.

    `patterns` are (name, kind, text): the rules write `@name` for one. The kinds are a JSON schema, a grammar of
    llama.cpp, a regular expression, and further rules. `openings` are texts that an answer must be able to begin with.
    """

    rules: str
    patterns: tuple[tuple[str, PatternKind, str], ...] = ()
    openings: tuple[bytes, ...] = ()


class Grammar(Protocol):
    """A grammar that an engine has compiled for its vocabulary. Immutable; several answers may follow it at once."""

    @property
    def source(self) -> GrammarSource:
        """What it was compiled from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThoughtBounds:
    """Where the reasoning of an answer begins and ends, in token ids, and how long it may be."""

    begin: tuple[int, ...]  # the tokens of its marker
    end: int
    is_open: bool  # the prompt ends inside the block: the answer begins with reasoning
    budget_tokens: int | None = None  # then the end is forced
    closed_by: ClosedBy = "max_thinking_tokens"  # what is told when it was


@dataclass(frozen=True, slots=True, kw_only=True)
class Triggers:
    """What starts a grammar that waits: a text in the answer, or a token of it. Neither is looked for in reasoning."""

    words: tuple[bytes, ...] = ()
    tokens: frozenset[int] = frozenset()


@dataclass(frozen=True, slots=True, kw_only=True)
class Steering:
    """What holds the tokens of an answer: its reasoning first, then the grammar, from the first token behind it.

    With `triggers` the answer is free until one of them comes, and the grammar holds from its beginning.
    """

    thoughts: ThoughtBounds | None = None
    grammar: Grammar | None = None
    triggers: Triggers | None = None
    field: str = "response_format"  # of the request that asks for the grammar, for refusals


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
    steering: Steering | None = None
    readers: ReaderFactory | None = None  # how the text of each choice is to be read; None: all of it is words
    is_relayed: bool = False  # another server reads it: there are no tokens, and -1 answer tokens are no limit
    views: tuple[tuple[int, View], ...] = ()  # what is read in the place of media, and where it begins
    sights: tuple[Sight, ...] = ()  # the embeddings of it, in order: ids below 0 in `tokens` stand for them

    def __post_init__(self) -> None:
        if self.is_relayed:
            return
        assert len(self.tokens) > 0
        assert self.answer_tokens >= 0
        assert len(self.tokens) + self.answer_tokens <= self.context_tokens

    @property
    def words(self) -> TokenIds:
        """The tokens but for what stands in the place of media."""
        return self.tokens[self.tokens >= 0] if self.sights else self.tokens

    def sight_at(self, index: int) -> Sight | None:
        """What is seen at this index, if it is no token."""
        return next((sight for sight in self.sights if sight.start <= index < sight.end), None)

    def words_from(self, index: int) -> int:
        """How many tokens follow from this index on until something is seen, or the prompt ends."""
        ahead = (sight.start for sight in self.sights if sight.start >= index)
        return next(ahead, len(self.tokens)) - index

    def uncut(self, length: int) -> int:
        """The longest beginning, of at most so many tokens, that ends in the middle of nothing that is seen."""
        cut = self.sight_at(length)
        return length if cut is None else cut.start


class PartReader(Protocol):
    """Understands the text of one choice: what is said, what is thought, which functions are called."""

    def feed(self, text: str) -> Sequence[Event]:
        """What is certain after `text`, as Said, Thought, CallBegan and CallSaid."""

    def end(self) -> Sequence[Event]:
        """The text ends here: what was held back."""

    @property
    def has_calls(self) -> bool:
        """A call began, and every call that began is complete."""


ReaderFactory = Callable[[int], PartReader]  # by the index of the choice


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One candidate token and its natural-log probability, 0 = certain: under the raw logits, or in the draw."""

    token_id: int  # -1: another server has drawn it and does not tell
    piece: bytes
    logprob: float


@dataclass(frozen=True, slots=True)
class Piece:
    """One generated token: its id, its bytes (possibly half a character), its logprobs if asked."""

    token_id: int
    piece: bytes
    logprob: TokenLogprob | None = None
    alternatives: tuple[TokenLogprob, ...] = ()
    as_drawn: bool = False  # these are of the draw, after the samplers


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
    as_drawn: bool = False  # of the draw, after the samplers
    priority: int = 0
    tag: Tag = NOBODY
    adapters: Adapters = NO_ADAPTERS
    progress: bool = False
    token_timings: bool = False
    given: tuple[tuple[int, ...], ...] = ()  # what each choice says, token for token, to learn how likely it is

    def __post_init__(self) -> None:
        assert not self.given or len(self.given) == len(self.interpreters)
        assert all(self.given)


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
class ThoughtCount:
    """How much of an answer was reasoning, and after how many tokens of it the server closed it, if it did."""

    tokens: int = 0
    closed_at: int | None = None
    closed_by: ClosedBy | None = None

    def __add__(self, other: ThoughtCount) -> ThoughtCount:
        """Of several answers; told of a close is the first."""
        first = self if self.closed_by is not None else other
        return ThoughtCount(self.tokens + other.tokens, first.closed_at, first.closed_by)


NO_THOUGHTS = ThoughtCount()


@dataclass(frozen=True, slots=True)
class Usage:
    """Token counts of a request over all its choices; `prompt_tokens` includes the cached ones."""

    prompt_tokens: int
    answer_tokens: int
    cached_tokens: int = 0
    thoughts: ThoughtCount = NO_THOUGHTS


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
class Thought:
    """Reasoning of a choice that is now certain."""

    text: str
    choice: int = 0
    timings: Timings | None = None


@dataclass(frozen=True, slots=True)
class CallBegan:
    """A choice calls a function; `index` counts the calls of the choice from 0. No arguments were said before."""

    index: int
    id: str
    name: str
    choice: int = 0


@dataclass(frozen=True, slots=True)
class CallSaid:
    """More of the arguments of a call; together they are the text of one JSON object."""

    index: int
    text: str
    choice: int = 0
    timings: Timings | None = None


@dataclass(frozen=True, slots=True)
class Ended:
    """A choice is complete. `stop_text` is the stop string met; None for end of turn and for length."""

    choice: int
    finish: FinishReason
    stop_text: str | None = None
    tokens: int = 0  # of the choice
    thoughts: ThoughtCount = NO_THOUGHTS


@dataclass(frozen=True, slots=True)
class Finished:
    """All choices are complete. Always the last event of a request that did not fail."""

    usage: Usage
    timings: Timings


Event = Progress | Began | Said | Thought | CallBegan | CallSaid | Ended | Finished


@dataclass(slots=True)
class Choice:
    """One whole choice, folded from its events."""

    text: str = ""
    pieces: list[Piece] = field(default_factory=list)
    finish: FinishReason = "stop"
    stop_text: str | None = None
    tokens: int = 0
    thoughts: str = ""
    calls: list[ToolCall] = field(default_factory=list)


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
