"""From the edge to the prompt room: a `Call` becomes an `Ask`, an `Ask` a `Plan`."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from troth.domain.adapters import NO_ADAPTERS, Adapters
from troth.domain.media import Medium, Placed
from troth.domain.sampling import Sampling

Role = Literal["system", "user", "assistant", "tool"]

# ---- edge → dialect ---------------------------------------------------------------------------


@dataclass(slots=True)
class Account:
    """What one request cost, filled along the corridor and read once, by the access log and metrics."""

    request_id: str = ""
    model: str = ""
    route: str = ""  # the rule that chose the model
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
    keepalive: bytes | Callable[[], bytes]  # one frame, the same each time or another one
    failure: bytes | Callable[[], bytes]
    headers: Mapping[str, str] = field(default_factory=dict)


Answer = Whole | Stream

# ---- dialect → policy -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that the model made: the function's name, and its arguments as the text of a JSON object."""

    id: str
    name: str
    arguments: str


@dataclass(slots=True, kw_only=True)  # not frozen: requests have hundreds of them, and each would cost 2 µs more
class Turn:
    """One message of a conversation: who speaks and the text said. Content is data, never markup.

    A turn of the role `tool` is the result of the call `call_id`. Nobody writes to one: `replace` makes another.
    """

    role: Role
    text: str
    name: str | None = None
    reasoning: str | None = None  # what the assistant thought before it spoke
    calls: tuple[ToolCall, ...] = ()
    call_id: str | None = None
    media: tuple[Placed, ...] = ()  # pictures and sound in the text, by place

    @property
    def transcript(self) -> str:
        """All that it says as one text, for whoever reads no chat template: thoughts, words, and calls."""
        calls = (f"{call.name}({call.arguments})" for call in self.calls)
        return "\n".join(part for part in (self.reasoning or "", self.text, *calls) if part)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A function that the model may call. `parameters` is the JSON schema of an object."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    strict: bool = False  # the schema must be held, or the request refused
    path: str = "tools"  # of the client's tool, for refusals


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolRules:
    """Which functions there are and how they may be called."""

    tools: tuple[Tool, ...] = ()
    mode: Literal["auto", "none", "required"] = "auto"
    only: str | None = None  # the one function that must be called
    parallel: bool = True  # several calls in one answer
    reads_calls: bool = True  # calls are told apart from the text

    @property
    def callable(self) -> tuple[Tool, ...]:
        """The functions that may be called in this answer."""
        if self.mode == "none":
            return ()
        return tuple(tool for tool in self.tools if self.only is None or tool.name == self.only)


NO_TOOLS = ToolRules()


@dataclass(frozen=True, slots=True, kw_only=True)
class Thinking:
    """What was said about reasoning before the answer. None: nothing was said."""

    enabled: bool | None = None
    effort: str | None = None  # a level by the template's own name
    effort_is_wish: bool = False  # a template without levels ignores it
    budget_tokens: int | None = None  # most tokens of reasoning
    keeps: bool | None = None  # the reasoning of earlier turns stays in the prompt
    separate: bool = True  # reasoning is told apart from the text
    field: str = "enable_thinking"  # what the client sent, for refusals
    budget_field: str = "thinking_token_budget"


DEFAULT_THINKING = Thinking()


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """What the text of an answer must look like.

    `body` is a JSON schema ("json_schema"), a GBNF grammar ("grammar"), a regular expression ("regex"), a
    tuple of texts ("choice"), or nothing: any JSON object ("json_object"). With `triggers`, which are texts and
    ids of tokens, the answer is free until the first of them comes: it is where the form begins.
    """

    kind: Literal["json_object", "json_schema", "grammar", "regex", "choice"]
    body: Any = None
    path: str = "response_format"  # of the client's field, for refusals
    triggers: tuple[str | int, ...] = ()


@dataclass(frozen=True, slots=True)
class Tag:
    """What a client calls a conversation, and with whom its saved states may be shared. Neither changes an answer."""

    label: str | None = None  # `session_id`: shown, and good for forgetting
    handle: str | None = None  # a keep-name: what it names is not evicted until it is released
    owner: str = ""  # the caller, where callers are kept apart
    salt: str = ""  # `cache_salt`, as a digest
    adapters: str = ""  # `Adapters.key`

    @property
    def realm(self) -> tuple[str, str, str]:
        """Only states of the same realm are ever reused: how long a prompt takes tells what others have asked."""
        return (self.owner, self.salt, self.adapters)

    def or_else(self, other: Tag) -> Tag:
        """This tag, its gaps filled from the other, which is of the same realm."""
        return replace(self, label=self.label or other.label, handle=self.handle or other.handle)


