"""The parent's side: a decoder that puts every question to its child, and remembers what never changes.

One thread drives it, as it drives any decoder. What has no answer (a new sampler, one that is closed, a slot
that is emptied) travels with the next question, so that it costs no journey of its own.
"""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from types import MappingProxyType
from typing import Any, cast
from weakref import finalize

from troth.domain import (
    NO_ADAPTERS,
    NO_THOUGHTS,
    Adapters,
    Embeddings,
    GrammarSource,
    Sampling,
    Steering,
    ThoughtCount,
    TokenIds,
    TokenLogprob,
)
from troth.engines.base import Compiles, EngineGone, Proposer, Sampler, State, Vocabulary
from troth.engines.child.channel import Channel, ChannelClosed
from troth.engines.child.process import Child
from troth.engines.child.words import (
    Adds,
    Facts,
    GuideState,
    Pick,
    Picked,
    SamplerOrder,
    Vocables,
)
from troth.engines.sight import Sees


class Line:
    """Questions over one channel, one at a time; any thread may ask."""

    def __init__(self, child: Child, channel: Channel) -> None:
        self._child = child
        self._channel = channel
        self._lock = threading.Lock()

    def ask(self, question: Any) -> Any:
        """What the child answers. Raises what the question raised there, and EngineGone when there is no child."""
        try:
            with self._lock:
                self._channel.send(question)
                value, failed = self._channel.receive()
        except ChannelClosed as closed:
            raise self._child.fault() from closed
        if failed is not None:
            raise failed.error()
        return value


class RemoteVocabulary:
    """See `Vocabulary` in `engines/base.py`. The child alone can tokenise; the rest is known here."""

    def __init__(self, vocables: Vocables, texts: Line) -> None:
        self._pieces = vocables.pieces
        self._spoken = vocables.spoken
        self._texts = texts
        self.size = vocables.size
        self.adds_bos = vocables.adds_bos
        self.bos_text = vocables.bos_text
        self.eos_text = vocables.eos_text
        self.end_ids = vocables.end_ids
        self.control_texts = vocables.control_texts
        self.fill_ids = vocables.fill_ids
        self.chat_template = vocables.chat_template

    def tokenize(self, text: str, *, special: bool, bos: bool) -> TokenIds:
        """Token ids of `text`; `special` reads control tokens as tokens, `bos` prepends the model's BOS."""
        return cast(TokenIds, self._texts.ask((text, special, bos)))

    def piece(self, token_id: int) -> bytes:
        """The bytes of one token, control tokens written out; possibly half a character."""
        return self._pieces[token_id]

    def spoken(self, token_id: int) -> bytes:
        """The bytes that the token adds to an answer: none for a control token."""
        said = self._spoken.get(token_id)
        return self._pieces[token_id] if said is None else said


class RemoteGrammar:
    """A grammar that the child has compiled and keeps under a number, as long as somebody here needs it."""

    def __init__(self, source: GrammarSource, number: int, owner: RemoteGrammars) -> None:
        self.source = source
        self.number = number
        self.owner = owner


class RemoteGrammars:
    """Compiles grammars in the child. Safe from any thread."""

    def __init__(self, line: Line) -> None:
        self._line = line
        self._unneeded: deque[int] = deque()  # told with the next question: a finaliser may come at any moment

    def compile(self, source: GrammarSource) -> RemoteGrammar:
        """The grammar of this source. Blocks for up to some hundred milliseconds. Raises GrammarFault."""
        unneeded = []
        with suppress(IndexError):  # other threads take from it too
            while True:
                unneeded.append(self._unneeded.popleft())
        grammar = RemoteGrammar(source, self._line.ask((source, unneeded)), self)
        finalize(grammar, self._unneeded.append, grammar.number).atexit = False
        return grammar


class RemoteGuide:
    """What a guide in the child said last. See `Guide` in `engines/base.py`."""

    def __init__(self) -> None:
        self.fault: str | None = None
        self.fault_field: str | None = None
        self.is_complete = False
        self.thoughts: ThoughtCount = NO_THOUGHTS

    def note(self, state: GuideState) -> None:
        """The guide has seen a token."""
        self.fault, self.fault_field = state.fault, state.fault_field
        self.is_complete, self.thoughts = state.is_complete, state.thoughts


class RemoteSampler:
    """A sampler in the child, known by its number."""

    def __init__(self, number: int, guide: RemoteGuide | None, close: Callable[[int], None]) -> None:
        self.number = number
        self.guide = guide
        self._close = close
        self._is_closed = False

    def close(self) -> None:
        """The child gives it back with the next question. Safe to call twice."""
        if not self._is_closed:
            self._is_closed = True
            self._close(self.number)


