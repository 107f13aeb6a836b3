"""Error bodies for faults that come after the status line is gone, as each dialect has them."""

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


def native_fault(refusal: Refusal) -> dict[str, Any]:
    """`refusal` as llama-server's clients read it: the code is the status."""
    return {
        "error": {
            "code": refusal.status,
            "message": refusal.message,
            "type": refusal.type,
            **refusal.facts,
        }
    }


# The end of a stream that broke where no refusal was raised: our fault, and the log has the reason.
_BROKEN = EngineFault("The server failed to finish this answer.", code="internal_error")
UNFORESEEN = data_frame(openai_fault(_BROKEN))
UNFORESEEN_NATIVE = data_frame(native_fault(_BROKEN))
