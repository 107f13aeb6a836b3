"""The encoder of the llama_cpp engine: one model, one context, many whole sequences at once."""

from __future__ import annotations

import ctypes
import mmap
import os
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from troth.domain import TokenIds
from troth.domain.vectors import Item, Reading, Values
from troth.engines.base import LoadProgress, VectorFacts
from troth.engines.llama_cpp.batch import Batch
from troth.engines.llama_cpp.facts import describe_model, metadata
from troth.engines.llama_cpp.library import library
from troth.engines.llama_cpp.loading import load_model
from troth.engines.llama_cpp.vectors import LlamaEmbeddingOptions, LlamaVectorOptions
from troth.engines.llama_cpp.vocabulary import LlamaVocabulary
from troth.engines.probing import batch_difference
from troth.errors import EngineFault

CONTEXT_TOKENS_DEFAULT_MAX = 8192
POOLINGS = {"mean": 1, "cls": 2, "last": 3, "rank": 4}  # llama_pooling_type
NAMES = {number: name for name, number in POOLINGS.items()}
RANK = POOLINGS["rank"]
HEAD_TENSORS = (b"cls.weight", b"cls.output.weight")
HEADER_BYTES_MAX = 64 << 20  # names of tensors stand at the beginning of a file, after the vocabulary
SHARES = frozenset({"qwen3", "qwen3vl"})  # llama.cpp applies a softmax to the scores of these


class LlamaEncoder:
    """See `Encoder` in `engines/base.py`. Every sequence of a batch is one of llama.cpp's."""

    pads = False

    def __init__(self, path: Path, options: LlamaVectorOptions, kind: str, progress: LoadProgress) -> None:
        """`kind` is embedding or rerank. Raises EngineFault when the file is no model of the kind."""
        self._library = library(exact=False)
        self._api = self._library.api
        self._model = load_model(self._library, path, options, progress)
        self._vocabulary = LlamaVocabulary(self._library, self._model)
        self._context: Any = None
        try:
            self._open(path, options, kind)
        except Exception:
            self.close()
            raise

    def _open(self, path: Path, options: LlamaVectorOptions, kind: str) -> None:
        api = self._api
        architecture = metadata(api, self._model, "general.architecture")
        pooling = _pooling(metadata(api, self._model, f"{architecture}.pooling_type"), path, options, kind)
        self.facts = self._facts_of(options, architecture, pooling, path)
        self.batch_tokens = options.batch_tokens
        self._capacity = max(options.batch_tokens, self.facts.tokens_max)  # a longer sequence is a batch by itself
        self.batch_sequences = min(options.batch_sequences, api.llama_max_parallel_sequences())
        self.vocabulary_size = self._vocabulary.size
        self._context = self._make_context(options, pooling)
        memory = api.llama_get_memory(self._context)
        self._memory = ctypes.c_void_p(memory) if memory else None
        self._batch = Batch(self._library, self._capacity)
        template = api.llama_model_chat_template(self._model, b"rerank")
        self._template = template.decode("utf-8", "replace") if template else None
        self._head, self._tail = self._around()
        # Besides, the memory of the largest batch is taken now.
        difference = batch_difference(self.encode, self.vocabulary_size, self.facts.tokens_max, self.batch_sequences)
        self._told = describe_model(self._library, self._model, path, options) | {
            "pooling": self.facts.pooling,
            "dimensions": self.facts.dimensions,
            "determinism": {
                "promised": self.batch_sequences == 1 or difference == 0,
                "difference_in_a_batch": difference,
            },
        }

    def _facts_of(self, options: LlamaVectorOptions, architecture: str, pooling: int, path: Path) -> VectorFacts:
        api, model = self._api, self._model
        trained: int = api.llama_model_n_ctx_train(model)
        wanted = options.context_tokens or min(trained, CONTEXT_TOKENS_DEFAULT_MAX)
        if wanted > trained:
            raise EngineFault(f"{path.name} reads {trained} tokens at most; options.context_tokens is {wanted}.")
        if pooling != RANK:
            normalizes = isinstance(options, LlamaEmbeddingOptions) and options.normalize
            width: int = api.llama_model_n_embd_out(model)
            return VectorFacts(
                tokens_max=wanted, dimensions=width, pooling=NAMES.get(pooling, str(pooling)), normalizes=normalizes
            )
        classes: int = api.llama_model_n_cls_out(model)
        if classes > 1 and architecture not in SHARES:
            raise EngineFault(f"{path.name} sorts texts into {classes} classes; a model of relevance has one score.")
        return VectorFacts(tokens_max=wanted, dimensions=classes, pooling="rank", gives_shares=architecture in SHARES)

    def _make_context(self, options: LlamaVectorOptions, pooling: int) -> Any:
        api = self._api
        params = api.llama_context_default_params()
        params.n_ctx = params.n_batch = params.n_ubatch = self._capacity
        params.n_seq_max = self.batch_sequences
        params.n_threads = params.n_threads_batch = options.threads or len(os.sched_getaffinity(0))
        params.flash_attn_type = 1 if options.flash_attention else 0
        params.embeddings = True
        params.pooling_type = pooling
        params.kv_unified = True
        params.no_perf = True
        context = api.llama_init_from_model(self._model, params)
        if not context:
            words = self._library.last_error() or "probably out of memory"
            raise EngineFault(f"llama.cpp could not make a context of {self._capacity} tokens: {words}")
        return context

    # ---- reading --------------------------------------------------------------------------------

    def _around(self) -> tuple[int, int]:
        """How many tokens the model puts before a text, and how many behind it."""
        around = len(self._vocabulary.tokenize("", special=True, bos=True))
        head = 1 if self._vocabulary.adds_bos and around else 0
        return head, around - head

    def read(self, items: Sequence[Item]) -> list[Reading]:
        """Each item as the model reads it; see `Encoder`."""
        return [self._text(item) if isinstance(item, str) else Reading(np.array(item, np.int32)) for item in items]

    def _text(self, text: str) -> Reading:
        tokens = self._vocabulary.tokenize(text, special=True, bos=True)
        if self._head and len(tokens) > 1 and tokens[1] == tokens[0]:
            tokens = tokens[1:]  # the text began with it already
        return Reading(tokens, self._head, self._tail)

    def pair(self, query: str, documents: Sequence[str]) -> list[Reading]:
        """The query with each document, in the model's own template or as llama-server joins them."""
        with self._vocabulary.in_use():
            if self._template is not None:
                return [self._templated(self._template, query, document) for document in documents]
            return self._joined(query, documents)

    def _joined(self, query: str, documents: Sequence[str]) -> list[Reading]:
        api, vocab = self._api, self._api.llama_model_get_vocab(self._model)
        end: int = api.llama_vocab_eos(vocab)
        if end < 0:
            end = api.llama_vocab_sep(vocab)
        begins = [api.llama_vocab_bos(vocab)] if api.llama_vocab_get_add_bos(vocab) else []
        ends = [end] if api.llama_vocab_get_add_eos(vocab) else []
        parts = [api.llama_vocab_sep(vocab)] if api.llama_vocab_get_add_sep(vocab) else []
        asked = self._vocabulary.tokenize(query, special=False, bos=False)
        head = np.concatenate([np.array(begins, np.int32), asked, np.array([*ends, *parts], np.int32)])
        tail = np.array(ends or parts, np.int32)
        read = (self._vocabulary.tokenize(document, special=False, bos=False) for document in documents)
        return [Reading(np.concatenate([head, each, tail]), len(head), len(tail)) for each in read]

    def _templated(self, template: str, query: str, document: str) -> Reading:
        """The template filled in. Where a text has the form of a control token, it is read by itself, as text."""
        before, _, behind = template.partition("{document}")
        before, behind = (part.replace("{query}", "\0").replace("{document}", "\1") for part in (before, behind))
        parts = [part for part in _split(before + "\1" + behind) if part]
        texts = {"\0": query, "\1": document}
        tail = len(self._vocabulary.tokenize(behind, special=True, bos=False))
        if any(control in text for text in texts.values() for control in self._vocabulary.control_texts):
            read = [
                self._vocabulary.tokenize(texts.get(part, part), special=part not in texts, bos=False) for part in parts
            ]
            tokens: TokenIds = np.concatenate(read)
        else:
            filled = "".join(texts.get(part, part) for part in parts)
            tokens = self._vocabulary.tokenize(filled, special=True, bos=False)
        length = len(self._vocabulary.tokenize(document, special=False, bos=False))
        return Reading(tokens, max(len(tokens) - tail - length, 0), tail)

    # ---- computing ------------------------------------------------------------------------------

    def encode(self, batch: Sequence[Reading]) -> Values:
        """A row for each sequence. Raises EngineFault when llama.cpp cannot compute the batch."""
        api = self._api
        self._batch.clear()
        for index, reading in enumerate(batch):
            self._batch.add(index, reading.tokens, 0, len(reading.tokens))
        if self._memory is None:
            code = api.llama_encode(self._context, self._batch.struct)
        else:
            api.llama_memory_clear(self._memory, True)
            code = api.llama_decode(self._context, self._batch.struct)
        if code != 0:
            raise EngineFault(f"llama.cpp returned {code}: {self._library.last_error()}")
        rows = np.empty((len(batch), self.facts.dimensions), np.float32)
        for index in range(len(batch)):
            address = api.llama_get_embeddings_seq(self._context, index)
            rows[index] = np.ctypeslib.as_array(address, (self.facts.dimensions,))
        return rows

    def describe(self) -> Mapping[str, Any]:
        """The model's facts, JSON-ready."""
        return self._told

    def close(self) -> None:
        """All memory is given back, once nobody reads with it. Safe to call twice."""
        self._vocabulary.close()
        if self._context:
            self._api.llama_free(self._context)
            self._context = None
        if self._model:
            self._api.llama_model_free(self._model)
            self._model = None