class RemoteProposer:
    """A draft model in the child. See `Proposer` in `engines/base.py`."""

    def __init__(self, ask: Callable[..., Any], interrupt: Callable[[], None]) -> None:
        self._ask = ask
        self._interrupt = interrupt

    def propose(self, tokens: Sequence[int], count: int) -> list[int] | None:
        """Up to `count` tokens that probably follow; None while more of `tokens` must be read first."""
        return cast("list[int] | None", self._ask(list(tokens), count))

    def interrupt(self) -> None:
        """A running `propose` ends soon and returns None. Called from any thread."""
        self._interrupt()


class RemoteDecoder:
    """See `Decoder` and `Distant` in `engines/base.py`."""

    def __init__(self, child: Child, facts: Facts) -> None:
        self._child = child
        self._steps = Line(child, child.channels["steps"])
        self.slots = facts.slots
        self.context_tokens = facts.context_tokens
        self.batch_tokens = facts.batch_tokens
        self.can_cut = facts.can_cut
        self.state_key = facts.state_key
        self.vocabulary: Vocabulary = RemoteVocabulary(facts.vocables, Line(child, child.channels["texts"]))
        grammars = Line(child, child.channels["grammars"])
        self.grammars: Compiles | None = RemoteGrammars(grammars) if facts.compiles else None
        self.sight: Sees | None = None  # `options.mmproj` is refused beside `isolation: process`
        self.proposer: Proposer | None = RemoteProposer(self._propose, self.interrupt) if facts.proposes else None
        self._description = MappingProxyType({**facts.description, "isolation": "process", "process": child.pid})
        self._numbers = itertools.count(1)  # of samplers
        self._work = 0  # the number of the latest piece of work that can be interrupted
        self._interrupting = threading.Lock()
        self._posts: list[tuple[Any, ...]] = []  # what needs no answer, in order
        self._needed: list[RemoteGrammar] = []  # by these; the child must not drop them before
        self._adapters = NO_ADAPTERS
        self._adds: Adds = []
        self._rows = 0
        self._drafts: dict[int, tuple[int, ...]] = {}  # row → the tokens that go on from it in the batch
        self._foreseen: list[Pick] = []
        self._picked: dict[tuple[int, int], tuple[int, GuideState | None]] = {}  # (sampler, row) → what it gave

    # ---- batches --------------------------------------------------------------------------------

    def adapt(self, adapters: Adapters) -> None:
        """What is computed from now on is computed with these adapters."""
        if adapters != self._adapters:
            self._adapters = adapters
            self._posts.append(("adapt", adapters))

    def begin(self) -> None:
        """The batch is empty, and from now on it is what `interrupt` means."""
        self._work += 1
        self._adds, self._rows, self._foreseen = [], 0, []
        self._drafts.clear()

    def add(self, slot: int, tokens: TokenIds | Sequence[int], position: int, *, rows: int) -> int:
        """`tokens` follow at `position`; the last `rows` of them get rows. Returns the first of these, or -1."""
        self._adds.append((slot, tokens, position, rows))
        if rows == 0:
            return -1
        first = self._rows
        self._rows += rows
        if rows > 1:
            self._drafts[first] = tuple(int(token) for token in tokens[len(tokens) - rows + 1 :])
        return first

    def add_seen(self, slot: int, embeddings: Embeddings, position: int, *, rows: int, is_whole: bool) -> int:
        """Never called: without `sight` nothing is seen."""
        raise AssertionError("a decoder in a process of its own sees nothing")

    def foresee(self, picks: Sequence[tuple[Sampler, int]]) -> None:
        """These picks come next, and each goes on along the draft of its row for as long as that comes true."""
        self._foreseen = [
            (sampler.number, row, self._drafts.get(row, ()))
            for sampler, row in picks
            if isinstance(sampler, RemoteSampler)
        ]

    def decode(self) -> None:
        """The batch is computed. Raises DecodeFault or DecodeInterrupted."""
        self._picked.clear()
        picked: list[Picked] = self._ask("decode", self._work, self._adds, self._foreseen)
        for (number, row, _), tokens in zip(self._foreseen, picked, strict=True):
            for further, each in enumerate(tokens):
                self._picked[number, row + further] = each

    def interrupt(self) -> None:
        """A running `decode` ends soon with DecodeInterrupted. Called from any thread."""
        with self._interrupting, suppress(ChannelClosed):  # whoever waits for the child is told of its end
            self._child.channels["orders"].send(self._work)

    def pick(self, picks: Sequence[tuple[Sampler, int]]) -> list[int]:
        """One token id for each (sampler, row); each sampler has taken note of its token."""
        wanted: list[Pick] = []
        for sampler, row in picks:
            assert isinstance(sampler, RemoteSampler), "a sampler of another decoder"
            if (sampler.number, row) not in self._picked:
                wanted.append((sampler.number, row, ()))
        if wanted:
            picked: list[Picked] = self._ask("pick", wanted)
            self._picked |= {(number, row): each for (number, row, _), (each,) in zip(wanted, picked, strict=True)}
        return [self._take(cast(RemoteSampler, sampler), row) for sampler, row in picks]

    def _take(self, sampler: RemoteSampler, row: int) -> int:
        """The token that was picked; the sampler's guide says here what it said there."""
        token, state = self._picked.pop((sampler.number, row))
        if state is not None and sampler.guide is not None:
            sampler.guide.note(state)
        return token

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
        """A fresh sampler that has seen the prompt; with `steering` it has a guide."""
        grammar = self._grammar_of(steering)
        order = SamplerOrder(
            number=next(self._numbers),
            sampling=sampling,
            seed=seed,
            prompt=prompt,
            bias=dict(bias),
            steering=None if steering is None else replace(steering, grammar=None),
            grammar=grammar.number if grammar is not None else None,
            tells=tells,
        )
        self._posts.append(("sampler", order))
        self._needed += [grammar] if grammar is not None else []
        return RemoteSampler(order.number, None if steering is None else RemoteGuide(), self._close_sampler)

    def _grammar_of(self, steering: Steering | None) -> RemoteGrammar | None:
        """The grammar, as this child knows it: the prompt may have been made while an earlier one lived."""
        if steering is None or steering.grammar is None:
            return None
        grammar, grammars = steering.grammar, self.grammars
        assert isinstance(grammar, RemoteGrammar), "a grammar of another engine"
        assert isinstance(grammars, RemoteGrammars), "a grammar, and nothing that follows it"
        return grammar if grammar.owner is grammars else grammars.compile(grammar.source)

    def _close_sampler(self, number: int) -> None:
        self._posts.append(("close_sampler", number))

    def logprobs(self, row: int, token_id: int, alternatives: int) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """The raw-logit log probability of `token_id`, and the most likely tokens, best first."""
        return cast("tuple[TokenLogprob, tuple[TokenLogprob, ...]]", self._ask("logprobs", row, token_id, alternatives))

    def drawn(
        self, sampler: Sampler, token_id: int, alternatives: int
    ) -> tuple[TokenLogprob, tuple[TokenLogprob, ...]]:
        """The log probability that `token_id`, the sampler's latest, had in its draw, and the likeliest of it."""
        assert isinstance(sampler, RemoteSampler), "a sampler of another decoder"
        told = self._ask("drawn", sampler.number, token_id, alternatives)
        return cast("tuple[TokenLogprob, tuple[TokenLogprob, ...]]", told)

    def _propose(self, tokens: list[int], count: int) -> list[int] | None:
        self._work += 1
        return cast("list[int] | None", self._ask("propose", self._work, tokens, count))

    # ---- memory ---------------------------------------------------------------------------------

    def forget(self, slot: int, position: int) -> None:
        """The slot's sequence ends before `position` when the next question comes; 0 empties the slot."""
        if position > 0 and not self.can_cut:
            self._ask("forget", slot, position)  # it may fail, and who asks is told
        else:
            self._posts.append(("forget", slot, position))

    def save(self, slot: int) -> State:
        """A copy of the slot's memory, to be restored into any slot of this decoder."""
        return self._child.shelf.take(self._ask("save", slot))

    def restore(self, slot: int, state: State, tokens: int) -> None:
        """The empty slot holds the first `tokens` tokens of the state."""
        self._ask("restore", slot, self._child.shelf.put(state), tokens)

    # ---- the child ------------------------------------------------------------------------------

    def describe(self) -> Mapping[str, Any]:
        """The model's facts, JSON-ready, and the number of the process that has it."""
        return self._description

    def when_gone(self, tell: Callable[[EngineGone], None]) -> None:
        """`tell` is called once, on a thread of its own, when the child has ended without being told to."""
        self._child.when_gone(tell)

    def kill(self) -> None:
        """The child ends, whatever it does; what was asked raises EngineGone."""
        self._child.kill()

    def close(self) -> None:
        """The child has given its memory back and has ended. Safe to call twice."""
        self._posts.clear()
        self._child.dismiss()

    def _ask(self, question: str, *arguments: Any) -> Any:
        posts, self._posts = self._posts, []
        try:
            return self._steps.ask((posts, question, arguments))
        finally:
            self._needed.clear()
