"""A decoder whose next token is a known function of the tokens before it: exact streams, no model."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from troth.domain import NO_ADAPTERS, Adapters, Embeddings, Sampling, Steering, TokenIds, TokenLogprob
from troth.engines.base import (
    Compiles,
    DecodeFault,
    DecodeInterrupted,
    Guide,
    LoadProgress,
    Proposer,
    Sampler,
    State,
    Vocabulary,
)
from troth.engines.sight import Sees

END = 0
LETTERS = "abcdefghijklmnopqrstuvwxyz "


class LetterVocabulary:
    """Token 0 ends a reply, every other token is one letter."""

    size = len(LETTERS) + 1
    adds_bos = False
    bos_text = ""
    eos_text = ""
    end_ids = frozenset({END})
    control_texts: tuple[str, ...] = ()
    fill_ids: Mapping[str, int] = MappingProxyType({})
    chat_template: str | None = "{% for m in messages %}{{ m.content }}{% endfor %}"

    def tokenize(self, text: str, *, special: bool, bos: bool) -> TokenIds:
        """One token a letter; letters that the vocabulary lacks are left out."""
        import numpy as np

        return np.array([LETTERS.index(letter) + 1 for letter in text if letter in LETTERS], dtype=np.int32)

    def piece(self, token_id: int) -> bytes:
        """The letter."""
        return b"" if token_id == END else LETTERS[token_id - 1].encode()

    def spoken(self, token_id: int) -> bytes:
        """The letter."""
        return self.piece(token_id)


@dataclass
class SeedSampler:
    """Remembers its seed; `is_closed` shows that the scheduler gave it back."""

    seed: int
    is_closed: bool = False
    guide: Guide | None = None

    def close(self) -> None:
        """Given back."""
        self.is_closed = True


def next_token(held: Sequence[int], seed: int) -> int:
    """The token that follows `held`: any token of the vocabulary, the end one time in thirty or so."""
    digest = hashlib.blake2b(repr((tuple(held), seed)).encode(), digest_size=4).digest()
    return int.from_bytes(digest) % LetterVocabulary.size


Picker = Callable[[Sequence[int], int], int]


def alone(prompt: Sequence[int], seed: int, answer_tokens: int, picker: Picker = next_token) -> list[int]:
    """The tokens that a request gets when nobody else is served; the end token included."""
    held, answer = list(prompt), list[int]()
    while len(answer) < answer_tokens:
        token = picker(held, seed)
        answer.append(token)
        if token == END:
            break
        held.append(token)
    return answer


@dataclass
class ScriptedDecoder:
    """Checks every call of the scheduler against what its memory holds."""

    slots: int = 4
    context_tokens: int = 256
    batch_tokens: int = 32
    can_cut: bool = True
    state_key: str = "scripted"
    vocabulary: Vocabulary = field(default_factory=LetterVocabulary)
    proposer: Proposer | None = None
    grammars: Compiles | None = None
    sight: Sees | None = None
    before_decode: Callable[[ScriptedDecoder], None] = lambda decoder: None
    samplers: list[SeedSampler] = field(default_factory=list)
    computed_tokens: int = 0
    is_closed: bool = False
    picker: Picker = next_token

    def __post_init__(self) -> None:
        self.memory: list[list[int]] = [[] for _ in range(self.slots)]
        self.pending: list[tuple[int, list[int], int]] = []
        self.rows: list[list[int]] = []
        self.is_interrupted = False
        self.seen: list[tuple[int, int, bool]] = []  # of each batch of embeddings: the slot, how many, whether whole
        self.adapters = NO_ADAPTERS
        self.worlds: list[Adapters | None] = [None] * self.slots  # the adapters that a slot's memory is of
        self.saved: list[tuple[State, Adapters | None]] = []

    def adapt(self, adapters: Adapters) -> None:
        """The next batches are of these adapters."""
        self.adapters = adapters

    def begin(self) -> None:
        """The batch is empty."""
        self.pending = []

    def add(self, slot: int, tokens: TokenIds | Sequence[int], position: int, *, rows: int) -> int:
        """Fails the test when a slot is written twice, out of order, or not where its memory ends."""
        assert len(tokens) > 0
        assert position == len(self.memory[slot]), f"slot {slot} holds {len(self.memory[slot])}, written at {position}"
        assert not self.pending or self.pending[-1][0] < slot, "slots go in by ascending number"
        assert self.worlds[slot] in (None, self.adapters), "one memory, two sets of adapters"
        self.worlds[slot] = self.adapters
        self.pending.append((slot, [int(token) for token in tokens], rows))
        assert sum(len(each[1]) for each in self.pending) <= self.batch_tokens
        return sum(each[2] for each in self.pending) - rows if rows else -1

    def add_seen(self, slot: int, embeddings: Embeddings, position: int, *, rows: int, is_whole: bool) -> int:
        """What is held of an embedding is its first number. Fails the test when it is not alone in its batch."""
        assert not self.pending, "embeddings are alone in their batch"
        self.seen.append((slot, len(embeddings), is_whole))
        return self.add(slot, [int(row[0]) for row in embeddings], position, rows=rows)

    def decode(self) -> None:
        """The pending tokens are held; `before_decode` may raise what a real decoder would."""
        self.before_decode(self)
        if self.is_interrupted:
            self.is_interrupted = False
            raise DecodeInterrupted
        self.rows = []
        for slot, tokens, rows in self.pending:
            self.memory[slot].extend(tokens)
            self.computed_tokens += len(tokens)
            held = len(self.memory[slot])
            assert held <= self.context_tokens
            self.rows.extend(self.memory[slot][: held - rows + k + 1] for k in range(rows))

    def interrupt(self) -> None:
        """The next batch is cut short."""
        self.is_interrupted = True

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
        """A sampler that is its seed."""
        self.samplers.append(SeedSampler(seed))
        return self.samplers[-1]

    def pick(self, picks: Sequence[tuple[Sampler, int]]) -> list[int]:
        """The token that follows what the row's slot holds."""
        return [self.picker(self.rows[row], sampler.seed) for sampler, row in picks if isinstance(sampler, SeedSampler)]

    def logprobs(self, row: int, token_id: int, alternatives: int) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """Certainty."""
        entry = TokenLogprob(token_id, self.vocabulary.piece(token_id), 0.0)
        return entry, (entry,) * alternatives

    def drawn(
        self, sampler: Sampler, token_id: int, alternatives: int
    ) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """Certainty, and nothing else."""
        entry = TokenLogprob(token_id, self.vocabulary.piece(token_id), 0.0)
        return entry, (entry,) * min(alternatives, 1)

    def forget(self, slot: int, position: int) -> None:
        """The slot ends before `position`."""
        assert self.can_cut or position in (0, len(self.memory[slot]))
        del self.memory[slot][position:]
        self.worlds[slot] = self.worlds[slot] if position else None

    def save(self, slot: int) -> State:
        """The tokens are the state."""
        import numpy as np

        state = np.array(self.memory[slot], dtype=np.uint8)
        self.saved.append((state, self.worlds[slot]))
        return state

    def restore(self, slot: int, state: State, tokens: int) -> None:
        """Fails the test when the slot is not empty or the state holds too little."""
        assert self.memory[slot] == []
        assert len(state) >= tokens
        assert self.can_cut or len(state) == tokens
        self.memory[slot] = state.tolist()[:tokens]
        self.worlds[slot] = next((world for known, world in self.saved if known is state), None)

    def describe(self) -> Mapping[str, Any]:
        """No facts."""
        return {}

    def close(self) -> None:
        """Closed."""
        self.is_closed = True


@dataclass
class ScriptedEngine:
    """A `Decodes` that hands out one prepared decoder."""

    decoder: ScriptedDecoder
    honours: frozenset[str] = frozenset()
    fault: Exception | None = None

    def load(self, progress: LoadProgress) -> ScriptedDecoder:
        """The decoder, or the fault."""
        progress(0.5)
        if self.fault is not None:
            raise self.fault
        return self.decoder


def fail_once(message: str = "out of luck") -> Callable[[ScriptedDecoder], None]:
    """A `before_decode` that fails the first batch and none after it."""
    calls = iter([True])

    def before(_: ScriptedDecoder) -> None:
        if next(calls, False):
            raise DecodeFault(message)

    return before
