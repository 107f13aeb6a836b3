"""Saved states of conversations: Radiance's sessions, by label and id, and Halogen's keep-names.

Divergences from Radiance:
1. A state is one piece in ordinary memory or on disk; there is no device tier and no snapshot beside it.
2. One conversation may have several states: where it branched, or where a request was cut off.
3. A state is a copy, so forgetting one never disturbs a request that runs: nothing is ever in use.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from troth._generated.models import (
    ForgetLabelledSessionsParameters,
    ForgetSessionsParameters,
    ListHandlesParameters,
    ListSessionsParameters,
    ReleaseHandleParameters,
)
from troth.dialects.engine_state import Engines, held_tokens, owner_of, share
from troth.domain import Answer, Call, Whole
from troth.engines.base import CacheReport, ConversationReport, SlotReport
from troth.errors import BadRequest, NotFound

NO_SNAPSHOTS = ("snapshots", "snap_device", "snap_host", "snap_disk", "snap_bytes")
SECONDS_DIGITS = 3


class Sessions:
    """Answers the routes of saved conversations."""

    def __init__(self, engines: Engines, clock: Callable[[], float]) -> None:
        """`clock` tells Unix seconds."""
        self._engines = engines
        self._clock = clock

    async def list_sessions(self, call: Call) -> Answer:
        """The saved states of every ready model, or of one."""
        parameters: ListSessionsParameters = call.parameters
        served, now = self._engines.several(parameters.model), self._clock()
        caches = [each.engine.cache() for each in served]
        slots = [slot for each in served for slot in each.engine.slots()]
        saved = [(each.name, state) for each in served for state in each.engine.conversations(owner_of(call))]
        saved.sort(key=lambda pair: pair[1].used_at, reverse=True)
        sessions = [session(state, name, now) for name, state in saved]
        return Whole({"enabled": any(cache.is_on for cache in caches), "sessions": sessions} | totals(caches, slots))

    async def forget_sessions(self, call: Call) -> Answer:
        """The states of an id or a label are forgotten. Raises BadRequest for neither, NotFound when there is none."""
        parameters: ForgetSessionsParameters = call.parameters
        if not parameters.id and not parameters.label:
            raise BadRequest(
                "Say what to forget: ?id=… or ?label=…, as GET /sessions lists them. POST /reset_prefix_cache "
                "forgets everything.",
                param="id",
                code="missing_required_parameter",
            )
        return await self._forget(
            call, parameters.model, state_id=parameters.id or None, label=parameters.label or None
        )

    async def forget_labelled_sessions(self, call: Call) -> Answer:
        """The states of a label are forgotten. Raises NotFound when there is none."""
        parameters: ForgetLabelledSessionsParameters = call.parameters
        return await self._forget(call, parameters.model, label=parameters.label)

    async def _forget(
        self, call: Call, model: str | None, *, state_id: str | None = None, label: str | None = None
    ) -> Answer:
        served, owner = self._engines.several(model), owner_of(call)
        deleted = sum([await each.engine.forget(state_id=state_id, label=label, owner=owner) for each in served])
        if not deleted:
            asked = [f"id {state_id!r}"] if state_id else []
            asked += [f"label {label!r}"] if label else []
            raise NotFound(
                f"No saved conversation has the {' and the '.join(asked)}.", param="id" if state_id else "label"
            )
        return Whole({"deleted": deleted})

    async def list_handles(self, call: Call) -> Answer:
        """The names under which states are kept, of every ready model or of one."""
        parameters: ListHandlesParameters = call.parameters
        data = []
        for each in self._engines.several(parameters.model):
            running = {slot.handle for slot in each.engine.slots()}
            states = each.engine.conversations(owner_of(call))
            data += [handle(state, each.name, busy=state.handle in running) for state in states if state.handle]
        return Whole({"object": "list", "data": data})

    async def release_handle(self, call: Call) -> Answer:
        """Nothing is kept under the name any more. Raises NotFound when nothing was."""
        parameters: ReleaseHandleParameters = call.parameters
        served = self._engines.several(parameters.model)
        if not any([await each.engine.release(parameters.name, owner_of(call)) for each in served]):
            raise NotFound(f"Nothing is kept under the handle {parameters.name!r}.", param="name")
        return Whole({"name": parameters.name, "released": True})


def session(state: ConversationReport, model: str, now: float) -> dict[str, Any]:
    """One saved state; `now` is in Unix seconds."""
    return {
        "id": state.id,
        "label": state.label,
        "handle": state.handle,
        "model": model,
        "tokens": state.tokens,
        "resume_tokens": state.tokens,
        "bytes": state.size_bytes,
        "hits": state.hits,
        "idle_s": _seconds(now - state.used_at),
        "age_s": _seconds(now - state.created_at),
        "on_device": 0,
        "on_host": int(state.in_memory),
        "on_disk": int(state.on_disk),
        "moving": 0,
        **dict.fromkeys(NO_SNAPSHOTS, 0),
    }


def handle(state: ConversationReport, model: str, *, busy: bool) -> dict[str, Any]:
    """One name and the state that it keeps."""
    return {
        "name": state.handle,
        "model": model,
        "tokens": state.tokens,
        "bytes": state.size_bytes,
        "busy": busy,
        "created_at": int(state.created_at),
        "last_used_at": int(state.used_at),
    }


def totals(caches: Sequence[CacheReport], slots: Sequence[SlotReport]) -> dict[str, Any]:
    """The figures over all states of these caches."""
    size = sum(cache.size_bytes for cache in caches)
    used = sum(map(held_tokens, slots))
    whole_only = [cache for cache in caches if not cache.can_cut]
    return {
        "blocks_sum_overlapping": {
            "device": 0,
            "host": sum(cache.memory_entries for cache in caches),
            "disk": sum(cache.disk_entries for cache in caches),
        },
        "bytes_sum_overlapping": size,
        "snapshots": {"device": 0, "host": 0, "disk": 0},
        "pool": {
            "tokens_used": used,
            "tokens_total": sum(slot.context_tokens for slot in slots),
            "unshared_tokens": used,
        },
        "moved": {
            "to_host": sum(cache.stores for cache in caches),
            "promoted": sum(cache.hits for cache in caches),
            "host_freed": sum(cache.superseded for cache in caches),
            "host_drops": sum(cache.evicted for cache in caches),
            "failures": sum(cache.refused for cache in caches),
            "dropped": 0,
            "to_disk": sum(cache.disk_stores for cache in caches),
            "fetched": sum(cache.disk_hits for cache in caches),
        },
        "snapshots_moved": {"bytes_each": 0},
        "linear": {
            "hit_rate": _token_hit_rate(whole_only),
            "cached_tokens": sum(cache.hit_tokens for cache in whole_only),
            "checkpoints_written": sum(cache.stores for cache in whole_only),
        },
        "tiers": {
            "host": any(cache.is_on for cache in caches),
            "disk": any(cache.disk_budget_bytes for cache in caches),
        },
        "occupancy": {
            "host_bytes": size,
            "host_cap_bytes": sum(cache.budget_bytes for cache in caches),
            "disk_bytes": sum(cache.disk_bytes for cache in caches),
            "disk_cap_bytes": sum(cache.disk_budget_bytes for cache in caches),
        },
        "prefix_hit_rate": _token_hit_rate(caches),
    }


def _token_hit_rate(caches: Sequence[CacheReport]) -> float:
    return share(sum(cache.hit_tokens for cache in caches), sum(cache.asked_tokens for cache in caches))


def _seconds(seconds: float) -> float:
    return round(max(seconds, 0.0), SECONDS_DIGITS)
