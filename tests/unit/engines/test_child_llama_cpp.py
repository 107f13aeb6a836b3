"""The embedded model in a process of its own: every number is the one that a thread would give."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.unit.engines.test_llama_cpp import PROMPT, generate, text
from troth.domain import GrammarSource, Sampling, Steering, ThoughtBounds, TokenIds
from troth.engines.base import DecodeInterrupted, Decoder, GrammarFault, Sampler
from troth.engines.child import Isolated
from troth.engines.child.remote import Line, RemoteDecoder, RemoteGrammar, RemoteGrammars
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions

OPTIONS = LlamaCppOptions(context_tokens=1024, slots=3, determinism="fast")
HOT = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0)
JSON = GrammarSource(
    "%llguidance {}\nstart: @form\n",
    (("form", "json_schema", '{"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, '
      '"required": ["city"], "additionalProperties": false}'),),
)  # fmt: skip


@pytest.fixture(scope="module")
def near(embedded_model: Path) -> Iterator[Decoder]:
    loaded = LlamaCpp(embedded_model, OPTIONS).load(lambda fraction: None)
    yield loaded
    loaded.close()


@pytest.fixture(scope="module")
def far(embedded_model: Path) -> Iterator[RemoteDecoder]:
    loaded = Isolated(LlamaCpp(embedded_model, OPTIONS, draft=embedded_model)).load(lambda fraction: None)
    yield loaded
    loaded.close()


@pytest.fixture(autouse=True)
def empty(near: Decoder, far: Decoder) -> None:
    for decoder in (near, far):
        for slot in range(decoder.slots):
            decoder.forget(slot, 0)


@pytest.fixture
def prompt(near: Decoder) -> TokenIds:
    return near.vocabulary.tokenize(PROMPT, special=True, bos=False)


def read(decoder: Decoder, prompt: TokenIds, slot: int = 0) -> int:
    """The slot holds the prompt; the row to pick from."""
    decoder.begin()
    row = decoder.add(slot, prompt, 0, rows=1)
    decoder.decode()
    return row


def test_the_vocabulary_is_the_same(near: Decoder, far: Decoder) -> None:
    here, there = near.vocabulary, far.vocabulary

    assert [there.piece(token) for token in range(there.size)] == [here.piece(token) for token in range(here.size)]
    assert [there.spoken(token) for token in range(there.size)] == [here.spoken(token) for token in range(here.size)]
    for name in ("size", "adds_bos", "bos_text", "eos_text", "end_ids", "control_texts", "fill_ids", "chat_template"):
        assert getattr(there, name) == getattr(here, name), name
    for words in (PROMPT, "ünïcödé \ud800 🙂", ""):
        for special in (True, False):
            told = there.tokenize(words, special=special, bos=False)
            assert told.tolist() == here.tokenize(words, special=special, bos=False).tolist()
            assert told.dtype == np.int32


def test_the_facts_are_the_same_but_for_where_it_lives(near: Decoder, far: Decoder) -> None:
    told = dict(far.describe())

    assert (told.pop("isolation"), told.pop("process") > 0, told.pop("draft_model")) == (
        "process",
        True,
        near.describe()["file"],
    )
    assert told == near.describe()
    assert far.state_key == near.state_key


@pytest.mark.parametrize(
    ("sampling", "bias"),
    [
        (Sampling(temperature=0), {}),
        (Sampling(temperature=0), {345: 5.0, 7042: float("-inf")}),
        (HOT, {}),
        (Sampling(temperature=1.5, repeat_penalty=1.8), {345: 5.0}),
        (Sampling(temperature=1.5, dry_multiplier=5.0, dry_allowed_length=0), {}),
    ],
    ids=["greedy", "biased", "hot", "penalty", "dry"],
)
def test_an_answer_is_the_same_token_for_token(
    near: Decoder, far: Decoder, prompt: TokenIds, sampling: Sampling, bias: Mapping[int, float]
) -> None:
    told = [generate(decoder, prompt, sampling, count=12, bias=bias) for decoder in (near, far)]

    assert told[0] == told[1]


def held(decoder: Decoder, prompt: TokenIds, sampling: Sampling, steering: Steering) -> tuple[list[int], Sampler]:
    """The tokens of one answer that a guide holds, to its end, and the sampler."""
    decoder.forget(0, 0)
    sampler = decoder.sampler(sampling, seed=3, prompt=prompt, bias={}, steering=steering)
    tokens, position, pending = list[int](), 0, prompt.tolist()
    assert sampler.guide is not None
    while not sampler.guide.is_complete and sampler.guide.fault is None and len(tokens) < 60:
        decoder.begin()
        row = decoder.add(0, pending, position, rows=1)
        decoder.decode()
        position += len(pending)
        pending = decoder.pick([(sampler, row)])
        tokens += pending
    sampler.close()
    return tokens, sampler


@pytest.mark.parametrize("sampling", [Sampling(temperature=0), HOT], ids=["greedy", "hot"])
def test_a_held_answer_is_the_same_and_so_is_what_its_guide_says(
    near: Decoder, far: Decoder, prompt: TokenIds, sampling: Sampling
) -> None:
    told = []
    for decoder in (near, far):
        assert decoder.grammars is not None
        grammar = decoder.grammars.compile(JSON)
        assert grammar.source == JSON
        tokens, sampler = held(decoder, prompt, sampling, Steering(grammar=grammar))
        assert sampler.guide is not None
        told.append((tokens, sampler.guide.fault, sampler.guide.is_complete))

    assert told[0] == told[1]
    assert text(near, told[0][0]).startswith("{")


def test_a_grammar_of_an_earlier_process_is_compiled_anew(far: RemoteDecoder, prompt: TokenIds) -> None:
    assert isinstance(far.grammars, RemoteGrammars)
    known = far.grammars.compile(JSON)
    stale = RemoteGrammar(JSON, 10_000, RemoteGrammars(Line(far._child, far._child.channels["grammars"])))

    tokens, _ = held(far, prompt, HOT, Steering(grammar=known))

    assert held(far, prompt, HOT, Steering(grammar=stale))[0] == tokens


def test_reasoning_is_counted_and_closed_as_in_a_thread(near: Decoder, far: Decoder, prompt: TokenIds) -> None:
    end = near.vocabulary.tokenize(" blue", special=False, bos=False)[0]
    bounds = ThoughtBounds(begin=(), end=int(end), is_open=True, budget_tokens=5)
    told = []
    for decoder in (near, far):
        tokens, sampler = held(decoder, prompt, HOT, Steering(thoughts=bounds))
        assert sampler.guide is not None
        told.append((tokens, sampler.guide.thoughts))

    assert told[0] == told[1]
    assert told[0][1].closed_at == 5


def test_a_grammar_that_cannot_be_followed_has_the_compiler_s_words(near: Decoder, far: Decoder) -> None:
    bad = GrammarSource("%llguidance {}\nstart: @form\n", (("form", "gbnf", "no rule"),))
    words = []
    for decoder in (near, far):
        assert decoder.grammars is not None
        with pytest.raises(GrammarFault) as refused:
            decoder.grammars.compile(bad)
        words.append(str(refused.value))

    assert words[0] == words[1]


def test_logprobs_are_the_same(near: Decoder, far: Decoder, prompt: TokenIds) -> None:
    told = []
    for decoder in (near, far):
        row = read(decoder, prompt)
        sampler = decoder.sampler(HOT, seed=1, prompt=prompt, bias={}, tells=True)
        (token,) = decoder.pick([(sampler, row)])
        told.append((token, decoder.logprobs(row, token, 5), decoder.drawn(sampler, token, 5)))
        sampler.close()

    assert told[0] == told[1]


def test_a_saved_state_is_the_same_and_goes_on_in_either(near: Decoder, far: Decoder, prompt: TokenIds) -> None:
    states = []
    for decoder in (near, far):
        read(decoder, prompt)
        states.append(decoder.save(0))
    assert np.array_equal(states[0], states[1])

    rows = []
    for decoder, state in zip((near, far), reversed(states), strict=True):
        decoder.restore(2, state, len(prompt) - 1)
        decoder.begin()
        row = decoder.add(2, prompt[-1:], len(prompt) - 1, rows=1)
        decoder.decode()
        rows.append(decoder.logprobs(row, 1, 20))

    assert rows[0] == rows[1]


def test_a_drafted_batch_gives_what_a_thread_gives(near: Decoder, far: Decoder, prompt: TokenIds) -> None:
    answer = generate(near, prompt, Sampling(temperature=0), count=8)
    told = []
    for decoder in (near, far):
        decoder.forget(0, 0)
        row = read(decoder, prompt)
        sampler = decoder.sampler(Sampling(temperature=0), seed=1, prompt=prompt, bias={})
        (first,) = decoder.pick([(sampler, row)])
        draft = [*answer[1:4], answer[4] + 1]
        decoder.begin()
        row = decoder.add(0, [first, *draft], len(prompt), rows=1 + len(draft))
        if isinstance(decoder, RemoteDecoder):
            decoder.foresee([(sampler, row)])
        decoder.decode()
        told.append([decoder.pick([(sampler, row + further)])[0] for further in range(4)])
        decoder.forget(0, 0)

    assert told[0] == told[1] == answer[1:5]


def test_the_draft_model_lives_there_too(far: RemoteDecoder, prompt: TokenIds) -> None:
    assert far.proposer is not None
    draft = None
    while draft is None:  # it reads a piece with each call
        draft = far.proposer.propose(prompt.tolist(), 4)

    assert draft
    assert draft == generate(far, prompt, Sampling(temperature=0), count=len(draft))


def test_an_interrupt_ends_a_long_batch_within_its_time(far: RemoteDecoder) -> None:
    long = np.resize(np.arange(1000, 1200, dtype=np.int32), far.batch_tokens)
    far.begin()
    far.add(0, long, 0, rows=1)
    started = time.perf_counter()
    far.decode()
    whole_seconds = time.perf_counter() - started
    far.forget(0, 0)

    far.begin()
    far.add(0, long, 0, rows=1)
    timer = threading.Timer(whole_seconds / 10, far.interrupt)
    timer.start()
    started = time.perf_counter()
    with pytest.raises(DecodeInterrupted):
        far.decode()
    timer.join()

    assert time.perf_counter() - started < 0.7 * whole_seconds


def test_tokens_are_counted_while_a_batch_is_computed(far: RemoteDecoder) -> None:
    long = np.resize(np.arange(1000, 1200, dtype=np.int32), far.batch_tokens)
    far.begin()
    far.add(0, long, 0, rows=1)
    computing = threading.Thread(target=far.decode)
    computing.start()
    count = 0
    while computing.is_alive():
        far.vocabulary.tokenize("How many tokens are these?", special=False, bos=False)
        count += 1

    assert count > 5
