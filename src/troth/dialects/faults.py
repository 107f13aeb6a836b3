"""The error body of the OpenAI routes, for faults that come after the status line is gone."""

from __future__ import annotations

from typing import Any

from troth.dialects.sse import data_frame
from troth.errors import EngineFault, Refusal


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


# The end of a stream that broke where no refusal was raised: our fault, and the log has the reason.
UNFORESEEN = data_frame(openai_fault(EngineFault("The server failed to finish this answer.", code="internal_error")))
