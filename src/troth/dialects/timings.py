"""The `timings` object that every generation answer carries, in llama-server's shape."""

from __future__ import annotations

from typing import Any

from troth.domain import Timings


def timings_of(timings: Timings) -> dict[str, Any]:
    """`timings` as llama-server writes it: milliseconds, tokens and rates, never null, never divided by zero.

    The first token comes out of the prompt's own step, so rates of generation count the steps after it
    (`predicted_n - 1`). Drafts and clamps are named only when there were any.
    """
    prompt_ms = round(timings.prompt_ms, 3)
    predicted_ms = max(round(timings.predicted_ms, 3), 0.001) if timings.predicted_n else 0.0
    steps = max(timings.predicted_n - 1, 0)
    body: dict[str, Any] = {
        "cache_n": timings.cache_n,
        "prompt_n": timings.prompt_n,
        "prompt_ms": prompt_ms,
        "prompt_per_token_ms": prompt_ms / timings.prompt_n if timings.prompt_n else 0.0,
        "prompt_per_second": 1000.0 / prompt_ms * timings.prompt_n if prompt_ms > 0 else 0.0,
        "predicted_n": timings.predicted_n,
        "predicted_ms": predicted_ms,
        "predicted_per_token_ms": predicted_ms / steps if steps else 0.0,
        "predicted_per_second": 1000.0 / predicted_ms * steps if steps else 0.0,
    }
    if timings.draft_n:
        body["draft_n"] = timings.draft_n
        body["draft_n_accepted"] = timings.draft_n_accepted
    if timings.max_tokens_clamped_from is not None:
        body["max_tokens_clamped_from"] = timings.max_tokens_clamped_from
        body["max_tokens_clamped_to"] = timings.max_tokens_clamped_to
    return body
