"""One slot on its way into memory, at work, and out of it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from typing import Any

import pytest

from tests.support.fleets import Stage, stage
from troth.errors import Conflict, EngineFault, LoadFailed, Unavailable
from troth.fleet.facts import Report, SlotNews
from troth.fleet.states import SlotState


def run(work: Coroutine[Any, Any, None]) -> None:
    asyncio.run(asyncio.wait_for(work, 10))


async def loaded(**how: Any) -> Stage:
    staged = stage(**how)
    await staged.slot.load()
    return staged


async def watched(staged: Stage, count: int) -> list[SlotNews]:
    news = []
    async for each in staged.slot.watch():
        news.append(each)
        if len(news) == count:
            break
    return news


def test_a_load_goes_through_every_state_and_whoever_watches_hears_each() -> None:
    async def scene() -> None:
        staged = stage(is_here=False)
        watcher = asyncio.create_task(watched(staged, 5))
        await asyncio.sleep(0)
        await staged.slot.load()

        states = [each.state for each in await watcher]
        assert states == ["offline", "pulling", "starting", "warming", "ready"]
        assert staged.pulls == 1

    run(scene())


def test_a_slot_is_not_ready_before_what_it_needs_beside_its_engine_is() -> None:
    async def scene() -> None:
        seen: list[str] = []

        async def look() -> None:
            seen.append(staged.engine.report().status)
            seen.append(staged.slot.report().status)

        staged = stage(looks=look)
        await staged.slot.load()
        assert [*seen, staged.slot.report().status] == ["ready", "loading", "ready"]

    run(scene())


def test_callers_share_one_load() -> None:
    async def scene() -> None:
        staged = stage(opens=False)
        callers = [asyncio.create_task(staged.slot.load()) for _ in range(5)]
        await asyncio.sleep(0.01)
        assert staged.slot.is_loading
        staged.engine.gate.set()
        await asyncio.gather(*callers)

        assert len(staged.engines) == staged.slot.loads == 1

    run(scene())


def test_a_caller_that_leaves_does_not_end_the_load_of_the_others() -> None:
    async def scene() -> None:
        staged = stage(opens=False)
        leaver, stayer = (asyncio.create_task(staged.slot.load()) for _ in range(2))
        await asyncio.sleep(0.01)
        leaver.cancel()
        await asyncio.sleep(0.01)
        staged.engine.gate.set()
        await stayer

        assert staged.slot.state is SlotState.READY

    run(scene())


def test_a_load_that_fails_says_why_and_is_held_against_the_slot() -> None:
    async def scene() -> None:
        staged = stage(fault="no such layer")
        with pytest.raises(LoadFailed, match="no such layer"):
            await staged.slot.load()

        assert (staged.slot.state, staged.slot.message) == (SlotState.ERROR, "no such layer")
        assert staged.slot.report().fault == "no such layer"
        assert staged.engine.stops == 1
        with pytest.raises(Unavailable, match="failed and is started again in") as refused:
            await staged.slot.load()
        assert refused.value.code == "slot_crash_looping"
        assert refused.value.headers["Retry-After"]

    run(scene())


def test_a_slot_that_failed_too_often_is_parked_until_it_is_loaded_by_hand() -> None:
    async def scene() -> None:
        staged = stage(fault="no such layer")
        for _ in range(3):
            with pytest.raises(LoadFailed):
                await staged.slot.load()
            await asyncio.sleep(0.03)
        with pytest.raises(Unavailable, match="parked after 3 failures"):
            await staged.slot.load()

        staged.fault = None
        await staged.slot.load(by_hand=True)

        assert staged.slot.is_dispatchable

    run(scene())


def test_work_shows_in_the_state() -> None:
    async def scene() -> None:
        staged = await loaded()
        staged.engine.running = 1
        staged.slot.look()
        states = [staged.slot.state]
        staged.engine.running = 0
        staged.slot.look()

        assert [*states, staged.slot.state] == [SlotState.SERVING, SlotState.READY]

    run(scene())


def test_a_quiet_slot_becomes_idle_and_then_has_slept_long_enough() -> None:
    async def scene() -> None:
        staged = await loaded(idle_seconds=10.0)
        staged.slot.used_at -= 5
        staged.slot.look()
        assert staged.slot.state is SlotState.IDLE
        assert not staged.slot.is_due_for_sleep

        staged.slot.used_at -= 5
        assert staged.slot.is_due_for_sleep

    run(scene())


def test_a_pinned_slot_never_sleeps_and_goes_only_by_force() -> None:
    async def scene() -> None:
        staged = await loaded(pinned=True, idle_seconds=10.0)
        staged.slot.used_at -= 100
        assert not staged.slot.is_due_for_sleep
        with pytest.raises(Conflict) as refused:
            await staged.slot.unload()
        assert refused.value.code == "slot_pinned"

        await staged.slot.unload(force=True)

        assert staged.slot.state is SlotState.OFFLINE

    run(scene())


def test_an_unloaded_slot_gives_its_engine_back_and_loads_a_new_one() -> None:
    async def scene() -> None:
        staged = await loaded()
        first = staged.engine
        await staged.slot.unload()
        assert (first.stops, staged.buried, staged.slot.engine) == (1, [first], None)
        assert staged.slot.report().status == "offline"

        await staged.slot.load()

        assert staged.slot.engine is staged.engine is not first

    run(scene())


def test_a_load_under_way_is_given_up_by_force_alone() -> None:
    async def scene() -> None:
        staged = stage(opens=False)
        load = asyncio.create_task(staged.slot.load())
        await asyncio.sleep(0.01)
        with pytest.raises(Conflict) as refused:
            await staged.slot.unload()
        assert refused.value.code == "illegal_transition"

        await staged.slot.unload(force=True)

        assert staged.slot.state is SlotState.OFFLINE
        assert staged.engine.stops >= 1
        with pytest.raises(Unavailable, match="was given up"):
            await load

    run(scene())


def test_a_load_that_waits_for_its_own_engine_to_leave_is_given_up_by_force() -> None:
    async def scene() -> None:
        staged = await loaded()
        first = staged.engine
        first.farewell.clear()
        leaving = asyncio.create_task(staged.slot.unload())
        await asyncio.sleep(0.01)
        load = asyncio.create_task(staged.slot.load())
        await asyncio.sleep(0.01)
        with pytest.raises(Conflict):
            await staged.slot.unload()
        await staged.slot.unload(force=True)
        first.farewell.set()
        await leaving

        with pytest.raises(Unavailable, match="was given up"):
            await load
        assert staged.slot.state is SlotState.OFFLINE
        assert len(staged.engines) == 1

    run(scene())


def test_an_unload_of_a_slot_that_mourns_is_not_undone() -> None:
    async def scene() -> None:
        staged = await loaded()
        staged.engine.status = "failed"
        staged.engine.farewell.clear()
        mourning = asyncio.create_task(staged.slot.mourn())
        await asyncio.sleep(0.01)
        unloading = asyncio.create_task(staged.slot.unload())
        await asyncio.sleep(0.01)
        staged.engine.farewell.set()
        await asyncio.gather(mourning, unloading)

        assert staged.slot.state is SlotState.OFFLINE
        assert not staged.slot.is_wanted

    run(scene())


def test_an_engine_that_dies_is_seen_and_mourned() -> None:
    async def scene() -> None:
        staged = await loaded()
        staged.engine.status = "failed"
        assert staged.slot.look()
        await staged.slot.mourn()

        assert (staged.slot.state, staged.slot.message) == (SlotState.ERROR, "it broke")
        assert staged.slot.breaker.crashes == 1

    run(scene())


def test_a_watcher_that_does_not_read_loses_the_oldest_states_and_keeps_the_newest() -> None:
    async def scene() -> None:
        staged = await loaded()
        watcher = staged.slot.watch()
        await anext(watcher)
        for _ in range(100):
            staged.engine.running = 1 - staged.engine.running
            staged.slot.look()
        heard = [await anext(watcher) for _ in range(64)]
        await watcher.aclose()  # type: ignore[attr-defined]

        assert heard[-1].state == staged.slot.state

    run(scene())


def test_a_request_that_comes_while_the_engine_leaves_waits_and_gets_a_new_one() -> None:
    async def scene() -> None:
        staged = await loaded()
        first = staged.engine
        first.farewell.clear()
        leaving = asyncio.create_task(staged.slot.unload())
        await asyncio.sleep(0.01)
        loading = asyncio.create_task(staged.slot.load())
        await asyncio.sleep(0.01)
        assert len(staged.engines) == 1
        assert staged.slot.takes_memory

        first.farewell.set()
        await asyncio.gather(leaving, loading)

        assert staged.slot.engine is staged.engine is not first
        assert staged.buried == [first]

    run(scene())


def test_whoever_asks_for_an_unload_and_leaves_does_not_stop_it() -> None:
    async def scene() -> None:
        staged = await loaded()
        staged.engine.farewell.clear()
        leaving = asyncio.create_task(staged.slot.unload())
        await asyncio.sleep(0.01)
        leaving.cancel()
        await asyncio.sleep(0.01)
        staged.engine.farewell.set()
        await asyncio.sleep(0.01)

        assert staged.slot.state is SlotState.OFFLINE
        await staged.slot.load()

    run(scene())


def test_one_death_counts_once_however_many_see_it() -> None:
    async def scene() -> None:
        staged = await loaded()
        staged.engine.status = "failed"
        staged.engine.farewell.clear()
        mourners = [asyncio.create_task(staged.slot.mourn()) for _ in range(5)]
        await asyncio.sleep(0.01)
        staged.engine.farewell.set()
        await asyncio.gather(*mourners)

        assert staged.slot.breaker.crashes == len(staged.buried) == 1

    run(scene())


def test_a_slot_stays_while_a_request_is_prepared_for_it() -> None:
    async def scene() -> None:
        staged = await loaded(idle_seconds=10.0)
        with staged.slot.held():
            staged.slot.used_at -= 100
            assert staged.slot.is_busy
            assert not staged.slot.is_due_for_sleep
        assert staged.slot.quiet_seconds < 1

    run(scene())


def test_a_fetch_that_nobody_wants_any_more_is_given_up() -> None:
    async def scene() -> None:
        begun, told = threading.Event(), threading.Event()

        def pull(report: Report) -> None:
            begun.set()
            try:
                while True:
                    report(0.5)
            except EngineFault:
                told.set()
                raise

        staged = stage(is_here=False, puller=pull)
        load = asyncio.create_task(staged.slot.load())
        await asyncio.to_thread(begun.wait)
        await staged.slot.unload(force=True)

        assert await asyncio.to_thread(told.wait, 5)
        with pytest.raises(Unavailable):
            await load

    run(scene())


def test_many_fetches_that_hang_leave_threads_for_everything_else() -> None:
    async def scene() -> None:
        end = threading.Event()

        def pull(report: Report) -> None:
            end.wait(10)

        stages = [stage(f"slot{number}", is_here=False, puller=pull) for number in range(40)]
        loads = [asyncio.create_task(each.slot.load()) for each in stages]
        await asyncio.sleep(0)
        assert await asyncio.wait_for(asyncio.to_thread(lambda: True), 5)
        end.set()
        await asyncio.gather(*loads)

    run(scene())


def test_a_watcher_is_let_go_when_the_server_ends() -> None:
    async def scene() -> None:
        staged = await loaded()
        watcher = asyncio.create_task(watched(staged, 99))
        await asyncio.sleep(0.01)
        await staged.slot.stop()

        assert [each.state for each in await watcher] == [SlotState.READY]

    run(scene())
