"""Texts that are continued as they stand: nothing is rendered, nothing is quoted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from troth.domain import NO_VIEWS, Medium, Pieces, RawText, TokenIds, View, Views
from troth.engines.base import Vocabulary
from troth.errors import BadRequest
from troth.prompt.places import SHOWN, Splice


@dataclass(frozen=True, slots=True)
class Written:
    """What a model reads: its tokens, [prompt_tokens], and the same as text, control tokens written out."""

    tokens: TokenIds
    text: str
    views: tuple[tuple[int, View], ...] = ()  # what is read in the place of media, and where it begins


def raw_text(raw: RawText, vocabulary: Vocabulary, views: Views = NO_VIEWS) -> Written:
    """The text as tokens, with the model's BOS in front unless it begins with that, or with an id.

    Control tokens in a text are tokens, as in vLLM and llama.cpp: a client may render its own template.
    Raises: BadRequest for an id that the vocabulary lacks.
    """
    if not raw.media:
        arrays = tokens_of(raw.pieces, vocabulary, raw.path, bos=raw.bos, special=raw.special)
        tokens = np.concatenate(arrays) if arrays else np.empty(0, np.int32)
        return Written(tokens, text_of(raw.pieces, vocabulary))
    spliced = Splice()
    wants_bos = raw.bos and vocabulary.adds_bos
    for piece in raw.pieces:
        if not isinstance(piece, Medium):
            bos = wants_bos and not spliced.arrays
            for array in tokens_of((piece,), vocabulary, raw.path, bos=bos, special=raw.special):
                spliced.add(array)
            continue
        if wants_bos and not spliced.arrays:
            spliced.add(vocabulary.tokenize("", special=True, bos=True))
        spliced.add_medium(piece, views)
    return Written(spliced.tokens, text_of(raw.pieces, vocabulary), tuple(spliced.views))


def tokens_of(pieces: Pieces, vocabulary: Vocabulary, path: str, *, bos: bool, special: bool = True) -> list[TokenIds]:
    """The tokens of each piece. `bos`: the first one begins the sequence."""
    arrays: list[TokenIds] = []
    for piece in pieces:
        if isinstance(piece, str):
            wants_bos = bos and not arrays and vocabulary.adds_bos
            if wants_bos and vocabulary.bos_text and piece.startswith(vocabulary.bos_text):
                wants_bos = False
            arrays.append(vocabulary.tokenize(piece, special=special, bos=wants_bos))
        elif isinstance(piece, Medium):
            raise AssertionError("media are spliced in, not tokenised")
        else:
            wrong = next((token for token in piece if not 0 <= token < vocabulary.size), None)
            if wrong is not None:
                raise BadRequest(
                    f"`{path}` has the token id {wrong}; this model has ids from 0 to {vocabulary.size - 1}.",
                    param=path,
                )
            arrays.append(np.array(piece, dtype=np.int32))
    return arrays


def text_of(pieces: Pieces, vocabulary: Vocabulary) -> str:
    """The pieces as one text."""
    return "".join(_text(piece, vocabulary) for piece in pieces)


def _text(piece: str | tuple[int, ...] | Medium, vocabulary: Vocabulary) -> str:
    if isinstance(piece, str):
        return piece
    if isinstance(piece, Medium):
        return SHOWN
    return b"".join(map(vocabulary.piece, piece)).decode("utf-8", "replace")
