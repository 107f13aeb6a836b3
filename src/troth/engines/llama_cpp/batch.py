"""One `llama_batch` whose arrays are numpy's: filled by slices, 100 times faster than field by field.

It holds tokens of any sequences, or embeddings of one: llama.cpp takes no batch with both in it.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from troth.domain import Embeddings, TokenIds
from troth.engines.llama_cpp.library import Library


class Batch:
    """Tokens of many sequences for one `llama_decode`; holds at most `capacity` tokens."""

    def __init__(self, library: Library, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.outputs: list[int] = []  # batch index of every output row
        self.starts: dict[int, int] = {}  # the position of each slot's first token in this batch
        self.seen: Embeddings | None = None  # what is computed instead of tokens
        self.is_whole = False  # each row of it looks at all of them
        self._tokens = np.zeros(capacity, np.int32)
        self._positions = np.zeros(capacity, np.int32)
        self._sequences = np.zeros(capacity, np.int32)
        self._counts = np.ones(capacity, np.int32)
        self._wants = np.zeros(capacity, np.int8)
        # llama.cpp wants a pointer to a list of sequence ids for each token: each points at one number.
        self._addresses = (self._sequences.ctypes.data + 4 * np.arange(capacity, dtype=np.uint64)).astype(np.uint64)
        self._struct = library.api.llama_batch()
        self._token_pointer = _pointer(self._tokens, ctypes.c_int32)
        self._struct.token = self._token_pointer
        self._struct.embd = None
        self._struct.pos = _pointer(self._positions, ctypes.c_int32)
        self._struct.n_seq_id = _pointer(self._counts, ctypes.c_int32)
        self._struct.seq_id = _pointer(self._addresses, ctypes.POINTER(ctypes.c_int32))
        self._struct.logits = _pointer(self._wants, ctypes.c_int8)

    def clear(self) -> None:
        """The batch is empty."""
        self.length = 0
        self.outputs.clear()
        self.starts.clear()
        self.seen, self.is_whole = None, False

    def add(self, slot: int, tokens: TokenIds | Sequence[int], position: int, rows: int) -> int:
        """The tokens are in the batch. Returns the output row of the first of the last `rows`, or -1."""
        start, end = self.length, self.length + len(tokens)
        assert end <= self.capacity
        assert rows <= len(tokens)
        if end - start == 1:  # nearly always: the next token of a sequence that speaks
            self._tokens[start], self._positions[start] = tokens[0], position
            self._sequences[start], self._wants[start] = slot, rows
        else:
            self._tokens[start:end] = tokens
            self._positions[start:end] = np.arange(position, position + len(tokens), dtype=np.int32)
            self._sequences[start:end] = slot
            self._wants[start : end - rows] = 0
            self._wants[end - rows : end] = 1
        self.length = end
        self.starts[slot] = position
        if rows == 0:
            return -1
        self.outputs.extend(range(end - rows, end))
        return len(self.outputs) - rows

    def add_seen(self, slot: int, embeddings: Embeddings, position: int, rows: int, *, is_whole: bool) -> int:
        """The embeddings, [tokens, width], are the batch. Otherwise as `add`."""
        assert self.length == 0, "embeddings are alone in their batch"
        row = self.add(slot, np.zeros(len(embeddings), np.int32), position, rows)
        self.seen = np.ascontiguousarray(embeddings, np.float32)
        self.is_whole = is_whole
        return row

    @property
    def struct(self) -> Any:
        """The batch as `llama_decode` takes it."""
        self._struct.n_tokens = self.length
        if self.seen is None:
            self._struct.token, self._struct.embd = self._token_pointer, None
        else:
            self._struct.token, self._struct.embd = None, _pointer(self.seen, ctypes.c_float)
        return self._struct


def _pointer(array: npt.NDArray[Any], kind: Any) -> Any:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))