NOBODY = Tag()  # a conversation without a name


@dataclass(frozen=True, slots=True)
class Talk:
    """A conversation, for the chat template."""

    turns: tuple[Turn, ...]
    add_generation_prompt: bool = True
    continues: bool = False  # the last turn, the assistant's, is gone on with
    template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    tools: ToolRules = NO_TOOLS
    thinking: Thinking = DEFAULT_THINKING

    @property
    def media(self) -> tuple[Medium, ...]:
        """Its pictures and sounds, in order."""
        return tuple(placed.medium for turn in self.turns for placed in turn.media)


Pieces = tuple[str | tuple[int, ...] | Medium, ...]  # texts, token ids and media, one after the other


@dataclass(frozen=True, slots=True)
class RawText:
    """A text to go on with as it stands: control tokens in it are tokens, and ids are taken as they are."""

    pieces: Pieces
    path: str = "prompt"  # the client's field, for refusals
    bos: bool = True  # prepend the model's BOS, if it has one
    special: bool = True  # read control tokens in texts as tokens

    @property
    def media(self) -> tuple[Medium, ...]:
        """Its pictures and sounds, in order."""
        return tuple(piece for piece in self.pieces if isinstance(piece, Medium))


@dataclass(frozen=True, slots=True)
class Gap:
    """A hole in a text, to be filled, with other texts to look at: (name, text) each."""

    prefix: Pieces
    suffix: Pieces
    extra: tuple[tuple[str, str], ...] = ()
    media: tuple[Medium, ...] = ()  # there is no place for any


Source = Talk | RawText | Gap


@dataclass(frozen=True, slots=True, kw_only=True)
class TextLimits:
    """What ends an answer by its text or its time."""

    indent: int = 0  # least blanks at the beginning of every line but the first
    milliseconds: int | None = None  # of writing, once there is a line break

    @property
    def any(self) -> bool:
        """True when there is a limit."""
        return self.indent > 0 or self.milliseconds is not None


NO_TEXT_LIMITS = TextLimits()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What the client said, in no dialect. None or an empty mapping means: the client did not say."""

    source: Source
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
    form: Form | None = None
    logprobs: int | None = None  # alternatives per token; None: no logprobs at all
    as_drawn: bool = False  # these are the probabilities after the samplers, not those of the raw logits
    keeps_tokens: bool = False  # carry every token with its text
    text_limits: TextLimits = NO_TEXT_LIMITS
    shown_tokens: tuple[str, ...] = ()  # control tokens that are written out where the answer has them
    priority: int = 0  # lower runs first, as in vLLM
    tag: Tag = NOBODY
    loras: tuple[tuple[int, float], ...] | None = None  # scales by id; those that are not named are off
    control_vector: bool | None = None
    progress: bool = False  # report prompt progress
    token_timings: bool = False  # carry timings on every Said


# ---- policy → prompt --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Budget:
    """How many tokens the answer may have. Pure arithmetic: fitting needs no second visit to policy."""

    asked_tokens: int | None  # None: the client set no limit
    default_tokens: int | None  # used when nothing was asked; None: what the context leaves
    cap_tokens: int | None  # the operator's ceiling
    refuses: bool = False  # what does not fit is refused instead of cut

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
    loras: tuple[float, ...] = ()  # the scale of each adapter where a request names none
    control_vector: bool | None = None  # whether it is added where a request does not say; None: there is none
    prompts: Mapping[str, str] = field(default_factory=dict)  # what goes in front of texts to be embedded, by name
    slot: str = ""  # the name of its place
    also: tuple[str, ...] = ()  # further kinds that it serves

    def serves(self, kind: str) -> bool:
        """True when routes of this kind may ask it."""
        return kind == self.kind or kind in self.also


@dataclass(frozen=True, slots=True)
class Plan:
    """An Ask with every choice made, each with its origin (request, model, server or default)."""

    ask: Ask
    model: ServedModel
    sampling: Sampling
    seed: int  # of the first choice, uint32; choice k uses seed + k
    budget: Budget
    origins: Mapping[str, str]
    adapters: Adapters = NO_ADAPTERS
