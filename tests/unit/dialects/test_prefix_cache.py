"""The report of the prefix cache, and its reset."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.decoder import ScriptedDecoder
from tests.support.lanes import FORGETFUL, KEEPING, Gate, always, call, engines, lanes, serve, submit
from troth._generated.models import CacheParameters, ResetPrefixCacheParameters
from troth.dialects.prefix_cache import PrefixCaches
from troth.domain import Tag, Whole
from troth.errors import NotImplementedHere
from troth.scheduler.lane import Lane, LaneSettings

Judge = Callable[[str, Any], None]
FIVE = [5, 4, 3, 2, 1]
POOL = (
    "positions",
    "used",
    "usage_ratio",
    "busy_regions",
    "held_regions",
    "room_clamped",
    "moved",
    "dropped",
    "waiting_for_room",
    "waiting_s",
    "relocated",
    "cold_resorts",
)


async def reported(running: dict[str, Lane], model: str | None = None) -> dict[str, Any]:
    answer = await PrefixCaches(engines(running)).cache(call(CacheParameters(model=model)))
    assert isinstance(answer, Whole)
    assert isinstance(answer.body, dict)
    return answer.body


async def dropped(running: dict[str, Lane], model: str | None = None) -> int:
    answer = await PrefixCaches(engines(running)).reset_prefix_cache(call(ResetPrefixCacheParameters(model=model)))
    assert isinstance(answer, Whole)
    assert isinstance(answer.body, dict)
    entries: int = answer.body["entries_dropped"]
    return entries


def report_after_two_turns(settings: LaneSettings) -> dict[str, Any]:
    async def run() -> dict[str, Any]:
        async with lanes({"smol": always(3)}, settings) as running:
            await serve(running["smol"], FIVE, 3, Tag(handle="desk"))
            await serve(running["smol"], [*FIVE, 3, 3, 9], 1)
            return await reported(running)

    return asyncio.run(run())


def test_the_report_says_what_was_saved(judge: Judge) -> None:
    report = report_after_two_turns(KEEPING)

    judge("CacheReport", report)
    assert (report["hits"], report["misses"], report["hit_rate"]) == (1, 1, 0.5)
    assert (report["prompt_tokens"], report["prompt_tokens_saved"], report["token_hit_rate"]) == (13, 7, 0.538462)
    assert (report["enabled"], report["model"], report["max_bytes"], report["can_cut"]) == (True, "smol", 10_000, True)
    assert report["entries"] > report["held_entries"] == report["pool"]["held_regions"] == 1
    assert report["bytes"] > 0


def test_the_pool_has_every_key_of_halogens(judge: Judge) -> None:
    pool = report_after_two_turns(KEEPING)["pool"]

    assert set(POOL) <= set(pool)
    assert (pool["positions"], pool["used"], pool["busy_regions"]) == (1024, 0, 0)


def test_the_pool_counts_what_running_requests_hold() -> None:
    gate = Gate(after=3)
    decoder = ScriptedDecoder(picker=lambda held, seed: 3, before_decode=gate)

    async def run() -> dict[str, Any]:
        async with lanes({"smol": decoder}) as running:
            ticket = submit(running["smol"], FIVE, 20)
            await gate.wait_reached()
            report = await reported(running)
            gate.open()
            ticket.cancel()
            return report

    pool = asyncio.run(run())["pool"]

    assert (pool["used"], pool["busy_regions"], pool["usage_ratio"]) == (6, 1, round(6 / 1024, 6))


def test_a_cache_that_is_off_reports_zeros(judge: Judge) -> None:
    report = report_after_two_turns(FORGETFUL)

    judge("CacheReport", report)
    assert (report["enabled"], report["entries"], report["hits"], report["max_bytes"]) == (False, 0, 0, 0)


def test_a_reset_forgets_every_state_of_every_model() -> None:
    async def run() -> None:
        async with lanes({"smol": always(3), "big": always(3)}) as running:
            for lane in running.values():
                await serve(lane, FIVE, 1, Tag(handle="desk"))

            assert await dropped(running, "big") == 1
            assert await dropped(running) == 1
            assert await dropped(running) == 0
            assert (await reported(running))["entries"] == 0

    asyncio.run(run())


def test_a_reset_of_a_cache_that_is_off_is_not_implemented() -> None:
    async def run() -> None:
        async with lanes({"smol": always(3)}, FORGETFUL) as running:
            with pytest.raises(NotImplementedHere, match="prefix_cache_bytes"):
                await dropped(running)

    asyncio.run(run())
