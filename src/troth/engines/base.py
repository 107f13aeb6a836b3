"""The seams between Troth and whatever computes: one protocol per capability.

An engine is created by `registry.py` from its own typed options, started once, and asked through the
protocol of its capability. `honours` is its side of the promise: a field of the document that is not
in it becomes guarded for every request routed to this engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from troth.domain import (
    Adapters,
    Embeddings,
    Grammar,
    GrammarSource,
    Job,
    Sampling,
    Steering,
    ThoughtCount,
    Ticket,
    TokenIds,
    TokenLogprob,
)
from troth.domain.vectors import EmbedJob, Item, Planes, Reading, RerankJob, Rows, Values
from troth.engines.relaying import (
    Relays as Relays,
)
from troth.engines.reports import (
    CacheReport as CacheReport,
)
from troth.engines.reports import (
    ConversationReport as ConversationReport,
)
from troth.engines.reports import (
    EngineReport as EngineReport,
)
from troth.engines.reports import (
    EngineStatus as EngineStatus,
)
from troth.engines.reports import (
    SlotReport as SlotReport,
)
from troth.engines.reports import (
    VectorFacts as VectorFacts,
)
from troth.engines.sight import Sees
from troth.errors import EngineFault

State = npt.NDArray[np.uint8]  # the saved memory of one sequence
FILL_MARKS = ("prefix", "suffix", "middle", "repository", "separator")
LoadProgress = Callable[[float], bool | None]  # 0.0 … 1.0, on the engine's thread; False: give up


@runtime_checkable
class Engine(Protocol):
    """What every engine can do, whatever it computes."""

    honours: frozenset[str]

    async def start(self, progress: LoadProgress) -> None:
        """The model is loaded and the engine answers. Raises EngineFault with words for the operator."""

    async def stop(self) -> None:
        """Everything running is cancelled and all memory is given back. Safe to call twice."""

    def report(self) -> EngineReport:
        """The engine's state now, without waiting for it."""


class Vocabulary(Protocol):
    """How one model writes text as tokens. Every method may be called from any thread."""

    size: int
    adds_bos: bool
    bos_text: str
    eos_text: str
    end_ids: frozenset[int]  # every token id that ends a reply
    control_texts: tuple[str, ...]  # texts that parse as control tokens
    fill_ids: Mapping[str, int]  # marks for filling gaps that the model has, of FILL_MARKS
    chat_template: str | None  # the model's own Jinja source

    def tokenize(self, text: str, *, special: bool, bos: bool) -> TokenIds:
        """Token ids of `text`; `special` reads control tokens as tokens, `bos` prepends the model's BOS."""

    def piece(self, token_id: int) -> bytes:
        """The bytes of one token, control tokens written out; possibly half a character."""

    def spoken(self, token_id: int) -> bytes:
        """The bytes that the token adds to an answer: none for a control token."""


class GrammarFault(Exception):
    """A grammar that cannot be followed. The text is for the caller: what is wrong, in the compiler's words."""


class Compiles(Protocol):
    """What compiles grammars for one vocabulary. Safe from any thread."""

    def compile(self, source: GrammarSource) -> Grammar:
        """The grammar of this source. Blocks for up to some hundred milliseconds. Raises GrammarFault."""


@runtime_checkable
class Generates(Engine, Protocol):
    """An engine that continues token sequences."""

    @property
    def vocabulary(self) -> Vocabulary:
        """The loaded model's vocabulary. Raises Unavailable while the model loads."""

    @property
    def context_tokens(self) -> int:
        """Tokens of one sequence, prompt and answer together. Raises Unavailable while loading."""

    @property
    def grammars(self) -> Compiles | None:
        """What compiles grammars for this engine; None: it follows none. Raises Unavailable while loading."""

    @property
    def sight(self) -> Sees | None:
        """What reads pictures and sound for this engine, if anything does. Raises Unavailable while loading."""

    def submit(self, job: Job) -> Ticket:
        """The job is in the line. Raises QueueFull, or Unavailable while loading. Called on the event loop."""


@runtime_checkable
class Embeds(Engine, Protocol):
    """An engine that gives texts as vectors."""

    @property
    def facts(self) -> VectorFacts:
        """What the loaded model is. Raises Unavailable while it loads."""

    async def embed(self, job: EmbedJob) -> Rows:
        """One vector for each item, as the model gives it.

        Raises BadRequest naming an item that cannot be read, QueueFull, QueueTimeout, Unavailable, EngineFault. When
        the caller stops waiting, what is not computed yet never is.
        """


