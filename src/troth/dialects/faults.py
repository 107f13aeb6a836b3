"""Faults that come after the status line is gone: one frame, in the shape that errors have before it."""

from __future__ import annotations

from collections.abc import Callable

from troth.dialects.sse import data_frame
from troth.envelopes import error_body
from troth.errors import EngineFault, Refusal

# The end of a stream that broke where no refusal was raised: our fault, and the log has the reason.
BROKEN = EngineFault("The server failed to finish this answer.", code="internal_error")


def fault_frame(shape: str) -> Callable[[Refusal], bytes]:
    """What writes a refusal as one frame in the shape of `shape`."""
    return lambda refusal: data_frame(error_body(refusal, shape))
