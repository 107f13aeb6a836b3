"""The lane of an engine in a process of its own: what becomes of its requests when that process ends."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tests.support.mortal import HANG, UNTIL_CUT, MortalEngine
from tests.unit.scheduler.test_lane import job, text_of
from troth.engines.base import EngineGone
from troth.engines.child import Isolated
from troth.errors import EngineFault, Unavailable
from troth.scheduler import lane as lane_module
from troth.scheduler.lane import Lane, LaneSettings


@asynccontextmanager
async def started(engine: MortalEngine | None = None) -> AsyncIterator[Lane]:
    lane = Lane("mortal", Isolated(engine or MortalEngine()), LaneSettings(draft_tokens_max=0))
    await lane.start(lambda fraction: None)
    try:
        yield lane
    finally:
        await lane.stop()


def pid_of(lane: Lane) -> int:
    pid: int = lane.report().details["process"]
    return pid


def test_an_answer_is_the_same_as_from_a_thread() -> None:
    async def run() -> None:
        async with started() as lane:
            assert await text_of(lane.submit(job([1, 2, 3], 5))) == "aaaaa"
            assert lane.report().details["isolation"] == "process"

    asyncio.run(run())


def test_when_the_process_ends_who_runs_and_who_waits_is_told_why() -> None:
    async def run() -> None:
        async with started() as lane:
            first = lane.submit(job([UNTIL_CUT]))
            assert await first.wait_started(5)
            running = [lane.submit(job([HANG, each])) for each in range(1, 5)]
            waiting = lane.submit(job([2]))
            while lane.report().queued > 1:  # they start together: a batch with one of them never ends
                lane.cancel(first)
                await asyncio.sleep(0)
            running[0].cancel()
            os.kill(pid_of(lane), signal.SIGSEGV)

            for ticket in (*running[1:], waiting):
                with pytest.raises(EngineFault, match="SIGSEGV"):
                    await text_of(ticket)

            gone = await lane.gone()
            assert gone is not None
            assert lane.report().status == "failed"
            assert lane.report().fault == gone.message
            assert (lane.report().running, lane.report().queued, lane.report().busy_seconds) == (0, 0, 0.0)
            with pytest.raises(Unavailable, match=r"cannot answer: The engine failed: .* \(SIGSEGV\)\.$") as refused:
                lane.submit(job([1]))
            assert refused.value.code == "model_unavailable"

    asyncio.run(run())


def test_the_end_of_an_idle_process_is_noticed_and_the_lane_can_be_started_again() -> None:
    async def run() -> None:
        async with started() as lane:
            first = pid_of(lane)
            await text_of(lane.submit(job([1], 3)))
            os.kill(first, signal.SIGKILL)

            gone = await lane.gone()
            assert isinstance(gone, EngineGone)
            assert "SIGKILL" in gone.message
            await lane.start(lambda fraction: None)

            assert lane.report().status == "ready"
            assert lane.report().fault is None
            assert pid_of(lane) != first
            assert await text_of(lane.submit(job([1], 3))) == "aaa"
            assert lane.totals().requests_finished == 2

    asyncio.run(run())


def test_a_stopped_lane_is_not_gone_by_itself() -> None:
    async def run() -> None:
        async with started() as lane:
            await lane.stop()
            assert await lane.gone() is None
            assert lane.report().status == "stopped"

    asyncio.run(run())


def test_who_forgets_states_while_the_process_ends_is_told_so() -> None:
    async def run() -> None:
        async with started() as lane:
            ticket = lane.submit(job([HANG]))
            assert await ticket.wait_started(5)
            forgetting = asyncio.create_task(lane.forget())
            await asyncio.sleep(0)
            os.kill(pid_of(lane), signal.SIGKILL)

            with pytest.raises(EngineFault, match="SIGKILL"):
                await text_of(ticket)
            assert await forgetting == 0  # the cache is ours, and it was still there to be asked

    asyncio.run(run())


def test_a_cancelled_request_interrupts_the_batch_that_works_for_it_alone() -> None:
    async def run() -> None:
        async with started() as lane:
            ticket = lane.submit(job([UNTIL_CUT]))
            assert await ticket.wait_started(5)
            while lane.report().running:
                ticket.cancel()
                lane.cancel(ticket)  # the batch may not have begun when the first one comes
                await asyncio.sleep(0)
            assert await text_of(lane.submit(job([1], 3))) == "aaa"

    asyncio.run(run())


def test_a_process_that_hangs_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lane_module, "HANG_SECONDS", 0.1)

    async def run() -> None:
        async with started() as lane:
            ticket = lane.submit(job([HANG]))
            assert await ticket.wait_started(5)

            await lane.stop()

            with pytest.raises(EngineFault, match="SIGKILL"):
                await text_of(ticket)

    asyncio.run(run())


def test_an_engine_that_ended_can_be_started_again() -> None:
    async def run() -> None:
        async with started() as lane:
            for _ in range(2):
                before = pid_of(lane)
                os.kill(before, signal.SIGKILL)
                async with asyncio.timeout(10):
                    while lane.report().status != "failed":
                        await asyncio.sleep(0.01)
                await lane.start(lambda fraction: None)

                assert pid_of(lane) != before
                assert await text_of(lane.submit(job([1], 3))) == "aaa"
            await lane.stop()

    asyncio.run(run())
