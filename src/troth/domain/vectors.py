"""Texts as vectors and by their relevance, and pictures as classifiers see them: what is asked, read and given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from troth.domain.media import TokenIds

Values = npt.NDArray[np.float32]  # [sequences, numbers of each]
Planes = npt.NDArray[np.float32]  # [height, width, 3]: a picture as a classifier looks at it
Resample = Literal["nearest", "bilinear", "bicubic", "lanczos"]
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
    may_truncate: bool = True  # the client could have asked for it

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


@dataclass(frozen=True, slots=True, kw_only=True)
class PictureForm:
    """How a classifier wants to be shown a picture; names are those of preprocessor_config.json."""

    height: int
    width: int
    resize: int | None  # what it is scaled to before its middle is taken; None: it is scaled to height × width
    keep_ratio: bool  # its shorter side is scaled to `resize`, the other one with it
    resample: Resample
    is_bgr: bool  # the order of the channels, and of the two below
    rescale_factor: float  # of values from 0 to 255
    image_mean: tuple[float, float, float]  # taken off after that
    image_std: tuple[float, float, float]  # what is left is divided by it


@dataclass(frozen=True, slots=True)
class Reading:
    """One sequence that a model reads as a whole, or one picture that it looks at.

    A cut takes tokens away between the first `head` and the last `tail` of them, from the end.
    """

    tokens: TokenIds
    head: int = 0
    tail: int = 0
    types: TokenIds | None = None  # the type of each token, for models that tell two texts apart by it
    cut_from: int | None = None  # its length before it was cut
    planes: Planes | None = None  # the picture; then there are no tokens


@dataclass(frozen=True, slots=True)
class Rows:
    """What a model gave for the sequences of one request, in their order."""

    values: Values
    tokens: int  # that were read, all sequences together
    cut_from: tuple[int | None, ...]  # for each sequence its length before it was cut
    queue_seconds: float = 0.0
