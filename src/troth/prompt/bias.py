"""Logit bias by token: texts become the tokens that they are written with."""

from __future__ import annotations

from collections.abc import Iterable

from troth.engines.base import Vocabulary
from troth.errors import BadRequest


def by_token(entries: Iterable[tuple[int | str, float]], vocabulary: Vocabulary) -> tuple[tuple[int, float], ...]:
    """Each biased token id once, in the order of first mention; biases of one token add up, as in llama.cpp.

    A text biases each of its tokens (llama-server README, /completion, `logit_bias`).
    Raises: BadRequest for an id outside the vocabulary and for a text without tokens.
    """
    biases: dict[int, float] = {}
    for entry, bias in entries:
        for token in _tokens(entry, vocabulary):
            biases[token] = biases.get(token, 0.0) + bias
    return tuple(biases.items())


def _tokens(entry: int | str, vocabulary: Vocabulary) -> list[int]:
    if isinstance(entry, str):
        tokens = dict.fromkeys(vocabulary.tokenize(entry, special=False, bos=False).tolist()) if entry else {}
        if not tokens:
            raise BadRequest("`logit_bias` holds an empty text, which has no tokens.", param="logit_bias")
        return list(tokens)
    if not 0 <= entry < vocabulary.size:
        raise BadRequest(
            f"`logit_bias` names token {entry}; the vocabulary has {vocabulary.size} tokens, 0 to "
            f"{vocabulary.size - 1}.",
            param="logit_bias",
        )
    return [entry]
