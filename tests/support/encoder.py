"""An encoder whose numbers are known, and which can be held up: for tests of what is around it."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from troth.domain.vectors import Item, Reading, Values
from troth.engines.base import LoadProgress, VectorFacts

NOT_A_NUMBER = 666  # a token whose sequence gets no number
BROKEN = 667  # a token whose batch cannot be computed


class SmallEncoder:
    """A letter is a token. The row of a sequence is its length and its first token."""

    vocabulary_size = 1000
    pads = False

    def __init__(self, *, tokens_max: int = 8, batch_tokens: int = 16, batch_sequences: int = 4) -> None:
        self.facts = VectorFacts(tokens_max=tokens_max, dimensions=2)
        self.batch_tokens = batch_tokens
        self.batch_sequences = batch_sequences
        self.batches: list[list[int]] = []  # the first tokens of each
        self.may_compute = threading.Event()
        self.may_compute.set()
        self.is_closed = False

    def read(self, items: Sequence[Item]) -> list[Reading]:
        """A text is 1, its letters, 2; ids are as they are."""
        return [
            Reading(np.array([1, *map(ord, item), 2], np.int32), 1, 1)
            if isinstance(item, str)
            else Reading(np.array(item, np.int32))
            for item in items
        ]

    def pair(self, query: str, documents: Sequence[str]) -> list[Reading]:
        """1, the query, 2, a document, 2."""
        head = [1, *map(ord, query), 2]
        return [Reading(np.array([*head, *map(ord, document), 2], np.int32), len(head), 1) for document in documents]

    def encode(self, batch: Sequence[Reading]) -> Values:
        """The rows, once they may be computed."""
        self.may_compute.wait(30)
        tokens = [reading.tokens for reading in batch]
        self.batches.append([int(each[0]) for each in tokens])
        if any(BROKEN in each for each in tokens):
            raise RuntimeError("broken")
        rows = np.array([[len(each), each[0]] for each in tokens], np.float32)
        rows[[NOT_A_NUMBER in each for each in tokens]] = np.nan
        return rows

    def describe(self) -> Mapping[str, Any]:
        """Nothing to tell."""
        return {}

    def close(self) -> None:
        """Noted."""
        self.is_closed = True


class SmallEngine:
    """An `Encodes` with this encoder, or with a fault at load."""

    honours = frozenset({"model", "input"})

    def __init__(self, encoder: SmallEncoder, fault: Exception | None = None) -> None:
        self.encoder = encoder
        self._fault = fault

    def open(self, progress: LoadProgress) -> SmallEncoder:
        """The encoder."""
        progress(0.5)
        if self._fault is not None:
            raise self._fault
        return self.encoder
