"""The slots of hal0's API: where each model is on its way into memory, and the ways to send it there and back.

Divergences: a slot is made by the configuration alone, so there is no route that makes, renames or swaps one.
"""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Any

from troth._generated.models import (
    LoadModelSlotParameters,
    ModelSlotStateParameters,
    RestartModelSlotParameters,
    RetrieveModelSlotParameters,
    StreamModelSlotStateParameters,
    UnloadModelSlotParameters,
)
from troth.dialects.sse import KEEPALIVE, event_frame
from troth.domain import Answer, Call, Stream, Whole
from troth.errors import NotFound
from troth.fleet.facts import SlotNews
from troth.fleet.fleet import Fleet
from troth.fleet.slot import Slot

MEBIBYTE = 1 << 20
EVENT = "state"


@dataclass(frozen=True, slots=True, kw_only=True)
class SlotWords:
    """What the slot routes tell of a model besides its slot."""

    aliases: tuple[str, ...] = ()
    prompt_tokens: int = 0
    predicted_tokens: int = 0
    predicted_seconds: float = 0.0


class ModelSlots:
    """Answers the routes below /api/slots."""

    def __init__(self, fleet: Fleet, words: Callable[[str], SlotWords]) -> None:
        """`words` tells of a model by its id, at once."""
        self._fleet = fleet
        self._words = words

    async def list_model_slots(self, call: Call) -> Answer:
        """Every slot, in the order of the configuration."""
        return Whole([self._entry(slot) for slot in self._fleet.slots.values()])

    async def model_slot_metrics(self, call: Call) -> Answer:
        """What each slot does and did."""
        return Whole({slot.name: self._metrics(slot) for slot in self._fleet.slots.values()})

    async def model_slot_capacity(self, call: Call) -> Answer:
        """The memory that models count for."""
        slots, budget = list(self._fleet.slots.values()), self._fleet.memory_bytes
        used = [slot for slot in slots if slot.takes_memory]
        return Whole(
            {
                "per_slot": {
                    slot.name: {"mem_mb": _mb(slot.memory_bytes), "state": slot.state, "model_id": slot.facts.model}
                    for slot in slots
                },
                "slot_budget": {"used_slots": len(used), "max_slots": len(slots)},
                "memory_mb": None if budget is None else _mb(budget),
                "used_mb": _mb(sum(slot.memory_bytes for slot in used)),
            }
        )

    async def retrieve_model_slot(self, call: Call) -> Answer:
        """One slot. Raises NotFound."""
        parameters: RetrieveModelSlotParameters = call.parameters
        return Whole(self._entry(self._one(parameters.name)))

    async def model_slot_state(self, call: Call) -> Answer:
        """The state of one slot. Raises NotFound."""
        parameters: ModelSlotStateParameters = call.parameters
        slot = self._one(parameters.name)
        return Whole(_state(slot.news(), slot.facts.engine))

    async def stream_model_slot_state(self, call: Call) -> Answer:
        """The state of one slot, and every one that follows. Raises NotFound."""
        parameters: StreamModelSlotStateParameters = call.parameters
        slot = self._one(parameters.name)

        async def frames() -> AsyncIterator[bytes]:
            async for news in slot.watch():
                yield event_frame(EVENT, _state(news, slot.facts.engine))

        return Stream(frames(), KEEPALIVE, b"")

    async def load_model_slot(self, call: Call) -> Answer:
        """The slot's model answers. Raises NotFound, LoadFailed, Unavailable."""
        parameters: LoadModelSlotParameters = call.parameters
        slot = self._one(parameters.name)
        await self._fleet.load(slot, by_hand=True)
        return Whole(self._entry(slot))

    async def unload_model_slot(self, call: Call) -> Answer:
        """The slot is offline. Raises NotFound, Conflict."""
        parameters: UnloadModelSlotParameters = call.parameters
        slot = self._one(parameters.name)
        await slot.unload(force=bool(parameters.force), why="by hand")
        return Whole(self._entry(slot))

    async def restart_model_slot(self, call: Call) -> Answer:
        """The slot's model answers, loaded anew. Raises NotFound, Conflict, LoadFailed, Unavailable."""
        parameters: RestartModelSlotParameters = call.parameters
        slot = self._one(parameters.name)
        await slot.unload(force=bool(parameters.force), why="restarted by hand")
        await self._fleet.load(slot, by_hand=True)
        return Whole(self._entry(slot))

    def _one(self, name: str) -> Slot:
        slot = self._fleet.named(name) or self._fleet.slots.get(name)
        if slot is None:
            known = ", ".join(each.name for each in self._fleet.slots.values())
            raise NotFound(f"There is no slot {name!r}. Slots here: {known}.", param="name", code="slot_not_found")
        return slot

    def _entry(self, slot: Slot) -> dict[str, Any]:
        facts, report = slot.facts, slot.report()
        return _state(slot.news(), facts.engine) | {
            "id": slot.name,
            "status": slot.state,
            "kind": facts.kind,
            "aliases": list(self._words(facts.model).aliases),
            "pinned": facts.pinned,
            "lazy": facts.lazy,
            "load_progress": round(min(max(report.load_progress, 0.0), 1.0), 3),
            "loads": slot.loads,
            "crashes": slot.breaker.crashes,
            "memory_mb": _mb(slot.memory_bytes),
            "idle_seconds": facts.idle_seconds,
        }

    def _metrics(self, slot: Slot) -> dict[str, Any]:
        report, words = slot.report(), self._words(slot.facts.model)
        spoken = words.predicted_seconds
        return {
            "state": slot.state,
            "model_id": slot.facts.model,
            "requests_processing": report.running,
            "requests_waiting": report.queued,
            "uptime_seconds": round(time.monotonic() - slot.loaded_at, 3) if slot.is_dispatchable else 0.0,
            "last_used_seconds": round(slot.quiet_seconds, 3),
            "ctx": report.context_tokens,
            "prompt_tokens": words.prompt_tokens,
            "predicted_tokens": words.predicted_tokens,
            "tokens_per_sec": round(words.predicted_tokens / spoken, 3) if spoken else 0.0,
        }


def _state(news: SlotNews, engine: str) -> dict[str, Any]:
    return {
        "name": news.name,
        "state": news.state,
        "model_id": news.model,
        "backend": engine,
        "message": news.message,
        "updated_at": news.updated_at,
    }


def _mb(count: int) -> float:
    return round(count / MEBIBYTE, 1)
