"""The `usage` object of the OpenAI routes."""

from __future__ import annotations

from typing import Any

from troth.domain import Usage


def usage_of(usage: Usage) -> dict[str, Any]:
    """Token counts of the request over all its choices; `prompt_tokens` includes the cached ones.

    No reasoning is told apart from the answer yet, so `reasoning_tokens` is 0.
    """
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.answer_tokens,
        "total_tokens": usage.prompt_tokens + usage.answer_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": 0},
    }
