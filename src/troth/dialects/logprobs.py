"""Token probabilities in the shape of OpenAI's chat completions, and in llama-server's of probabilities as drawn."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from troth.domain import Piece, TokenLogprob

IMPOSSIBLE = -9999.0  # OpenAI's number for a token that cannot come: JSON has no -Infinity


def logprobs_of(pieces: Iterable[Piece]) -> dict[str, Any]:
    """`{content, refusal}`: one entry a token, with its alternatives, most likely first.

    Of a draw (`post_sampling_probs`) they have `prob` and `top_probs` in place of `logprob` and `top_logprobs`.
    """
    content = []
    for piece in pieces:
        assert piece.logprob is not None, "an interpreter keeps only pieces that carry a logprob"
        write, others = (_share, "top_probs") if piece.as_drawn else (_entry, "top_logprobs")
        entry = write(piece.logprob)
        entry[others] = [write(alternative) for alternative in piece.alternatives]
        content.append(entry)
    return {"content": content, "refusal": None}


def _entry(candidate: TokenLogprob) -> dict[str, Any]:
    return _token(candidate) | {"logprob": min(max(candidate.logprob, IMPOSSIBLE), 0.0)}


def _share(candidate: TokenLogprob) -> dict[str, Any]:
    return _token(candidate) | {"prob": min(math.exp(candidate.logprob), 1.0)}


def _token(candidate: TokenLogprob) -> dict[str, Any]:
    """`bytes` are exact; `token` shows U+FFFD where the token holds only part of a character. An id that another
    server keeps to itself is left out."""
    told: dict[str, Any] = {} if candidate.token_id < 0 else {"id": candidate.token_id}
    return told | {"token": candidate.piece.decode("utf-8", "replace"), "bytes": list(candidate.piece)}
