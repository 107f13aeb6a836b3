"""Pictures and sound: what a client sent, what it was found to be, and what a model sees of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

TokenIds = npt.NDArray[np.int32]
Embeddings = npt.NDArray[np.float32]  # [tokens, width of the model]
MediumKind = Literal["image", "audio"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Medium:
    """A picture or a sound as the client sent it: where it is, not yet what it is."""

    kind: MediumKind
    source: str  # a data URL, an address, or base64
    path: str  # of the client's field, for refusals
    is_base64: bool = False  # `source` is nothing but base64


@dataclass(frozen=True, slots=True)
class Placed:
    """A medium that stands behind the first `at` characters of a text."""

    at: int
    medium: Medium


@dataclass(frozen=True, slots=True)
class Segment:
    """A run of a view: tokens of words (ids from 0), or what is seen, as ids below 0 that name its content."""

    tokens: TokenIds
    is_seen: bool
    is_whole: bool = False  # its tokens look at each other: they are computed in one batch


@dataclass(frozen=True, slots=True)
class View:
    """What a model reads in the place of one medium. `digest` names the content and how it is looked at."""

    digest: bytes
    segments: tuple[Segment, ...]

    @property
    def tokens(self) -> TokenIds:
        """All of it as token ids, [tokens]."""
        return np.concatenate([segment.tokens for segment in self.segments])


@dataclass(frozen=True, slots=True)
class Sight:
    """What stands in a prompt from `start` on instead of tokens: the model reads these embeddings."""

    start: int
    embeddings: Embeddings
    is_whole: bool = False

    @property
    def end(self) -> int:
        """The index of the token after it."""
        return self.start + len(self.embeddings)


Views = Mapping[Medium, View]
NO_VIEWS: Views = {}