@runtime_checkable
class Classifies(Engine, Protocol):
    """An engine that looks at pictures."""

    @property
    def facts(self) -> VectorFacts:
        """What the loaded model is. Raises Unavailable while it loads."""

    async def classify(self, pictures: Sequence[Planes]) -> Rows:
        """The model's numbers for each picture. Raises and stops as `Embeds.embed` does."""


@runtime_checkable
class Reranks(Engine, Protocol):
    """An engine that tells how relevant documents are to a query."""

    @property
    def facts(self) -> VectorFacts:
        """What the loaded model is. Raises Unavailable while it loads."""

    async def rerank(self, job: RerankJob) -> Rows:
        """One score for each document, as the model gives it. Raises and stops as `Embeds.embed` does."""


class RelaysVectors(Embeds, Reranks, Protocol):
    """Another server that computes vectors or relevance."""

    async def learn(self) -> None:
        """`facts` can be read. Asks the other server the first time, and raises what asking raises."""


# ---- what a scheduler drives ------------------------------------------------------------------


class Encoder(Protocol):
    """One model that reads whole sequences, or looks at pictures. `encode` is for one thread."""

    facts: VectorFacts
    batch_tokens: int  # the most that several sequences together have; a longer one is a batch by itself
    batch_sequences: int
    pads: bool  # the sequences of a batch take as much as the longest of them

    def encode(self, batch: Sequence[Reading]) -> Values:
        """A row of `facts.dimensions` numbers for each sequence. Blocks."""

    def describe(self) -> Mapping[str, Any]:
        """The model's facts, JSON-ready."""

    def close(self) -> None:
        """All memory is given back."""


@runtime_checkable
class TextEncoder(Encoder, Protocol):
    """An encoder of texts. `read` and `pair` are for another thread than `encode`."""

    vocabulary_size: int

    def read(self, items: Sequence[Item]) -> list[Reading]:
        """Each item as the model reads it. Control tokens in texts are tokens; ids, known to exist, are as they are."""

    def pair(self, query: str, documents: Sequence[str]) -> list[Reading]:
        """The query with each document, as the model reads them. Control tokens in texts are text."""


@runtime_checkable
class Encodes(Protocol):
    """An engine that loads an encoder; a vector lane of the scheduler makes it an `Embeds` or a `Reranks`."""

    honours: frozenset[str]

    def open(self, progress: LoadProgress) -> Encoder:
        """The model is in memory. Blocks; runs on the lane's thread. Raises EngineFault in words."""


class DecodeFault(Exception):
    """The decoder could not compute the batch; what it holds of the sequences in it is unknown."""


class DecodeInterrupted(Exception):
    """`interrupt` cut the computation short; every sequence is as it was before the batch."""


class EngineGone(EngineFault):
    """Whatever computed is no more: every further call raises this too. The words say what became of it."""


class Guide(Protocol):
    """What holds the tokens of one sequence, as far as the scheduler asks."""

    fault: str | None  # why the answer cannot go on
    fault_field: str | None  # the field of the request that asks for what cannot be; None: no field does

    @property
    def is_complete(self) -> bool:
        """True when nothing can follow but the end of the answer."""

    @property
    def thoughts(self) -> ThoughtCount:
        """What is known of the reasoning so far."""


class Sampler(Protocol):
    """How one sequence picks its tokens: state that belongs to a decoder. Freed by `close`."""

    @property
    def guide(self) -> Guide | None:
        """What holds the tokens, if anything does."""

    def close(self) -> None:
        """The memory is given back. Safe to call twice."""


class Proposer(Protocol):
    """A smaller model of the same vocabulary that guesses how a sequence goes on."""

    def propose(self, tokens: Sequence[int], count: int) -> list[int] | None:
        """Up to `count` tokens that probably follow, as far as it is sure of them.

        None while it has to read more of `tokens` first: each call reads a piece, so that none takes long.
        """

    def interrupt(self) -> None:
        """A running `propose` ends soon and returns None. Called from any thread."""


