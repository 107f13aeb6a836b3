"""Which tools a chat model is offered: what the other models of the configuration can do for it.

Those are three of the eight of hal0's OmniRouter. The others need models of kinds that are not served here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from troth.domain import ServedModel, Tool

EMBED, RERANK, ROUTE = "embed_text", "rerank_documents", "route_to_chat"
CHAT = "chat"
TEXTS: dict[str, Any] = {"type": "array", "items": {"type": "string", "minLength": 1}, "minItems": 1}
OF_KIND = {
    "embedding": Tool(
        name=EMBED,
        description="Compare texts by their meaning: how similar each is to each, from -1 to 1.",
        parameters={
            "type": "object",
            "properties": {"input": TEXTS},
            "required": ["input"],
            "additionalProperties": False,
        },
    ),
    "rerank": Tool(
        name=RERANK,
        description="Put documents in the order of their relevance to a query.",
        parameters={
            "type": "object",
            "properties": {
                "query": {"type": "string", "minLength": 1},
                "documents": TEXTS,
                "top_n": {"type": "integer", "minimum": 1},
            },
            "required": ["query", "documents"],
            "additionalProperties": False,
        },
    ),
}


def offered(catalogue: Sequence[ServedModel], caller: ServedModel) -> tuple[Tool, ...]:
    """The tools that this model is offered; none where it is alone."""
    tools = [tool for kind, tool in OF_KIND.items() if any(model.serves(kind) for model in catalogue)]
    others = targets(catalogue, caller)
    return (*tools, _route(others)) if others else tuple(tools)


def targets(catalogue: Sequence[ServedModel], caller: ServedModel) -> tuple[ServedModel, ...]:
    """The chat models that it may ask: all but itself."""
    return tuple(model for model in catalogue if model.serves(CHAT) and model.id != caller.id)


def _route(others: Sequence[ServedModel]) -> Tool:
    return Tool(
        name=ROUTE,
        description="Ask another model a question, and read its answer.",
        parameters={
            "type": "object",
            "properties": {
                "target": {"enum": [model.id for model in others]},
                "prompt": {"type": "string", "minLength": 1},
                "context": {"type": "string"},
            },
            "required": ["target", "prompt"],
            "additionalProperties": False,
        },
    )
