"""One `llama_batch` whose arrays are numpy's: filled by slices, 100 times faster than field by field."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from troth.domain import TokenIds
from troth.engines.llama_cpp.library import Library


class Batch:
    """Tokens of many sequences for one `llama_decode`; holds at most `capacity` tokens."""

    def __init__(self, library: Library, capacity: int) -> None:
        self.capacity = capacity
        self.length = 0
        self.outputs: list[int] = []  # batch index of every output row
        self.starts: dict[int, int] = {}  # the position of each slot's first token in this batch
        self._tokens = np.zeros(capacity, np.int32)
        self._positions = np.zeros(capacity, np.int32)
        self._sequences = np.zeros(capacity, np.int32)
        self._counts = np.ones(capacity, np.int32)
        self._wants = np.zeros(capacity, np.int8)
        # llama.cpp wants a pointer to a list of sequence ids for each token: each points at one number.
        self._addresses = (self._sequences.ctypes.data + 4 * np.arange(capacity, dtype=np.uint64)).astype(np.uint64)
        self._struct = library.api.llama_batch()
        self._struct.token = _pointer(self._tokens, ctypes.c_int32)
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

    @property
    def struct(self) -> Any:
        """The batch as `llama_decode` takes it."""
        self._struct.n_tokens = self.length
        return self._struct


def _pointer(array: npt.NDArray[Any], kind: Any) -> Any:
    return ctypes.cast(array.ctypes.data, ctypes.POINTER(kind))
