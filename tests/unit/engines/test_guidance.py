"""Grammars and bounds of reasoning, on the real vocabulary of the embedded model."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from troth.domain import GrammarSource, Sampling, Steering, ThoughtBounds, Triggers
from troth.engines.base import Decoder, GrammarFault
from troth.engines.guidance import GrammarLimits, Guides
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.engines.llama_cpp import sampling as sampling_module
from troth.engines.llama_cpp.decoder import LlamaDecoder

YES_OR_NO = GrammarSource('%llguidance {}\nstart: "yes" | "no"\n')
NUMBER = GrammarSource("%llguidance {}\nstart: @n\n", (("n", "json_schema", '{"type": "integer", "maximum": 9}'),))


@pytest.fixture(scope="module")
def decoder(embedded_model: Path) -> Iterator[LlamaDecoder]:
    options = LlamaCppOptions(context_tokens=256, slots=1, determinism="fast")
    loaded = LlamaCpp(embedded_model, options).load(lambda fraction: None)
    yield loaded
    loaded.close()


@pytest.fixture
def guides(decoder: LlamaDecoder) -> Guides:
    return decoder.grammars


def drawn(decoder: Decoder, steering: Steering, sampling: Sampling, *, seed: int = 1, count: int = 24) -> str:
    """The answer of one held sequence, until nothing can follow."""
    decoder.forget(0, 0)
    prompt = decoder.vocabulary.tokenize("Say something:", special=True, bos=False)
    sampler = decoder.sampler(sampling, seed=seed, prompt=prompt, bias={}, steering=steering)
    said, pending, position = list[int](), prompt.tolist(), 0
    while len(said) < count:
        decoder.begin()
        row = decoder.add(0, pending, position, rows=1)
        decoder.decode()
        position += len(pending)
        (token,) = decoder.pick([(sampler, row)])
        assert sampler.guide is not None
        assert sampler.guide.fault is None
        if token in decoder.vocabulary.end_ids:
            break
        said.append(token)
        pending = [token]
        if sampler.guide.is_complete:
            break
    sampler.close()
    return b"".join(decoder.vocabulary.piece(token) for token in said).decode()


@pytest.mark.parametrize("sampling", [Sampling(temperature=0), Sampling(temperature=2, top_k=0, top_p=1, min_p=0)])
def test_an_answer_is_held_to_its_grammar(sampling: Sampling, decoder: LlamaDecoder, guides: Guides) -> None:
    steering = Steering(grammar=guides.compile(YES_OR_NO))
    assert {drawn(decoder, steering, sampling, seed=seed) for seed in range(8)} <= {"yes", "no"}


@pytest.mark.parametrize("seed", range(4))
def test_samplers_that_sum_over_all_tokens_see_only_those_that_may_follow(
    seed: int, decoder: LlamaDecoder, guides: Guides
) -> None:
    sampling = Sampling(temperature=1, typical_p=0.5, top_k=0, xtc_probability=1, xtc_threshold=0.01)
    number = drawn(decoder, Steering(grammar=guides.compile(NUMBER)), sampling, seed=seed)
    assert int(number) <= 9


def test_a_grammar_that_ends_leaves_no_token_to_wait_for(decoder: LlamaDecoder, guides: Guides) -> None:
    guide = guides.guide(Steering(grammar=guides.compile(YES_OR_NO)))
    for token in decoder.vocabulary.tokenize("yes", special=False, bos=False).tolist():
        assert not guide.is_complete
        assert guide.accepts(token)
        guide.took(token)
    assert guide.is_complete
    assert guide.fault is None


def test_a_token_that_is_not_allowed_is_a_fault_that_stays(decoder: LlamaDecoder, guides: Guides) -> None:
    guide = guides.guide(Steering(grammar=guides.compile(YES_OR_NO)))
    (token,) = decoder.vocabulary.tokenize("x", special=False, bos=False).tolist()
    assert not guide.accepts(token)
    assert not guide.allowed()[token]
    guide.took(token)
    assert guide.fault is not None


@pytest.mark.parametrize(
    ("source", "words"),
    [
        (GrammarSource("%llguidance {}\nstart: missing\n"), "missing"),
        (GrammarSource("start: @s\n", (("s", "json_schema", '{"not": {}}'),)), "not"),
        (GrammarSource("start: @s\n", (("s", "json_schema", '{"$ref": "http://127.0.0.1/x"}'),)), "127.0.0.1"),
        (GrammarSource("start: @s\n", (("s", "gbnf", "root ::= missing"),)), "missing"),
        (GrammarSource("start: @s\n", (("s", "gbnf", "root ::= " + "(" * 60000 + '"a"' + ")" * 60000),)), "nested"),
        (GrammarSource("start: @s\n", (("s", "regex", "a(?=b)"),)), "look-around"),
        (GrammarSource("start: @s\n", (("s", "gbnf", "root ::= root"),)), "no answer"),
        (GrammarSource("start: @s\n", (("s", "json_schema", '{"$ref": "#"}'),)), "no answer"),
        (GrammarSource("start: @s\n", (("s", "gbnf", "start: /a/"),)), "has no rule"),
    ],
)
def test_a_grammar_that_cannot_be_followed_is_refused_in_words(
    source: GrammarSource, words: str, guides: Guides
) -> None:
    with pytest.raises(GrammarFault, match=words):
        guides.compile(source)


@pytest.mark.parametrize("sampling", [Sampling(temperature=0), Sampling(temperature=1)])
def test_a_bias_that_bans_all_that_may_follow_is_a_fault_with_its_name(
    sampling: Sampling, decoder: LlamaDecoder, guides: Guides
) -> None:
    steering = Steering(grammar=guides.compile(GrammarSource('%llguidance {}\nstart: "a"\n')))
    prompt = decoder.vocabulary.tokenize("Say:", special=True, bos=False)
    (letter,) = decoder.vocabulary.tokenize("a", special=False, bos=False).tolist()
    sampler = decoder.sampler(sampling, seed=1, prompt=prompt, bias={letter: -np.inf}, steering=steering)
    decoder.forget(0, 0)
    decoder.begin()
    row = decoder.add(0, prompt, 0, rows=1)
    decoder.decode()
    decoder.pick([(sampler, row)])
    assert sampler.guide is not None
    assert sampler.guide.fault == "logit_bias bans every token that may follow"
    sampler.close()


def gbnf(text: str, *openings: bytes) -> GrammarSource:
    return GrammarSource("%llguidance {}\nstart: @g\n", (("g", "gbnf", text),), openings)


@pytest.mark.parametrize("rule", ['s s | "a"', 's s s | s s | "a" | "b"'])
def test_a_grammar_whose_every_token_takes_longer_than_the_last_is_refused(rule: str, guides: Guides) -> None:
    with pytest.raises(GrammarFault, match="too ambiguous"):
        guides.compile(gbnf(f"root ::= s\ns ::= {rule}"))


def test_a_grammar_that_turns_dear_ends_its_answer_and_names_the_field(decoder: LlamaDecoder) -> None:
    limits = GrammarLimits(answer_seconds=0.01, token_seconds=0)
    guides = Guides(decoder.grammars._tokenizer, decoder.vocabulary.size, limits)
    grammar = guides.compile(gbnf('root ::= s\ns ::= "a" s s | "a"'))
    guide = guides.guide(Steering(grammar=grammar, field="grammar"))
    (letters,) = decoder.vocabulary.tokenize("aaaa", special=False, bos=False).tolist()
    for _ in range(100):
        if guide.fault is None:
            guide.allowed()
            guide.took(letters)
    assert guide.fault is not None
    assert "too ambiguous" in guide.fault
    assert guide.fault_field == "grammar"


@pytest.mark.parametrize("sampling", [Sampling(temperature=0), Sampling(temperature=1)])
def test_a_grammar_that_waits_holds_from_its_trigger_on(
    sampling: Sampling, decoder: LlamaDecoder, guides: Guides
) -> None:
    steering = Steering(
        grammar=guides.compile(gbnf('root ::= "e" [0-9]{3} "!"', b"e")), triggers=Triggers(words=(b"e",))
    )
    free, _, held = drawn(decoder, steering, sampling, seed=3, count=64).partition("e")
    assert free
    assert re.fullmatch("[0-9]{3}!", held)


def test_a_trigger_that_the_grammar_does_not_begin_with_is_refused(guides: Guides) -> None:
    with pytest.raises(GrammarFault, match="does not begin with its trigger 'x'"):
        guides.compile(gbnf('root ::= "y"', b"x"))


def test_a_grammar_is_compiled_once(guides: Guides) -> None:
    assert guides.compile(YES_OR_NO) is guides.compile(YES_OR_NO)


BEGIN, END, WORD = 6, 7, 300  # <filename> and <gh_stars>, which end no answer


def bounded(guides: Guides, budget: int | None, *, is_open: bool = True) -> Steering:
    return Steering(thoughts=ThoughtBounds(begin=(BEGIN,), end=END, is_open=is_open, budget_tokens=budget))


def test_reasoning_is_closed_when_its_budget_is_used(guides: Guides) -> None:
    guide = guides.guide(bounded(guides, 2))
    for _ in range(2):
        assert guide.forced() is None
        guide.took(WORD)
    assert guide.forced() == END
    guide.took(END)
    assert guide.forced() is None
    assert (guide.thoughts.tokens, guide.thoughts.closed_at, guide.thoughts.closed_by) == (2, 2, "max_thinking_tokens")


def test_reasoning_with_a_budget_is_not_opened_again(guides: Guides) -> None:
    guide = guides.guide(bounded(guides, 2))
    for token in (WORD, END):
        guide.took(token)
    assert not guide.accepts(BEGIN)
    assert not guide.allowed()[BEGIN]
    assert guide.allowed()[WORD]
    assert guide.thoughts.closed_by is None


def test_reasoning_without_a_budget_is_only_counted(guides: Guides) -> None:
    guide = guides.guide(bounded(guides, None, is_open=False))
    assert guide.is_free
    for token in (BEGIN, WORD, WORD, END, WORD):
        assert guide.forced() is None
        guide.took(token)
    assert guide.thoughts.tokens == 3


def test_a_marker_of_several_tokens_begins_the_reasoning_and_a_second_block_is_closed_at_once(guides: Guides) -> None:
    bounds = ThoughtBounds(begin=(BEGIN, WORD), end=END, is_open=False, budget_tokens=2)
    guide = guides.guide(Steering(thoughts=bounds))
    for token in (BEGIN, BEGIN, WORD, WORD):
        assert guide.forced() is None
        assert guide.accepts(token)
        guide.took(token)
    assert guide.forced() == END
    for token in (END, BEGIN, WORD):
        guide.took(token)
    assert guide.forced() == END


def test_the_end_of_the_reasoning_is_forced_at_any_temperature(decoder: LlamaDecoder, guides: Guides) -> None:
    sampling = Sampling(temperature=2, top_k=0, top_p=1, min_p=0)
    text = drawn(decoder, bounded(guides, 3), sampling, count=6)
    end = decoder.vocabulary.piece(END).decode()
    assert text.count(end) == 1


VOWELLESS = GrammarSource("%llguidance {}\nstart: /[^aeiou]*/\n")  # thousands of tokens may come, and thousands not


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(temperature=1, top_k=0, top_p=1, min_p=0),
        Sampling(temperature=0.8),
        Sampling(temperature=1.2, top_n_sigma=1.0, top_k=0),
        Sampling(temperature=1, xtc_probability=0.9, xtc_threshold=0.05),
        Sampling(temperature=1, mirostat=2),
        Sampling(temperature=1, repeat_penalty=1.3, dry_multiplier=0.8),
        Sampling(temperature=1, dynatemp_range=0.5),
    ],
)
def test_a_token_that_cannot_come_weighs_as_little_as_one_that_is_not_there(
    decoder: Decoder, guides: Guides, sampling: Sampling, monkeypatch: pytest.MonkeyPatch
) -> None:
    steering = Steering(grammar=guides.compile(VOWELLESS))
    in_place = [drawn(decoder, steering, sampling, seed=seed) for seed in range(4)]

    monkeypatch.setattr(sampling_module, "FEW", 0)  # now every draw is given the tokens that are left
    given = [drawn(decoder, steering, sampling, seed=seed) for seed in range(4)]

    assert in_place == given
    assert not any(set("aeiou") & set(text) for text in in_place)
    assert len(set(in_place)) > 1


def test_a_row_is_as_it_was_after_a_draw(decoder: Decoder, guides: Guides) -> None:
    prompt = decoder.vocabulary.tokenize("Say", special=True, bos=False)
    decoder.forget(0, 0)
    decoder.begin()
    row = decoder.add(0, prompt.tolist(), 0, rows=1)
    decoder.decode()
    free = decoder.sampler(Sampling(temperature=0), seed=1, prompt=prompt, bias={})
    before = decoder.pick([(free, row)])
    held = decoder.sampler(
        Sampling(temperature=1), seed=1, prompt=prompt, bias={}, steering=Steering(grammar=guides.compile(VOWELLESS))
    )
    decoder.pick([(held, row)])

    assert decoder.pick([(free, row)]) == before
    free.close()
    held.close()
