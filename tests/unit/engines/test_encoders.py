"""Models of vectors and of relevance on both engines: real weights, the same for both."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from tests.support.bert_gguf import write_gguf
from tests.support.sentences import PAIRS, QUESTIONS
from tests.support.vector_models import Files, fetched
from troth.domain.vectors import Values
from troth.engines.base import TextEncoder
from troth.engines.llama_cpp.vectors import LlamaEmbeddingOptions, LlamaVectorOptions, LlamaVectors
from troth.engines.onnx import Onnx, OnnxEmbeddingOptions, OnnxOptions
from troth.errors import EngineFault

KINDS = ("embedding", "rerank")
TEXTS = [text for pair in PAIRS for text in pair]


def unheeded(_: float) -> None:
    """Nobody watches the load."""


@pytest.fixture(scope="module")
def files() -> Mapping[str, Files]:
    return {kind: fetched(kind) for kind in KINDS}


@pytest.fixture(scope="module")
def converted(files: Mapping[str, Files], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The same models as GGUF files."""
    folder = tmp_path_factory.mktemp("gguf")
    return {kind: write_gguf(files[kind], kind, folder / f"{kind}.gguf") for kind in KINDS}


def onnx(files: Mapping[str, Files], kind: str, options: OnnxOptions) -> TextEncoder:
    return Onnx(files[kind].model, files[kind].tokenizer, options, kind).open(unheeded)


@pytest.fixture(scope="module")
def encoders(files: Mapping[str, Files], converted: Mapping[str, Path]) -> Mapping[tuple[str, str], TextEncoder]:
    """By engine and kind."""
    pooled = OnnxEmbeddingOptions(pooling="cls", threads=2)
    of_vectors, of_relevance = LlamaEmbeddingOptions(threads=2), LlamaVectorOptions(threads=2)
    return {
        ("onnx", "embedding"): onnx(files, "embedding", pooled),
        ("onnx", "rerank"): onnx(files, "rerank", OnnxOptions(threads=2)),
        ("llama_cpp", "embedding"): LlamaVectors(converted["embedding"], of_vectors, "embedding").open(unheeded),
        ("llama_cpp", "rerank"): LlamaVectors(converted["rerank"], of_relevance, "rerank").open(unheeded),
    }


def vectors(encoder: TextEncoder, texts: list[str]) -> Values:
    """A vector of length 1 for each text, computed alone."""
    rows = np.vstack([encoder.encode([reading]) for reading in encoder.read(texts)])
    unit: Values = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit


@pytest.fixture(scope="module")
def by_engine(encoders: Mapping[tuple[str, str], TextEncoder]) -> Mapping[str, Values]:
    """The vectors of all sentences."""
    return {name: vectors(encoders[name, "embedding"], TEXTS) for name in ("onnx", "llama_cpp")}


def test_both_engines_read_texts_as_the_same_tokens(encoders: Mapping[tuple[str, str], TextEncoder]) -> None:
    odd = [*TEXTS, "Ünïcödé Straße 你好 naïve!", "[CLS] a [SEP] b", "Don't stop—believing 3.14", " "]
    one, other = (encoders[name, "embedding"].read(odd) for name in ("onnx", "llama_cpp"))

    assert [each.tokens.tolist() for each in one] == [each.tokens.tolist() for each in other]
    assert [(each.head, each.tail) for each in one[:-1]] == [(each.head, each.tail) for each in other[:-1]]


def test_both_engines_join_pairs_alike_and_read_control_tokens_in_them_as_text(
    encoders: Mapping[tuple[str, str], TextEncoder],
) -> None:
    documents = ["A cat.", "[SEP] not a mark [CLS]"]
    one, other = (encoders[name, "rerank"].pair("Who? [MASK]", documents) for name in ("onnx", "llama_cpp"))

    assert [(each.tokens.tolist(), each.head, each.tail) for each in one] == [
        (each.tokens.tolist(), each.head, each.tail) for each in other
    ]
    assert [each.tokens.tolist().count(102) for each in one] == [2, 2]


def test_llama_cpp_gives_nearly_the_vectors_of_the_onnx_model(by_engine: Mapping[str, Values]) -> None:
    """The ONNX model rounds its numbers to 8 bits on the way, so the same weights give not quite the same."""
    alike = (by_engine["onnx"] * by_engine["llama_cpp"]).sum(axis=1)

    assert len(alike) == 100
    assert alike.min() > 0.99


@pytest.mark.parametrize("engine", ["onnx", "llama_cpp"])
def test_the_nearest_sentence_is_the_one_that_means_the_same(engine: str, by_engine: Mapping[str, Values]) -> None:
    near = by_engine[engine] @ by_engine[engine].T
    np.fill_diagonal(near, -1)
    partner = np.arange(len(TEXTS)) ^ 1

    assert (near.argmax(axis=1) == partner).mean() > 0.95


def test_both_engines_put_documents_in_the_same_order(encoders: Mapping[tuple[str, str], TextEncoder]) -> None:
    """The first is the answer everywhere. Of two texts that are both beside the point the scores are all but equal."""
    for question, documents in QUESTIONS:
        scores = {}
        for name in ("onnx", "llama_cpp"):
            encoder = encoders[name, "rerank"]
            scores[name] = np.concatenate([encoder.encode([each])[:, 0] for each in encoder.pair(question, documents)])
        orders = {name: [int(index) for index in np.argsort(-each)] for name, each in scores.items()}

        assert orders["onnx"][0] == orders["llama_cpp"][0] == 0, question


