"""The error body of the OpenAI routes, for faults that come after the status line is gone."""

from __future__ import annotations

from typing import Any

from troth.errors import Refusal


def openai_fault(refusal: Refusal) -> dict[str, Any]:
    """`refusal` as OpenAI's clients read it; the same shape as before the first byte."""
    return {
        "error": {
            "message": refusal.message,
            "type": refusal.type,
            "param": refusal.param,
            "code": refusal.code,
            **refusal.facts,
        }
    }
