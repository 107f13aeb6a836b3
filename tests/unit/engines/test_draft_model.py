"""A smaller model that drafts, on the real embedded model drafting for itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.decoder import LetterVocabulary
from troth.domain import Sampling
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.engines.llama_cpp.decoder import LlamaDecoder
from troth.engines.llama_cpp.draft_model import PIECE_TOKENS, common_beginning, vocabulary_difference
from troth.errors import EngineFault

QUESTION = "<|im_start|>user\nWhat is the capital of France?<|im_end|>\n<|im_start|>assistant\nThe capital of"
OPTIONS = LlamaCppOptions(context_tokens=1024, slots=1, determinism="strict")


@pytest.fixture(scope="module")
def decoder(embedded_model: Path) -> Iterator[LlamaDecoder]:
    done: list[float] = []
    loaded = LlamaCpp(embedded_model, OPTIONS, embedded_model).load(done.append)
    assert done == sorted(done), "the progress of two models is one progress"
    yield loaded
    loaded.close()


def greedy(decoder: LlamaDecoder, tokens: list[int], count: int) -> list[int]:
    """What the main model says."""
    decoder.forget(0, 0)
    sampler = decoder.sampler(
        Sampling(temperature=0), seed=1, prompt=decoder.vocabulary.tokenize("", special=False, bos=False), bias={}
    )
    said: list[int] = []
    pending, position = tokens, 0
    for _ in range(count):
        decoder.begin()
        row = decoder.add(0, pending, position, rows=1)
        decoder.decode()
        position += len(pending)
        pending = decoder.pick([(sampler, row)])
        said += pending
    return said


def propose(decoder: LlamaDecoder, tokens: list[int], count: int) -> list[int]:
    """The draft once everything has been read."""
    assert decoder.proposer is not None
    for _ in range(64):
        draft = decoder.proposer.propose(tokens, count)
        if draft is not None:
            return draft
    raise AssertionError("it reads for ever")


def text(decoder: LlamaDecoder, words: str) -> list[int]:
    tokens: list[int] = decoder.vocabulary.tokenize(words, special=True, bos=False).tolist()
    return tokens


def test_it_guesses_what_the_model_says(decoder: LlamaDecoder) -> None:
    tokens = text(decoder, QUESTION)

    draft = propose(decoder, tokens, 4)

    assert draft
    assert draft == greedy(decoder, tokens, 4)[: len(draft)]


def test_it_follows_a_sequence_that_took_another_turn(decoder: LlamaDecoder) -> None:
    propose(decoder, text(decoder, QUESTION.replace("France", "Spain")), 8)
    tokens = text(decoder, QUESTION)

    draft = propose(decoder, tokens, 3)

    assert draft
    assert draft == greedy(decoder, tokens, 3)[: len(draft)]


def test_a_long_sequence_is_read_a_piece_at_a_time(decoder: LlamaDecoder) -> None:
    assert decoder.proposer is not None
    tokens = text(decoder, "river stone lamp " * 120)
    calls = 0
    while decoder.proposer.propose(tokens, 1) is None:
        calls += 1

    assert calls == -(-len(tokens) // PIECE_TOKENS)


def test_it_is_not_sure_of_everything(decoder: LlamaDecoder) -> None:
    assert propose(decoder, text(decoder, "My favourite number between one and a thousand is"), 8) == []


def test_facts_name_the_file(decoder: LlamaDecoder, embedded_model: Path) -> None:
    assert decoder.describe()["draft_model"] == embedded_model.name


def test_a_file_that_is_no_model_is_named(embedded_model: Path, tmp_path: Path) -> None:
    (tmp_path / "draft.gguf").write_bytes(b"GGUF" + bytes(100))

    with pytest.raises(EngineFault, match=r"draft\.gguf"):
        LlamaCpp(embedded_model, OPTIONS, tmp_path / "draft.gguf").load(lambda fraction: None)


class Shifted(LetterVocabulary):
    """The same size, other tokens."""

    def piece(self, token_id: int) -> bytes:
        return super().piece(token_id % (self.size - 1) + 1)


class Larger(LetterVocabulary):
    """One token more."""

    size = LetterVocabulary.size + 1


def test_another_vocabulary_is_told_apart() -> None:
    assert vocabulary_difference(LetterVocabulary(), LetterVocabulary()) is None
    assert "token 0 is b'a' there and b'' here" in str(vocabulary_difference(Shifted(), LetterVocabulary()))
    assert "29 tokens, the model 28" in str(vocabulary_difference(Larger(), LetterVocabulary()))


@given(st.lists(st.integers(0, 1), max_size=12), st.lists(st.integers(0, 1), max_size=12))
def test_the_common_beginning_is_the_longest_one(held: list[int], tokens: list[int]) -> None:
    same = common_beginning(held, tokens)

    assert held[:same] == tokens[:same]
    assert held[: same + 1] != tokens[: same + 1] or same == min(len(held), len(tokens))
