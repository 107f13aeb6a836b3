"""Faults that come after the status line is gone: one frame, in the shape that errors have before it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from troth.dialects.sse import DONE, data_frame
from troth.envelopes import error_body
from troth.errors import EngineFault, Refusal, UpstreamStalled

Faults = Callable[[Refusal], bytes]

# The end of a stream that broke where no refusal was raised: our fault, and the log has the reason.
BROKEN = EngineFault("The server failed to finish this answer.", code="internal_error")


STALL_ID = "hal0-stall-guard"


def stall_frames(fault: Faults, heading: Mapping[str, Any], *, is_chat: bool) -> Faults:
    """What writes a stall as hal0 does, in a chunk more of the answer and `[DONE]`, and other refusals as `fault`.

    `heading` is what is the same in every chunk of the answer.
    """

    def write(refusal: Refusal) -> bytes:
        if not isinstance(refusal, UpstreamStalled):
            return fault(refusal)
        notice = f"\n[{refusal.message}]"
        said = {"delta": {"content": notice}} if is_chat else {"text": notice, "logprobs": None}
        choice = {"index": 0, **said, "finish_reason": "length"}
        chunk = {**heading, "id": STALL_ID, "choices": [choice], "x_hal0_stall": refusal.details}
        return data_frame(chunk) + DONE

    return write


def fault_frame(shape: str) -> Faults:
    """What writes a refusal as one frame in the shape of `shape`."""
    return lambda refusal: data_frame(error_body(refusal, shape))
