"""Texts as vectors and by their relevance: what is asked, what a model reads, and what it gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from troth.domain.media import TokenIds

Values = npt.NDArray[np.float32]  # [sequences, numbers of each]
Item = str | tuple[int, ...]  # a text, or token ids that are taken as they are


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedAsk:
    """What a client wants as vectors."""

    items: tuple[Item, ...]
    is_list: bool  # the client sent a list of items; otherwise one item by itself
    model: str | None = None
    given: frozenset[str] = frozenset()
    prompt_name: str | None = None
    dimensions: int | None = None
    norm: int | None = None  # -1 none, 0 the largest is 32760, p the p-norm; None: as the model is set
    truncate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankAsk:
    """A query, and the documents that a client wants in the order of their relevance."""

    query: str
    documents: tuple[str, ...]
    field: str = "documents"  # of the client's list, for refusals
    model: str | None = None
    given: frozenset[str] = frozenset()
    truncate: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedJob:
    """Items for one engine."""

    items: Sequence[Item]
    truncate: bool = False
    is_list: bool = True
    field: str = "input"

    def name_of(self, index: int) -> str:
        """How a refusal names an item."""
        return f"{self.field}.{index}" if self.is_list else self.field


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankJob:
    """Pairs of a query and a document for one engine."""

    query: str
    documents: Sequence[str]
    truncate: bool = False
    field: str = "documents"

    def name_of(self, index: int) -> str:
        """How a refusal names a document."""
        return f"{self.field}.{index}"


@dataclass(frozen=True, slots=True)
class Reading:
    """One sequence that a model reads as a whole.

    A cut takes tokens away between the first `head` and the last `tail` of them, from the end.
    """

    tokens: TokenIds
    head: int = 0
    tail: int = 0
    types: TokenIds | None = None  # the type of each token, for models that tell two texts apart by it
    cut_from: int | None = None  # its length before it was cut


@dataclass(frozen=True, slots=True)
class Rows:
    """What a model gave for the sequences of one request, in their order."""

    values: Values
    tokens: int  # that were read, all sequences together
    cut_from: tuple[int | None, ...]  # for each sequence its length before it was cut
    queue_seconds: float = 0.0
