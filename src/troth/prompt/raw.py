"""Texts that are continued as they stand: nothing is rendered, nothing is quoted."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from troth.domain import Pieces, RawText, TokenIds
from troth.engines.base import Vocabulary
from troth.errors import BadRequest


@dataclass(frozen=True, slots=True)
class Written:
    """What a model reads: its tokens, [prompt_tokens], and the same as text, control tokens written out."""

    tokens: TokenIds
    text: str


def raw_text(raw: RawText, vocabulary: Vocabulary) -> Written:
    """The text as tokens, with the model's BOS in front unless it begins with that, or with an id.

    Control tokens in a text are tokens, as in vLLM and llama.cpp: a client may render its own template.
    Raises: BadRequest for an id that the vocabulary lacks.
    """
    arrays = tokens_of(raw.pieces, vocabulary, raw.path, bos=raw.bos, special=raw.special)
    tokens = np.concatenate(arrays) if arrays else np.empty(0, np.int32)
    return Written(tokens, text_of(raw.pieces, vocabulary))


def tokens_of(pieces: Pieces, vocabulary: Vocabulary, path: str, *, bos: bool, special: bool = True) -> list[TokenIds]:
    """The tokens of each piece. `bos`: the first one begins the sequence."""
    arrays: list[TokenIds] = []
    for piece in pieces:
        if isinstance(piece, str):
            wants_bos = bos and not arrays and vocabulary.adds_bos
            if wants_bos and vocabulary.bos_text and piece.startswith(vocabulary.bos_text):
                wants_bos = False
            arrays.append(vocabulary.tokenize(piece, special=special, bos=wants_bos))
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
    return "".join(
        piece if isinstance(piece, str) else b"".join(map(vocabulary.piece, piece)).decode("utf-8", "replace")
        for piece in pieces
    )
