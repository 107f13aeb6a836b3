"""The prefix cache of a model: Halogen's report (GET /cache) and vLLM's reset (POST /reset_prefix_cache).

Divergences from Halogen:
1. Saved states stand in ordinary memory, not in the pool of the running sequences: what moves, packs or
   drops regions of the pool is always 0.
2. The report never waits for the engine, so there is no `stale_s`.
3. No figure tells of the last store or restore alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from troth._generated.models import CacheParameters, ResetPrefixCacheParameters
from troth.dialects.engine_state import Engines, held_tokens, owner_of, share
from troth.domain import Answer, Call, Whole
from troth.engines.base import CacheReport, SlotReport
from troth.errors import NotImplementedHere

SNAPSHOT_PLACES = ("prompt_end", "answer_end", "shared_prefix_end")
NO_POOL = ("room_clamped", "packed", "taken_over", "dropped", "waiting_for_room", "waiting_s", "relocated")
NO_DISK = ("lineages", "branches", "skipped", "restore_ms_total", "restored_bytes")
NO_COMPOSING = ("chunks", "bytes", "stored", "composed", "evicted", "composed_tokens")


class PrefixCaches:
    """Answers the routes of the prefix cache."""

    def __init__(self, engines: Engines) -> None:
        self._engines = engines

    async def cache(self, call: Call) -> Answer:
        """The report of one model. Raises Unavailable while it loads."""
        parameters: CacheParameters = call.parameters
        served = self._engines.one(parameters.model)
        return Whole(report(served.name, served.engine.cache(), served.engine.slots()))

    async def reset_prefix_cache(self, call: Call) -> Answer:
        """The saved states that the caller may see are forgotten. Raises NotImplementedHere when no cache is on."""
        parameters: ResetPrefixCacheParameters = call.parameters
        keeping = [each for each in self._engines.several(parameters.model) if each.engine.cache().is_on]
        if not keeping:
            raise NotImplementedHere("The prefix cache is off: `prefix_cache_bytes` is 0.")
        return Whole({"entries_dropped": sum([await each.engine.forget(owner=owner_of(call)) for each in keeping])})


def report(model: str, cache: CacheReport, slots: Sequence[SlotReport]) -> dict[str, Any]:
    """The report of one model's cache."""
    return {
        "enabled": cache.is_on,
        "model": model,
        "hit_rate": share(cache.hits, cache.hits + cache.misses),
        "token_hit_rate": share(cache.hit_tokens, cache.asked_tokens),
        "can_cut": cache.can_cut,
        "entries": cache.entries,
        "held_entries": cache.held_entries,
        "max_entries": None,
        "bytes": cache.size_bytes,
        "max_bytes": cache.budget_bytes,
        "hits": cache.hits,
        "misses": cache.misses,
        "prompt_tokens": cache.asked_tokens,
        "prompt_tokens_saved": cache.hit_tokens,
        "stores": cache.stores,
        "stored_bytes": cache.stored_bytes,
        "store_ms_total": _milliseconds(cache.store_seconds),
        "restore_ms_total": _milliseconds(cache.restore_seconds),
        "superseded": cache.superseded,
        "evicted": cache.evicted,
        "refused": cache.refused,
        "rows_copied": 0,
        "rows_copied_ms": 0,
        "dropped": 0,
        "pool": _pool(cache, slots),
        "disk": _disk(cache),
        "composable_context": {"enabled": False, **dict.fromkeys(NO_COMPOSING, 0)},
        "snapshot_places": list(SNAPSHOT_PLACES),
    }


def _disk(cache: CacheReport) -> dict[str, Any]:
    return {
        "on": cache.disk_budget_bytes > 0,
        "records": cache.disk_entries,
        "bytes": cache.disk_bytes,
        "budget_bytes": cache.disk_budget_bytes,
        "hits": cache.disk_hits,
        "misses": cache.disk_lost,
        "persisted": cache.disk_stores,
        "evicted": cache.disk_evicted,
        **dict.fromkeys(NO_DISK, 0),
    }


def _pool(cache: CacheReport, slots: Sequence[SlotReport]) -> dict[str, Any]:
    used, positions = sum(map(held_tokens, slots)), sum(slot.context_tokens for slot in slots)
    return {
        "positions": positions,
        "used": used,
        "usage_ratio": share(used, positions),
        "busy_regions": sum(slot.task is not None for slot in slots),
        "held_regions": cache.held_entries,
        "moved": cache.moves,
        "cold_resorts": 0,
        **dict.fromkeys(NO_POOL, 0),
    }


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1e3, 3)