def _split(template: str) -> list[str]:
    """The template's own text and the two places to fill in, one after the other."""
    parts = [""]
    for letter in template:
        if letter in "\0\1":
            parts += [letter, ""]
        else:
            parts[-1] += letter
    return parts


def _pooling(said: str, path: Path, options: LlamaVectorOptions, kind: str) -> int:
    """The pooling in force, of the file or of the operator. Raises EngineFault when the file is not of the kind."""
    of_file = int(said) if said.isdigit() else 0
    if kind == "rerank":
        if of_file != RANK and not has_rank_head(path):
            raise EngineFault(
                f"{path.name} has no rank head (no pooling type {RANK} and no tensor cls.weight or cls.output.weight): "
                "it cannot tell relevance."
            )
        return RANK
    chosen = options.pooling if isinstance(options, LlamaEmbeddingOptions) else None
    if chosen is not None:
        return POOLINGS[chosen]
    if of_file == RANK:
        raise EngineFault(f"{path.name} is a model of relevance: serve it with kind: rerank.")
    if of_file == 0:
        raise EngineFault(
            f"{path.name} does not say how its vectors are pooled, so it may be no embedding model. "
            "If it is one, set options.pooling to mean, cls or last, as its makers say."
        )
    return of_file


def has_rank_head(path: Path) -> bool:
    """True when the header of the GGUF file names a tensor of a rank head."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        names = (struct.pack("<Q", len(name)) + name for name in HEAD_TENSORS)
        return any(content.find(name, 0, HEADER_BYTES_MAX) >= 0 for name in names)
