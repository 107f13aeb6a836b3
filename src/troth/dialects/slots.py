"""The slots of a model as llama-server lists them (README, GET /slots).

Divergences from llama-server:
1. A slot that has had no request yet has every key too, with -1 for its task, zeros and empty `params`.
2. A free slot tells nothing of the request before.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from troth._generated.models import SlotsParameters
from troth.dialects.engine_state import Engines
from troth.domain import Answer, Call, Whole
from troth.engines.base import SlotReport
from troth.errors import Unavailable

RETRY_SECONDS = 1
NOBODY = -1


class Slots:
    """Answers the route of the slots."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    async def slots(self, call: Call) -> Answer:
        """One element a slot. Raises Unavailable while the model loads, or when none is idle and one was asked for."""
        parameters: SlotsParameters = call.parameters
        served = self._engines.one(parameters.model)
        slots = served.engine.slots()
        if parameters.fail_on_no_slot and all(slot.task is not None for slot in slots):
            raise Unavailable(
                f"No slot is idle: all {len(slots)} of {served.name} are busy.",
                retry_seconds=RETRY_SECONDS,
                code="no_slot_idle",
            )
        speculative = served.state.report.draft_tokens_max > 0
        return Whole([entry(slot, speculative=speculative) for slot in slots])


def entry(slot: SlotReport, *, speculative: bool) -> dict[str, Any]:
    """One slot."""
    is_busy = slot.task is not None
    remaining = max(slot.answer_tokens_max - slot.answer_tokens, 0)
    return {
        "id": slot.id,
        "n_ctx": slot.context_tokens,
        "speculative": speculative,
        "is_processing": is_busy,
        "id_task": slot.task if is_busy else NOBODY,
        "n_prompt_tokens": slot.prompt_tokens,
        "n_prompt_tokens_processed": slot.read_tokens,
        "n_prompt_tokens_cache": slot.cached_tokens,
        "params": _params(slot),
        "next_token": [
            {
                "has_next_token": is_busy,
                "has_new_line": slot.has_newline,
                "n_remain": remaining if is_busy else NOBODY,
                "n_decoded": slot.answer_tokens,
            }
        ],
    }


def _params(slot: SlotReport) -> dict[str, Any]:
    if slot.sampling is None:
        return {}
    return asdict(slot.sampling) | {"n_predict": slot.answer_tokens_max, "max_tokens": slot.answer_tokens_max}
