"""What every engine of vectors and of relevance does of a request: the rest of the corridor does the same for all."""

from __future__ import annotations

EMBEDS = frozenset(
    {"model", "input", "encoding_format", "dimensions", "prompt_name", "normalize", "embd_normalize", "truncate"}
)
RERANKS = frozenset(
    {"model", "query", "documents", "texts", "top_n", "return_documents", "raw_scores", "rank_fields", "truncate"}
)
MODERATES = frozenset({"model", "input", "messages"})
HONOURS = {"embedding": EMBEDS, "rerank": RERANKS, "moderation": MODERATES}