def test_a_vector_of_llama_cpp_depends_on_its_batch_by_rounding_only(
    encoders: Mapping[tuple[str, str], TextEncoder],
) -> None:
    encoder = encoders["llama_cpp", "embedding"]
    readings = encoder.read(TEXTS[:20])
    together = encoder.encode(readings)
    alone = np.vstack([encoder.encode([each]) for each in readings])

    assert encoder.describe()["determinism"]["difference_in_a_batch"] < 1e-2
    assert np.linalg.norm(together - alone, axis=1).max() < 1e-2 * np.linalg.norm(alone, axis=1).min()


def test_llama_cpp_computes_each_text_alone_when_told_to(converted: Mapping[str, Path]) -> None:
    options = LlamaEmbeddingOptions(batch_sequences=1, threads=2)
    encoder = LlamaVectors(converted["embedding"], options, "embedding").open(unheeded)

    assert encoder.batch_sequences == 1
    assert encoder.describe()["determinism"] == {"promised": True, "difference_in_a_batch": 0.0}
    encoder.close()


def test_a_model_in_8_bits_computes_each_text_alone_unless_told_otherwise(
    files: Mapping[str, Files], encoders: Mapping[tuple[str, str], TextEncoder]
) -> None:
    told = onnx(files, "embedding", OnnxEmbeddingOptions(pooling="cls", batch_sequences=8, threads=2))

    assert encoders["onnx", "embedding"].batch_sequences == 1
    assert encoders["onnx", "embedding"].describe()["determinism"]["promised"] is True
    assert told.batch_sequences == 8
    assert told.describe()["determinism"]["promised"] is False


def test_a_batch_of_onnx_is_padded_without_changing_much(encoders: Mapping[tuple[str, str], TextEncoder]) -> None:
    encoder = encoders["onnx", "embedding"]
    together = encoder.encode(encoder.read(TEXTS[:20]))
    together = together / np.linalg.norm(together, axis=1, keepdims=True)

    assert (together * vectors(encoder, TEXTS[:20])).sum(axis=1).min() > 0.97


def test_the_longest_text_is_read(encoders: Mapping[tuple[str, str], TextEncoder]) -> None:
    for (_, kind), encoder in encoders.items():
        tokens = np.full(encoder.facts.tokens_max, 2000, np.int32)
        (reading,) = encoder.read([tuple(tokens.tolist())]) if kind == "embedding" else encoder.pair("a", ["b " * 508])

        assert len(reading.tokens) == 512
        assert np.isfinite(encoder.encode([reading])).all()


# ---- files that are not of the kind ---------------------------------------------------------------


def test_a_chat_model_is_no_embedding_model_unless_the_operator_says_so(embedded_model: Path) -> None:
    with pytest.raises(EngineFault, match=r"does not say how its vectors are pooled.*options\.pooling"):
        LlamaVectors(embedded_model, LlamaEmbeddingOptions(threads=2), "embedding").open(unheeded)
    options = LlamaEmbeddingOptions(pooling="mean", context_tokens=64, batch_tokens=64, threads=2)
    encoder = LlamaVectors(embedded_model, options, "embedding").open(unheeded)
    rows = encoder.encode(encoder.read(["A cat.", "A dog.", "A cat."]))

    assert encoder.facts.pooling == "mean"
    assert np.allclose(rows[0], rows[2], rtol=1e-3)
    assert not np.allclose(rows[0], rows[1], rtol=1e-3)
    encoder.close()


@pytest.mark.parametrize("kind", ["embedding", "chat"])
def test_a_model_without_a_rank_head_is_no_reranker(
    kind: str, converted: Mapping[str, Path], embedded_model: Path
) -> None:
    path = embedded_model if kind == "chat" else converted[kind]
    with pytest.raises(EngineFault, match="has no rank head"):
        LlamaVectors(path, LlamaVectorOptions(threads=2), "rerank").open(unheeded)


def test_a_reranker_is_no_embedding_model(converted: Mapping[str, Path]) -> None:
    with pytest.raises(EngineFault, match="serve it with kind: rerank"):
        LlamaVectors(converted["rerank"], LlamaEmbeddingOptions(threads=2), "embedding").open(unheeded)


def test_more_context_than_the_model_has_is_refused(converted: Mapping[str, Path], files: Mapping[str, Files]) -> None:
    options = LlamaEmbeddingOptions(context_tokens=513, threads=2)
    with pytest.raises(EngineFault, match=r"reads 512 tokens at most; options\.context_tokens is 513"):
        LlamaVectors(converted["embedding"], options, "embedding").open(unheeded)
    with pytest.raises(EngineFault, match=r"could not read 513 tokens.*options\.context_tokens"):
        onnx(files, "embedding", OnnxEmbeddingOptions(pooling="cls", context_tokens=513, threads=2))


def test_an_onnx_model_of_tokens_needs_a_pooling(files: Mapping[str, Files]) -> None:
    with pytest.raises(EngineFault, match=r"a vector for every token: set options\.pooling"):
        onnx(files, "embedding", OnnxEmbeddingOptions(threads=2))


def test_an_onnx_model_of_vectors_is_no_reranker_nor_the_other_way_round(files: Mapping[str, Files]) -> None:
    with pytest.raises(EngineFault, match="a model of relevance gives one score"):
        Onnx(files["embedding"].model, files["embedding"].tokenizer, OnnxOptions(threads=2), "rerank").open(unheeded)
    options = OnnxEmbeddingOptions(pooling="cls", threads=2)
    with pytest.raises(EngineFault, match="pooled already"):
        Onnx(files["rerank"].model, files["rerank"].tokenizer, options, "embedding").open(unheeded)
