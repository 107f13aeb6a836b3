"""The encoder of the onnx engine: one session, batches padded to their longest sequence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from troth.domain.vectors import Item, Reading, Values
from troth.engines.base import LoadProgress, VectorFacts
from troth.engines.onnx.options import OnnxClassifierOptions, OnnxEmbeddingOptions
from troth.engines.onnx.session import LOADED_SHARE, missing, opened, shapes
from troth.engines.probing import SAME, batch_difference
from troth.errors import EngineFault

if TYPE_CHECKING:
    from troth.engines.onnx import Onnx

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
POOLED = "sentence_embedding"  # what exporters call the output that is pooled already
POOLINGS = {"rerank": "rank", "moderation": "labels"}  # of kinds that have no choice
BATCH_SEQUENCES = 64  # where nothing speaks against it


class OnnxEncoder:
    """See `Encoder` in `engines/base.py`."""

    pads = True

    def __init__(self, engine: Onnx, progress: LoadProgress) -> None:
        """Raises EngineFault when the libraries are missing, or the file is no model of the kind."""
        try:
            import tokenizers
        except ImportError as error:
            raise missing(error) from error
        options = engine.options
        self._name, self._kind = engine.path.name, engine.kind
        self._tokenizer = tokenizers.Tokenizer.from_file(str(engine.tokenizer))
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        # Control tokens in texts are text, but for vectors, where they may be part of a model's prompts.
        self._tokenizer.encode_special_tokens = engine.kind != "embedding"
        self.vocabulary_size = self._tokenizer.get_vocab_size()
        runtime, self._session = opened(engine.path, options.threads)
        progress(LOADED_SHARE)
        self._inputs = self._input_names()
        self._pooling = options.pooling if isinstance(options, OnnxEmbeddingOptions) else None
        self._labels = len(options.labels) if isinstance(options, OnnxClassifierOptions) else 1
        self._output, width = self._output_of(self._pooling)
        self.facts = VectorFacts(
            tokens_max=options.context_tokens,
            dimensions=width,
            pooling=POOLINGS.get(engine.kind) or self._pooling or "model",
            normalizes=isinstance(options, OnnxEmbeddingOptions) and options.normalize,
        )
        self.batch_tokens = options.batch_tokens
        self._try_longest()
        difference = batch_difference(self.encode, self.vocabulary_size, options.context_tokens)
        chosen = options.batch_sequences or (BATCH_SEQUENCES if difference < SAME else 1)
        self.batch_sequences = chosen
        self._told = {
            "file": self._name,
            "build": f"onnxruntime {runtime}",
            "pooling": self.facts.pooling,
            "dimensions": width,
            "meta": {"n_vocab": self.vocabulary_size, "n_embd": width, "size": engine.path.stat().st_size},
            "settings": options.model_dump() | {"batch_sequences": chosen},
            "determinism": {"promised": chosen == 1 or difference == 0, "difference_in_a_batch": difference},
        }
        progress(1.0)

    def _input_names(self) -> tuple[str, ...]:
        names = tuple(each.name for each in self._session.get_inputs())
        if unknown := [name for name in names if name not in INPUTS]:
            raise EngineFault(
                f"{self._name} wants {', '.join(unknown)}; models that read {', '.join(INPUTS)} are served."
            )
        return names

    def _output_of(self, pooling: str | None) -> tuple[str, int]:
        """The output that is read, and the numbers of a row of it."""
        outputs = {each.name: each.shape for each in self._session.get_outputs()}
        ranks = {name: len(shape) for name, shape in outputs.items()}
        if self._kind in POOLINGS:
            name = next((name for name, rank in ranks.items() if rank == 2), None)
            if name is None or outputs[name][-1] != self._labels:
                wanted_words = (
                    "a model of relevance gives one score"
                    if self._kind == "rerank"
                    else f"options.labels names {self._labels}, and there is to be a number for each"
                )
                raise EngineFault(f"{self._name} gives {shapes(outputs)}; {wanted_words}.")
            return name, self._labels
        wanted = 2 if pooling is None else 3
        fitting = [name for name, rank in ranks.items() if rank == wanted]
        if not fitting:
            cure = (
                "it gives a vector for every token: set options.pooling to mean, cls or last, as its makers say"
                if pooling is None
                else "its vectors are pooled already: leave out options.pooling"
            )
            raise EngineFault(f"{self._name} gives {shapes(outputs)}; {cure}.")
        name = POOLED if POOLED in fitting else fitting[0]
        width = outputs[name][-1]
        if not isinstance(width, int):
            raise EngineFault(f"{self._name} does not say how many numbers a vector of {name} has.")
        return name, width

    def _try_longest(self) -> None:
        """A text of the longest length is computed, so that none fails later."""
        try:
            self.encode([Reading(np.ones(self.facts.tokens_max, np.int32))])
        except Exception as error:  # the library's boundary: its faults have no class in common
            raise EngineFault(
                f"{self._name} could not read {self.facts.tokens_max} tokens; if that is more than it was made for, "
                f"lower options.context_tokens. onnxruntime says: {error}"
            ) from error

    # ---- reading --------------------------------------------------------------------------------

    def read(self, items: Sequence[Item]) -> list[Reading]:
        """Each item as the model reads it; see `Encoder`."""
        texts = iter(self._tokenizer.encode_batch([item for item in items if isinstance(item, str)]))
        return [_reading(next(texts)) if isinstance(item, str) else Reading(np.array(item, np.int32)) for item in items]

    def pair(self, query: str, documents: Sequence[str]) -> list[Reading]:
        """The query with each document, joined as tokenizer.json says."""
        return [_pair(each) for each in self._tokenizer.encode_batch([(query, document) for document in documents])]

    # ---- computing ------------------------------------------------------------------------------

    def encode(self, batch: Sequence[Reading]) -> Values:
        """A row for each sequence."""
        lengths = np.array([len(reading.tokens) for reading in batch])
        shape = (len(batch), int(lengths.max()))
        ids, types = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for row, reading in enumerate(batch):
            ids[row, : lengths[row]] = reading.tokens
            if reading.types is not None:
                types[row, : lengths[row]] = reading.types
        mask = (np.arange(shape[1]) < lengths[:, None]).astype(np.int64)
        given = dict(zip(INPUTS, (ids, mask, types), strict=True))
        (found,) = self._session.run([self._output], {name: given[name] for name in self._inputs})
        return _pooled(found, mask, lengths, self._pooling)

    def describe(self) -> Mapping[str, Any]:
        """The model's facts, JSON-ready."""
        return self._told

    def close(self) -> None:
        """The session is given up, and with it its memory."""
        self._session = None


