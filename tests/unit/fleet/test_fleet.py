"""Slots together: who is loaded when, and who has to go for another."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.support.fleets import MEBIBYTE, Stage, stage
from troth.errors import LoadFailed, Unavailable
from troth.fleet.fleet import Fleet, FleetSettings
from troth.fleet.states import SlotState

WAITS = FleetSettings(when_loading="wait", wait_seconds=5)


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 10))


def fleet_of(*stages: Stage, settings: FleetSettings = WAITS) -> Fleet:
    return Fleet([each.slot for each in stages], settings)


def budget(mebibytes: int) -> FleetSettings:
    return FleetSettings(when_loading="wait", wait_seconds=5, memory_bytes=mebibytes * MEBIBYTE)


def test_a_lazy_model_is_loaded_by_the_first_request_that_waits_for_it() -> None:
    async def scene() -> None:
        one = stage()
        engine = await fleet_of(one).ready("one")

        assert engine is one.engine
        assert one.slot.state is SlotState.READY

    run(scene())


def test_a_request_that_may_not_wait_is_told_when_to_come_back_and_the_load_goes_on() -> None:
    async def scene() -> None:
        one = stage(opens=False)
        fleet = fleet_of(one, settings=FleetSettings(when_loading="refuse"))
        with pytest.raises(Unavailable, match="is loading") as refused:
            await fleet.ready("one")
        assert refused.value.code == "model_loading"
        assert refused.value.headers["Retry-After"]
        assert refused.value.details["progress"]["requested_model"] == "one"

        one.engine.gate.set()
        await one.slot.load()

        assert await fleet.ready("one") is one.engine

    run(scene())


def test_a_request_waits_no_longer_than_the_operator_lets_it() -> None:
    async def scene() -> None:
        one = stage(opens=False)
        fleet = fleet_of(one, settings=FleetSettings(when_loading="wait", wait_seconds=0.01))
        with pytest.raises(Unavailable, match="is loading"):
            await fleet.ready("one")

        assert one.slot.is_loading
        await fleet.stop()

    run(scene())


def test_whoever_waits_for_a_model_that_cannot_load_hears_why() -> None:
    async def scene() -> None:
        with pytest.raises(LoadFailed, match="no such layer"):
            await fleet_of(stage(fault="no such layer")).ready("one")

    run(scene())


def test_the_least_recently_used_model_goes_for_one_that_is_wanted() -> None:
    async def scene() -> None:
        one, two, three = (stage(name) for name in ("one", "two", "three"))
        fleet = fleet_of(one, two, three, settings=budget(2))
        for age, each in enumerate((two, one), 1):
            await fleet.ready(each.slot.name)
            each.slot.used_at -= 100 - age
        two.slot.used_at -= 100

        await fleet.ready("three")

        assert [each.slot.is_dispatchable for each in (one, two, three)] == [True, False, True]

    run(scene())


@pytest.mark.parametrize("why", ["pinned", "busy", "just wanted"])
def test_a_model_that_is_needed_does_not_go(why: str) -> None:
    async def scene() -> None:
        one, two = stage("one", pinned=why == "pinned"), stage("two")
        fleet = fleet_of(one, two, settings=budget(1))
        await fleet.ready("one")
        one.engine.running = int(why == "busy")
        one.slot.used_at -= 0 if why == "just wanted" else 100
        with pytest.raises(Unavailable, match="No memory is free") as refused:
            await fleet.ready("two")

        assert refused.value.code == "no_memory"
        assert one.slot.is_dispatchable

    run(scene())


def test_a_model_that_could_never_fit_says_so() -> None:
    async def scene() -> None:
        one = stage("one", memory_bytes=3 * MEBIBYTE)
        with pytest.raises(LoadFailed, match="takes 3 MB"):
            await fleet_of(one, settings=budget(2)).ready("one")

        assert one.slot.state is SlotState.ERROR

    run(scene())


def test_two_loads_at_once_do_not_both_take_the_last_room() -> None:
    async def scene() -> None:
        one, two = stage("one", opens=False), stage("two", opens=False)
        fleet = fleet_of(one, two, settings=budget(1))
        first = asyncio.create_task(fleet.ready("one"))
        await asyncio.sleep(0.01)
        with pytest.raises(Unavailable, match="No memory is free"):
            await fleet.ready("two")
        one.engine.gate.set()
        await first

        assert not two.engines

    run(scene())


def test_a_sweep_unloads_what_has_been_quiet_for_long() -> None:
    async def scene() -> None:
        one, two = stage("one", idle_seconds=10.0), stage("two")
        fleet = fleet_of(one, two)
        for each in (one, two):
            await fleet.ready(each.slot.name)
            each.slot.used_at -= 100

        await fleet.sweep()

        assert one.slot.state is SlotState.OFFLINE
        assert two.slot.is_dispatchable

    run(scene())


def test_an_engine_that_died_is_started_again_and_nobody_else_notices() -> None:
    async def scene() -> None:
        one, two = stage("one", lazy=False), stage("two", lazy=False)
        fleet = fleet_of(one, two)
        for each in (one, two):
            await each.slot.load()
        one.engine.status = "failed"
        await fleet.sweep()
        assert one.slot.state is SlotState.ERROR
        with pytest.raises(Unavailable):
            await fleet.ready("one")
        assert await fleet.ready("two") is two.engine

        await asyncio.sleep(0.03)
        await fleet.sweep()
        await one.slot.load()

        assert len(one.engines) == 2
        assert await fleet.ready("one") is one.engine
        await fleet.stop()

    run(scene())


def test_a_request_finds_an_engine_that_died_before_the_sweep_does() -> None:
    async def scene() -> None:
        one = stage()
        fleet = fleet_of(one)
        await fleet.ready("one")
        one.engine.status = "failed"
        with pytest.raises(Unavailable):
            await fleet.ready("one")

        assert one.slot.state is SlotState.ERROR

    run(scene())


def test_what_is_not_lazy_loads_at_the_start_and_a_failure_is_told() -> None:
    async def scene() -> None:
        one, two, three = stage("one", lazy=False), stage("two", lazy=False, fault="no such layer"), stage("three")
        fleet, told = fleet_of(one, two, three), asyncio.Queue[tuple[str, str]]()
        care = asyncio.create_task(fleet.run(lambda model, words: told.put_nowait((model, words))))

        assert await told.get() == ("two", "no such layer")
        assert one.slot.is_dispatchable
        assert three.slot.state is SlotState.OFFLINE
        care.cancel()
        await fleet.stop()

    run(scene())


def test_at_the_end_nothing_loads_and_every_engine_is_stopped() -> None:
    async def scene() -> None:
        one, two = stage("one"), stage("two", opens=False)
        fleet = fleet_of(one, two)
        await fleet.ready("one")
        waiting = asyncio.create_task(fleet.ready("two"))
        await asyncio.sleep(0.01)
        await fleet.stop()

        assert one.engine.stops == 1
        assert two.engine.stops >= 1
        assert not two.slot.is_loading
        with pytest.raises((asyncio.CancelledError, Unavailable)):
            await waiting

    run(scene())


def test_a_fleet_that_stops_loads_and_mourns_nobody() -> None:
    async def scene() -> None:
        one = stage(lazy=False)
        fleet = fleet_of(one)
        await one.slot.load()
        await fleet.stop()
        await fleet.sweep()

        assert one.slot.breaker.crashes == 0
        with pytest.raises(Unavailable, match="shutting down"):
            await fleet.load(one.slot)

    run(scene())


def test_models_that_do_not_fit_together_at_the_start_are_told() -> None:
    async def scene() -> None:
        one, two = stage("one", lazy=False), stage("two", lazy=False)
        fleet, told = fleet_of(one, two, settings=budget(1)), asyncio.Queue[tuple[str, str]]()
        care = asyncio.create_task(fleet.run(lambda model, words: told.put_nowait((model, words))))

        model, words = await told.get()

        assert model in ("one", "two")
        assert "No memory is free" in words
        care.cancel()
        await fleet.stop()

    run(scene())


def test_whoever_may_not_wait_hears_that_no_memory_is_free() -> None:
    async def scene() -> None:
        one, two = stage("one", pinned=True), stage("two")
        settings = FleetSettings(when_loading="refuse", memory_bytes=MEBIBYTE)
        fleet = fleet_of(one, two, settings=settings)
        await one.slot.load()
        for _ in range(2):
            with pytest.raises(Unavailable, match="No memory is free") as refused:
                await fleet.ready("two")
            assert refused.value.code == "no_memory"

    run(scene())


def test_nobody_goes_where_that_would_not_make_room() -> None:
    async def scene() -> None:
        one, two = stage("one"), stage("two")
        large = stage("large", memory_bytes=3 * MEBIBYTE)
        fleet = fleet_of(one, two, large, settings=budget(3))
        await fleet.ready("one")
        await fleet.ready("two")
        one.slot.used_at -= 100
        with pytest.raises(Unavailable, match="would make room"):
            await fleet.ready("large")
        assert one.slot.is_dispatchable

        two.slot.used_at -= 100
        await fleet.ready("large")
        assert not one.slot.is_dispatchable
        assert not two.slot.is_dispatchable

    run(scene())


def test_a_model_that_is_wanted_while_it_leaves_has_its_own_room() -> None:
    async def scene() -> None:
        one = stage("one")
        fleet = fleet_of(one, settings=FleetSettings(when_loading="refuse", memory_bytes=MEBIBYTE))
        await one.slot.load()
        one.engine.farewell.clear()
        leaving = asyncio.create_task(one.slot.unload())
        await asyncio.sleep(0.01)
        with pytest.raises(Unavailable) as refused:
            await fleet.ready("one")
        assert refused.value.code == "model_loading"

        one.engine.farewell.set()
        await leaving
        await one.slot.load()
        assert one.slot.is_dispatchable

    run(scene())


def test_what_leaves_for_another_is_room_for_whoever_asks_meanwhile() -> None:
    async def scene() -> None:
        one, two = stage("one"), stage("two")
        fleet = fleet_of(one, two, settings=budget(1))
        await fleet.ready("one")
        one.engine.farewell.clear()
        leaving = asyncio.create_task(one.slot.unload())
        await asyncio.sleep(0.01)
        wanting = asyncio.create_task(fleet.ready("two"))
        await asyncio.sleep(0.01)
        assert not wanting.done()

        one.engine.farewell.set()
        await leaving
        await wanting

    run(scene())


def test_what_takes_no_memory_does_not_go_for_what_does() -> None:
    async def scene() -> None:
        far, one, two = stage("far", weight=0), stage("one"), stage("two")
        fleet = fleet_of(far, one, two, settings=budget(1))
        await fleet.ready("far")
        await fleet.ready("one")
        far.slot.used_at -= 200
        one.slot.used_at -= 100
        await fleet.ready("two")

        assert [each.slot.is_dispatchable for each in (far, one, two)] == [True, False, True]

    run(scene())


def test_one_slot_that_cannot_be_looked_after_does_not_keep_the_others_from_it() -> None:
    async def scene() -> None:
        one, two = stage("one", lazy=False), stage("two", lazy=False)
        fleet = fleet_of(one, two)
        await fleet.ready("one")
        await fleet.ready("two")

        def broken() -> bool:
            raise ValueError("it cannot be told")

        one.slot.look = broken  # type: ignore[method-assign]
        two.engine.status = "failed"
        await fleet.sweep()

        assert two.slot.state is SlotState.ERROR

    run(scene())
