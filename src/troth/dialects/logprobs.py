"""Token probabilities in the shape of OpenAI's chat completions."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from troth.domain import Piece, TokenLogprob

IMPOSSIBLE = -9999.0  # OpenAI's number for a token that cannot come: JSON has no -Infinity


def logprobs_of(pieces: Iterable[Piece]) -> dict[str, Any]:
    """`{content, refusal}`: one entry a token, with its alternatives, most likely first."""
    content = []
    for piece in pieces:
        assert piece.logprob is not None, "an interpreter keeps only pieces that carry a logprob"
        entry = _entry(piece.logprob)
        entry["top_logprobs"] = [_entry(alternative) for alternative in piece.alternatives]
        content.append(entry)
    return {"content": content, "refusal": None}


def _entry(candidate: TokenLogprob) -> dict[str, Any]:
    """`bytes` are exact; `token` shows U+FFFD where the token holds only part of a character."""
    return {
        "id": candidate.token_id,
        "token": candidate.piece.decode("utf-8", "replace"),
        "bytes": list(candidate.piece),
        "logprob": min(max(candidate.logprob, IMPOSSIBLE), 0.0),
    }