def _reading(encoding: Any) -> Reading:
    """A text's tokens, with what the model puts around it once, also where the text began with it already."""
    tokens, added = np.array(encoding.ids, np.int32), np.array(encoding.special_tokens_mask, bool)
    types = np.array(encoding.type_ids, np.int32)
    own = np.flatnonzero(~added)
    head, tail = (int(own[0]), len(tokens) - 1 - int(own[-1])) if len(own) else (len(tokens), 0)
    if head and len(own) and tokens[head] == tokens[0]:
        kept = np.r_[0:head, head + 1 : len(tokens)]
        tokens, types = tokens[kept], types[kept]
    return Reading(tokens, head, tail, types)


def _pair(encoding: Any) -> Reading:
    """A pair's tokens; all but the second text stays when they are cut."""
    tokens, types = np.array(encoding.ids, np.int32), np.array(encoding.type_ids, np.int32)
    second = [index for index, part in enumerate(encoding.sequence_ids) if part == 1]
    head, tail = (second[0], len(tokens) - 1 - second[-1]) if second else (len(tokens), 0)
    return Reading(tokens, head, tail, types)


def _pooled(
    found: npt.NDArray[np.float32], mask: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64], pooling: str | None
) -> Values:
    """The vector of each sequence, of those of its tokens."""
    if pooling == "cls":
        found = found[:, 0]
    elif pooling == "last":
        found = found[np.arange(len(lengths)), lengths - 1]
    elif pooling == "mean":
        found = (found * mask[:, :, None]).sum(axis=1) / lengths[:, None]
    return np.asarray(found, np.float32)
