"""The `usage` object of the OpenAI routes."""

from __future__ import annotations

from typing import Any

from troth.domain import ThoughtCount, Usage


def usage_of(usage: Usage) -> dict[str, Any]:
    """Token counts of the request over all its choices; `prompt_tokens` includes the cached ones."""
    return {
        "prompt_tokens": usage.prompt_tokens,
        "completion_tokens": usage.answer_tokens,
        "total_tokens": usage.prompt_tokens + usage.answer_tokens,
        "prompt_tokens_details": {"cached_tokens": usage.cached_tokens},
        "completion_tokens_details": thoughts_of(usage.thoughts),
    }


def thoughts_of(thoughts: ThoughtCount) -> dict[str, Any]:
    """Tokens of reasoning, and where and why the server ended it, if it did (halogen's fields)."""
    told: dict[str, Any] = {"reasoning_tokens": thoughts.tokens}
    if thoughts.closed_by is not None:
        told |= {"reasoning_closed_at": thoughts.closed_at, "reasoning_closed_by": thoughts.closed_by}
    return told
