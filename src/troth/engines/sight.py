"""The seam between Troth and whatever turns pictures and sound into what a decoder reads beside tokens."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from troth.domain import Embeddings, TokenIds


@dataclass(frozen=True, slots=True, kw_only=True)
class SightReport:
    """What was seen by one model, and how much of it is kept. Counts and seconds are totals since the start."""

    hits: int = 0  # pictures and sounds whose embeddings were there
    misses: int = 0  # that had to be encoded
    encode_seconds: float = 0.0
    entries: int = 0
    size_bytes: int = 0
    budget_bytes: int = 0


@dataclass(frozen=True, slots=True)
class LookedPart:
    """A run of what is read in the place of a medium: tokens of words, or `count` embeddings."""

    words: TokenIds | None
    count: int
    is_whole: bool = False  # they look at each other: they are computed in one batch


@dataclass(frozen=True, slots=True)
class Looked:
    """A medium as an engine will read it, and what the engine needs to encode it. The memory goes with this object."""

    parts: tuple[LookedPart, ...]
    handle: object


class SightFault(Exception):
    """A medium that the engine cannot read. The text says why, for the caller."""


class Sees(Protocol):
    """What turns pictures and sound into what a decoder reads beside tokens. Safe from any thread."""

    vision: bool
    audio: bool
    audio_rate: int  # samples a second; 0 without audio
    digest: bytes  # names what it was made from, and its settings

    def look(self, content: npt.NDArray[np.uint8] | npt.NDArray[np.float32]) -> Looked:
        """How a picture, [height, width, 3], or a sound, [samples], will be read. Nothing is encoded.

        Raises SightFault.
        """

    def encode(self, looked: Looked) -> list[Embeddings]:
        """The embeddings of every part that is no words, [count, width] each. Takes its time. Raises SightFault."""
