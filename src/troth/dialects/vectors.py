"""Vectors and relevance in the words of OpenAI, Jina, Cohere, vLLM, Text Embeddings Inference, llama-server.

Divergences: `/embeddings` is OpenAI's route and not llama-server's, whose answer is a bare list. `relevance_score` is
from 0 to 1, as Jina, Cohere and vLLM give it; what llama-server gives under this name is `raw_score`. The answer says
which model answered, where llama-server repeats the name that was sent.
"""

from __future__ import annotations

import asyncio
import base64
import secrets
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from pydantic_core import to_json

from troth._generated.models import EmbeddingRequest, RerankRequest
from troth.dialects.vectors_request import embed_ask, rerank_ask
from troth.domain import Call, Whole
from troth.domain.vectors import Rows, Values
from troth.reply.vectors import best_first
from troth.vectors import Embedded, Ranked, Vectors

QUICK_NUMBERS = 4096  # so many are written by the event loop; more would stop it for some milliseconds


class VectorRoutes:
    """Answers the routes of vectors and of relevance."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = vectors

    async def create_embedding(self, call: Call) -> Whole:
        """The vectors of the input. Raises any Refusal."""
        body: EmbeddingRequest = call.body
        embedded = await self._vectors.embed(embed_ask(body, call.given), call.account)
        in_base64 = body.encoding_format == "base64"
        if embedded.vectors.size <= QUICK_NUMBERS:
            return Whole(_written(embedded, in_base64=in_base64))
        return Whole(await asyncio.to_thread(_written, embedded, in_base64=in_base64))

    async def create_rerank(self, call: Call) -> Whole:
        """The documents by their relevance. Raises any Refusal."""
        body: RerankRequest = call.body
        ask = rerank_ask(body, call.given)
        ranked = await self._vectors.rerank(ask, call.account)
        order = best_first(ranked.raw, body.top_n)
        shown = ask.documents if body.return_documents else None
        scores = (ranked.raw if body.raw_scores else ranked.shares).tolist()
        if body.texts is not None:
            return Whole([_text_score(index, scores, ranked, shown) for index in order])
        results = [_result(index, scores, ranked, shown) for index in order]
        return Whole(_head("rerank", ranked.model) | {"results": results, "usage": _usage(ranked.rows)})


def _head(prefix: str, model: str) -> dict[str, Any]:
    return {"id": f"{prefix}-{secrets.token_hex(12)}", "object": "list", "created": int(time.time()), "model": model}


def _usage(rows: Rows) -> dict[str, int]:
    return {"prompt_tokens": rows.tokens, "total_tokens": rows.tokens}


def _written(embedded: Embedded, *, in_base64: bool) -> bytes:
    """The answer as JSON, one vector at a time: between two of them other threads have their turn."""
    head = to_json(_head("embd", embedded.model) | {"usage": _usage(embedded.rows)})
    data = b",".join(
        to_json(
            {"object": "embedding", "index": index, "embedding": _vector(vector, in_base64=in_base64)}
            | _cut(embedded.rows, index)
        )
        for index, vector in enumerate(embedded.vectors)
    )
    return head[:-1] + b',"data":[' + data + b"]}"


def _vector(vector: Values, *, in_base64: bool) -> str | list[float]:
    if in_base64:
        return base64.b64encode(vector.astype(np.dtype("<f4")).tobytes()).decode()
    numbers: list[float] = vector.tolist()
    return numbers


def _cut(rows: Rows, index: int) -> dict[str, int]:
    length = rows.cut_from[index]
    return {} if length is None else {"truncated_from": length}


def _result(index: int, scores: Sequence[float], ranked: Ranked, shown: Sequence[str] | None) -> dict[str, Any]:
    told: dict[str, Any] = {"index": index, "relevance_score": scores[index], "raw_score": float(ranked.raw[index])}
    if shown is not None:
        told["document"] = {"text": shown[index]}
    return told | _cut(ranked.rows, index)


def _text_score(index: int, scores: Sequence[float], ranked: Ranked, shown: Sequence[str] | None) -> dict[str, Any]:
    told: dict[str, Any] = {"index": index, "score": scores[index]}
    if shown is not None:
        told["text"] = shown[index]
    return told | _cut(ranked.rows, index)