class Decoder(Protocol):
    """One model with memory for `slots` sequences. One thread calls it; only `interrupt` is for others.

    A batch is built with `begin` and `add`, computed with `decode`, and read with `pick` and `logprobs`
    until the next `begin`.
    """

    slots: int
    context_tokens: int  # of one sequence
    batch_tokens: int  # the most that one batch holds
    can_cut: bool  # a memory may be shortened to any length; otherwise only emptied
    vocabulary: Vocabulary

    @property
    def grammars(self) -> Compiles | None:
        """What compiles grammars for this decoder's vocabulary, if anything does."""

    @property
    def proposer(self) -> Proposer | None:
        """Whose guesses are good for this model, if it has somebody."""

    @property
    def sight(self) -> Sees | None:
        """What reads pictures and sound for this decoder, if anything does."""

    @property
    def state_key(self) -> str:
        """Names the model and the settings that its saved states are good for."""

    def adapt(self, adapters: Adapters) -> None:
        """What is computed from now on is computed with these adapters. Cheap when they are the same as before."""

    def begin(self) -> None:
        """The batch is empty."""

    def add(self, slot: int, tokens: TokenIds | Sequence[int], position: int, *, rows: int) -> int:
        """`tokens` follow at `position` of the slot's sequence; the last `rows` of them get rows to pick from.

        Returns the first of these rows, the others follow it; -1 when `rows` is 0.
        """

    def add_seen(self, slot: int, embeddings: Embeddings, position: int, *, rows: int, is_whole: bool) -> int:
        """Embeddings follow, [tokens, width], instead of tokens; they are alone in their batch. Otherwise as `add`.

        `is_whole`: each of them looks at all of them, also at those behind it.
        """

    def decode(self) -> None:
        """The batch is computed. Raises DecodeFault or DecodeInterrupted."""

    def interrupt(self) -> None:
        """A running `decode` ends soon with DecodeInterrupted. Called from any thread."""

    def sampler(
        self,
        sampling: Sampling,
        *,
        seed: int,
        prompt: TokenIds,
        bias: Mapping[int, float],
        steering: Steering | None = None,
        tells: bool = False,
    ) -> Sampler:
        """A fresh sampler that has seen the prompt. With `steering` it has a guide; one that `tells` can be
        asked for what it has `drawn`."""

    def pick(self, picks: Sequence[tuple[Sampler, int]]) -> list[int]:
        """One token id for each (sampler, row); each sampler has taken note of its token."""

    def logprobs(self, row: int, token_id: int, alternatives: int) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """The raw-logit log probability of `token_id`, and the most likely tokens, best first."""

    def drawn(
        self, sampler: Sampler, token_id: int, alternatives: int
    ) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """The log probability that `token_id`, the sampler's latest, had in its draw, and the most likely tokens of
        that draw, best first: fewer when the samplers left fewer."""

    def forget(self, slot: int, position: int) -> None:
        """The slot's sequence ends before `position`; 0 empties the slot."""

    def save(self, slot: int) -> State:
        """A copy of the slot's memory, to be restored into any slot of this decoder."""

    def restore(self, slot: int, state: State, tokens: int) -> None:
        """The empty slot holds the first `tokens` tokens of the state."""

    def describe(self) -> Mapping[str, Any]:
        """The model's facts, JSON-ready: names, sizes, settings in force."""

    def close(self) -> None:
        """All memory is given back."""


@runtime_checkable
class Distant(Protocol):
    """What a decoder can do besides when it lives in a process of its own, which takes time to ask and can be lost.

    Once it is lost, whatever waits for an answer of it and whatever asks again raises EngineGone.
    """

    def foresee(self, picks: Sequence[tuple[Sampler, int]]) -> None:
        """After `decode` these picks will come first, each followed by those of its row's draft as long as that
        comes true: they may be made before they are asked for."""

    def when_gone(self, tell: Callable[[EngineGone], None]) -> None:
        """`tell` is called once, on any thread, when the process has ended without being told to."""

    def kill(self) -> None:
        """The process ends, whatever it does. Called from any thread."""


@runtime_checkable
class Decodes(Protocol):
    """An engine that loads a decoder; a lane of the scheduler makes it a `Generates`."""

    honours: frozenset[str]

    def load(self, progress: LoadProgress) -> Decoder:
        """The model is in memory. Blocks; runs on the lane's thread. Raises EngineFault in words."""
