"""The llama_cpp engine on the real embedded model, without a scheduler around it."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import pytest

from troth.domain import Sampling, TokenIds
from troth.engines import registry
from troth.engines.base import DecodeInterrupted, Decoder
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.engines.llama_cpp.vocabulary import has_long_run
from troth.errors import EngineFault

PROMPT = (
    "<|im_start|>system\nYou are a helpful assistant.<|im_end|>\n"
    "<|im_start|>user\nWhat is the capital of France? Answer in one sentence.<|im_end|>\n<|im_start|>assistant\n"
)


@pytest.fixture(scope="module")
def decoder(embedded_model: Path) -> Iterator[Decoder]:
    loaded = LlamaCpp(embedded_model, LlamaCppOptions(context_tokens=1024, slots=3)).load(lambda fraction: None)
    yield loaded
    loaded.close()


@pytest.fixture(autouse=True)
def empty(decoder: Decoder) -> None:
    for slot in range(decoder.slots):
        decoder.forget(slot, 0)


@pytest.fixture
def prompt(decoder: Decoder) -> TokenIds:
    return decoder.vocabulary.tokenize(PROMPT, special=True, bos=False)


def generate(
    decoder: Decoder,
    prompt: TokenIds,
    sampling: Sampling,
    *,
    count: int = 24,
    seed: int = 1,
    bias: Mapping[int, float] | None = None,
) -> list[int]:
    """The tokens of one sequence in slot 0, decoded alone."""
    decoder.forget(0, 0)
    sampler = decoder.sampler(sampling, seed=seed, prompt=prompt, bias=bias or {})
    tokens, position, pending = list[int](), 0, prompt.tolist()
    while len(tokens) < count:
        decoder.begin()
        row = decoder.add(0, pending, position, rows=1)
        decoder.decode()
        position += len(pending)
        (token,) = decoder.pick([(sampler, row)])
        tokens.append(token)
        if token in decoder.vocabulary.end_ids:
            break
        pending = [token]
    sampler.close()
    return tokens


def text(decoder: Decoder, tokens: list[int]) -> str:
    return b"".join(decoder.vocabulary.spoken(token) for token in tokens).decode()


def test_the_greedy_answer_is_the_model_s_and_repeats_itself(decoder: Decoder, prompt: TokenIds) -> None:
    first = generate(decoder, prompt, Sampling(temperature=0))

    assert text(decoder, first) == "The capital of France is Paris."
    assert first[-1] in decoder.vocabulary.end_ids
    assert generate(decoder, prompt, Sampling(temperature=0)) == first


def test_a_seed_repeats_its_draw_and_another_seed_draws_differently(decoder: Decoder, prompt: TokenIds) -> None:
    hot = Sampling(temperature=1.5, top_k=0, top_p=1.0, min_p=0.0)

    first = generate(decoder, prompt, hot, seed=11)

    assert generate(decoder, prompt, hot, seed=11) == first
    assert generate(decoder, prompt, hot, seed=12) != first


@pytest.mark.parametrize(
    "changed",
    [
        {"repeat_penalty": 1.8},
        {"presence_penalty": 1.9},
        {"frequency_penalty": 1.9},
        {"dry_multiplier": 5.0, "dry_allowed_length": 0},
        {"top_n_sigma": 0.05},
        {"top_k": 1},
        {"typical_p": 0.05},
        {"top_p": 0.05},
        {"min_p": 0.9},
        {"xtc_probability": 1.0, "xtc_threshold": 0.01},
        {"temperature": 0.1},
        {"dynatemp_range": 1.4},
        {"mirostat": 1},
        {"mirostat": 2},
        {"samplers": ("top_k", "top_p")},
        {"samplers": ("temperature", "top_k", "infill"), "top_k": 40},
    ],
    ids=lambda changed: "-".join(changed),
)
def test_every_sampler_changes_what_is_drawn(decoder: Decoder, prompt: TokenIds, changed: Mapping[str, object]) -> None:
    base = {"temperature": 1.5, "top_k": 0, "top_p": 1.0, "min_p": 0.0}

    plain = generate(decoder, prompt, Sampling(**base), seed=5)  # type: ignore[arg-type]  # names of Sampling
    other = generate(decoder, prompt, Sampling(**{**base, **changed}), seed=5)  # type: ignore[arg-type]

    assert other != plain


def test_penalties_look_back_into_the_prompt(decoder: Decoder) -> None:
    prompt = decoder.vocabulary.tokenize("red green blue red green blue red green", special=False, bos=False)
    blue = decoder.vocabulary.tokenize(" blue", special=False, bos=False)[0]
    assert generate(decoder, prompt, Sampling(temperature=0), count=1) == [blue]

    penalised = generate(decoder, prompt, Sampling(temperature=0, repeat_penalty=3.0), count=1)

    assert penalised != [blue]


def test_a_bias_forces_and_bans_tokens(decoder: Decoder, prompt: TokenIds) -> None:
    banned = generate(decoder, prompt, Sampling(temperature=0), count=1)[0]
    forced = 345

    assert generate(decoder, prompt, Sampling(temperature=0), count=1, bias={forced: 100.0}) == [forced]
    assert generate(decoder, prompt, Sampling(), count=1, bias={banned: float("-inf")}) != [banned]


def test_logprobs_are_those_of_the_raw_logits_and_sum_to_one(decoder: Decoder, prompt: TokenIds) -> None:
    decoder.begin()
    row = decoder.add(0, prompt, 0, rows=1)
    decoder.decode()
    (token,) = decoder.pick([(decoder.sampler(Sampling(temperature=0), seed=1, prompt=prompt, bias={}), row)])

    chosen, best = decoder.logprobs(row, token, 20)
    _, everything = decoder.logprobs(row, token, decoder.vocabulary.size)

    assert best[0] == chosen
    assert len(best) == 20
    assert [entry.logprob for entry in best] == sorted((entry.logprob for entry in best), reverse=True)
    assert sum(np.exp([entry.logprob for entry in everything])) == pytest.approx(1.0, abs=1e-4)


@pytest.mark.parametrize("sampling", [Sampling(temperature=1.5), Sampling(mirostat=1), Sampling(mirostat=2)])
def test_telling_of_a_draw_does_not_change_it(decoder: Decoder, prompt: TokenIds, sampling: Sampling) -> None:
    plain = generate(decoder, prompt, sampling, count=8)
    sampler = decoder.sampler(sampling, seed=1, prompt=prompt, bias={}, tells=True)
    told, position, pending = list[int](), 0, prompt.tolist()
    decoder.forget(0, 0)
    while len(told) < len(plain):
        decoder.begin()
        row = decoder.add(0, pending, position, rows=1)
        decoder.decode()
        position += len(pending)
        pending = decoder.pick([(sampler, row)])
        chosen, others = decoder.drawn(sampler, pending[0], decoder.vocabulary.size)
        shares = [float(np.exp(other.logprob)) for other in others]
        assert chosen in others
        assert shares == sorted(shares, reverse=True)
        assert min(shares) > 0
        assert sum(shares) == pytest.approx(1)
        told += pending
    sampler.close()

    assert told == plain


def test_a_draw_knows_only_what_the_samplers_left(decoder: Decoder, prompt: TokenIds) -> None:
    def first(sampling: Sampling) -> list[float]:
        sampler = decoder.sampler(sampling, seed=1, prompt=prompt, bias={}, tells=True)
        decoder.forget(0, 0)
        decoder.begin()
        row = decoder.add(0, prompt, 0, rows=1)
        decoder.decode()
        (token,) = decoder.pick([(sampler, row)])
        _, others = decoder.drawn(sampler, token, 10)
        sampler.close()
        return [float(np.exp(other.logprob)) for other in others]

    assert len(first(Sampling(temperature=3, top_p=1, min_p=0, top_k=0))) == 10
    assert len(first(Sampling(temperature=3, top_p=1, min_p=0, top_k=3))) == 3
    assert first(Sampling(temperature=0)) == [1]
    assert first(Sampling(temperature=0, repeat_penalty=1.1)) == [1]


def test_a_restored_state_continues_as_its_source_does(decoder: Decoder, prompt: TokenIds) -> None:
    expected = generate(decoder, prompt, Sampling(temperature=0))
    decoder.forget(0, len(prompt))

    decoder.restore(2, decoder.save(0), len(prompt) - 1)
    decoder.begin()
    row = decoder.add(2, prompt[-1:], len(prompt) - 1, rows=1)
    decoder.decode()

    greedy = decoder.sampler(Sampling(temperature=0), seed=1, prompt=prompt, bias={})
    assert decoder.pick([(greedy, row)]) == expected[:1]


def test_an_interrupted_batch_leaves_the_memory_as_it_was(decoder: Decoder, prompt: TokenIds) -> None:
    expected = generate(decoder, prompt, Sampling(temperature=0))
    decoder.forget(0, 0)
    decoder.begin()
    decoder.add(0, np.resize(prompt, 512), 0, rows=1)
    timer = threading.Timer(0.05, decoder.interrupt)
    timer.start()

    with pytest.raises(DecodeInterrupted):
        decoder.decode()

    timer.join()
    assert generate(decoder, prompt, Sampling(temperature=0)) == expected


def test_control_tokens_are_text_unless_asked_for_and_say_nothing(decoder: Decoder) -> None:
    vocabulary = decoder.vocabulary
    (start,) = vocabulary.tokenize("<|im_start|>", special=True, bos=False).tolist()

    spelled = vocabulary.tokenize("<|im_start|>", special=False, bos=False).tolist()

    assert start not in spelled
    assert b"".join(vocabulary.piece(token) for token in spelled) == b"<|im_start|>"
    assert vocabulary.piece(start) == b"<|im_start|>"
    assert vocabulary.spoken(start) == b""
    assert "<|im_start|>" in vocabulary.control_texts
    assert vocabulary.chat_template is not None


def test_text_survives_a_round_trip_through_the_vocabulary(decoder: Decoder) -> None:
    for original in ("", "plain words", "naïve café – 漢字 🙂🙂", "tabs\tand\nlines  and   spaces", "\x00\x01"):
        tokens = decoder.vocabulary.tokenize(original, special=False, bos=False).tolist()
        assert b"".join(decoder.vocabulary.piece(token) for token in tokens).decode() == original


def test_the_context_is_what_the_options_say(decoder: Decoder) -> None:
    assert decoder.context_tokens == 1024
    assert decoder.describe()["meta"]["n_vocab"] == decoder.vocabulary.size == 49152
    assert decoder.describe()["meta"]["ftype"] == "Q4_1"


def test_a_file_that_is_no_model_is_refused_in_words(tmp_path: Path) -> None:
    path = tmp_path / "noise.gguf"
    path.write_bytes(b"GGUF" + bytes(range(256)) * 8)

    with pytest.raises(EngineFault, match="could not load the model"):
        LlamaCpp(path, LlamaCppOptions()).load(lambda fraction: None)


def test_the_registry_creates_the_engine_that_a_configuration_names(tmp_path: Path) -> None:
    assert registry.names() == ("llama_cpp", "onnx", "onnx_vision", "upstream")
    assert registry.options_of("llama_cpp") is LlamaCppOptions

    engine = registry.create("llama_cpp", tmp_path / "model.gguf", LlamaCppOptions(slots=2))

    assert isinstance(engine, LlamaCpp)
    assert "temperature" in engine.honours


@pytest.mark.parametrize(
    "penalty",
    [
        {"repeat_penalty": 1.8, "repeat_last_n": -1},
        {"dry_multiplier": 5.0, "dry_allowed_length": 0, "dry_penalty_last_n": -1},
    ],
    ids=["penalties", "dry"],
)
def test_minus_one_looks_back_over_the_whole_context(
    decoder: Decoder, prompt: TokenIds, penalty: Mapping[str, object]
) -> None:
    whole = {**penalty, **{name: decoder.context_tokens for name, value in penalty.items() if value == -1}}

    all_of_it = generate(decoder, prompt, Sampling(temperature=0, **penalty), seed=5)  # type: ignore[arg-type]

    assert all_of_it == generate(decoder, prompt, Sampling(temperature=0, **whole), seed=5)  # type: ignore[arg-type]
    assert all_of_it != generate(decoder, prompt, Sampling(temperature=0), seed=5)


@pytest.mark.parametrize("text", ["a" * 10_001, " " * 10_001, "7" * 10_001, "!" * 10_001, "_" * 10_001])
def test_a_long_run_of_one_kind_is_seen(text: str) -> None:
    assert has_long_run("Hello, " + text + " world")
    assert not has_long_run(" ".join([text[:10_000].replace(" ", "x")] * 3))
