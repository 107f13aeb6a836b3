"""The lane from the event loop's side, on its real thread, with a decoder whose answers are known."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

import numpy as np
import pytest

from tests.support.decoder import ScriptedDecoder, ScriptedEngine, alone, fail_once
from tests.unit.scheduler.test_scheduler import Letters, words
from troth.domain import Finished, Job, Prompt, Said, Sampling
from troth.engines.base import LoadProgress
from troth.errors import EngineFault, QueueFull, QueueTimeout, Unavailable
from troth.scheduler.lane import Lane, LaneSettings
from troth.scheduler.ticket import LaneTicket


def job(prompt: Sequence[int], answer_tokens: int = 10) -> Job:
    return Job(
        prompt=Prompt(np.array(prompt, dtype=np.int32), answer_tokens, 256),
        sampling=Sampling(),
        seed=7,
        interpreters=[Letters()],
    )


@asynccontextmanager
async def started(decoder: ScriptedDecoder, limits: LaneSettings | None = None) -> AsyncIterator[Lane]:
    lane = Lane("scripted", ScriptedEngine(decoder), limits or LaneSettings())
    await lane.start(lambda fraction: None)
    try:
        yield lane
    finally:
        await lane.stop()


async def text_of(ticket: LaneTicket) -> str:
    return "".join([event.text async for event in ticket.events() if isinstance(event, Said)])


async def idle(lane: Lane) -> None:
    async with asyncio.timeout(5):
        while lane.report().running or lane.report().queued:
            await asyncio.sleep(0)


class Gate:
    """Holds the decoder's thread inside `decode` until opened."""

    def __init__(self) -> None:
        self.reached = threading.Event()
        self.opened = threading.Event()

    def __call__(self, decoder: ScriptedDecoder) -> None:
        self.reached.set()
        assert self.opened.wait(5)

    async def wait_reached(self) -> None:
        assert await asyncio.to_thread(self.reached.wait, 5)


def test_a_ticket_gives_the_events_of_its_request_and_ends_after_finished() -> None:
    async def run() -> None:
        async with started(ScriptedDecoder()) as lane:
            ticket = lane.submit(job([1, 2, 3], 20))
            events = [event async for event in ticket.events()]

            assert isinstance(events[-1], Finished)
            said = "".join(event.text for event in events if isinstance(event, Said))
            assert said == words(alone([1, 2, 3], 7, 20))
            assert ticket.is_over

    asyncio.run(run())


def test_a_full_queue_is_refused_with_retry_after() -> None:
    async def run() -> None:
        gate = Gate()
        async with started(ScriptedDecoder(slots=1, before_decode=gate), LaneSettings(queue_max=2)) as lane:
            tickets = [lane.submit(job([3, 1, 4]))]
            await gate.wait_reached()
            assert await tickets[0].wait_started(5)
            tickets += [lane.submit(job([3, 1, 4])), lane.submit(job([3, 1, 4]))]

            with pytest.raises(QueueFull) as refused:
                lane.submit(job([3, 1, 4]))
            gate.opened.set()
            texts = [await text_of(ticket) for ticket in tickets]

            assert refused.value.headers["Retry-After"] == "1"
            assert texts == [words(alone([3, 1, 4], 7, 10))] * 3

    asyncio.run(run())


def test_free_slots_are_no_queue() -> None:
    async def run() -> None:
        gate = Gate()
        async with started(ScriptedDecoder(slots=2, before_decode=gate), LaneSettings(queue_max=0)) as lane:
            tickets = [lane.submit(job([3, 1, 4])), lane.submit(job([3, 1, 4]))]
            with pytest.raises(QueueFull):
                lane.submit(job([1, 2]))
            gate.opened.set()
            assert all([await text_of(ticket) for ticket in tickets])

    asyncio.run(run())


def test_a_request_that_waits_too_long_is_refused_and_leaves_the_line() -> None:
    async def run() -> None:
        gate = Gate()
        limits = LaneSettings(queue_seconds_max=0.05)
        async with started(ScriptedDecoder(slots=1, before_decode=gate), limits) as lane:
            running = lane.submit(job([3, 1, 4]))
            await gate.wait_reached()
            assert await running.wait_started(5)
            waiting = lane.submit(job([1, 2]))

            with pytest.raises(QueueTimeout):
                await waiting.wait_started(5)
            gate.opened.set()
            await text_of(running)
            await idle(lane)

            assert lane.totals().requests_finished == 1
            assert lane.totals().requests_cancelled == 1

    asyncio.run(run())


def test_wait_started_gives_up_after_its_seconds_and_keeps_the_place() -> None:
    async def run() -> None:
        gate = Gate()
        async with started(ScriptedDecoder(slots=1, before_decode=gate)) as lane:
            first = lane.submit(job([3, 1, 4]))
            await gate.wait_reached()
            second = lane.submit(job([3, 1, 4]))

            assert not await second.wait_started(0.01)
            assert lane.report().queued == 1
            assert lane.report().longest_wait_seconds > 0
            gate.opened.set()

            assert await text_of(first) == await text_of(second)

    asyncio.run(run())


def test_cancelling_frees_the_slot_and_the_queue() -> None:
    async def run() -> None:
        gate = Gate()
        async with started(ScriptedDecoder(slots=1, before_decode=gate)) as lane:
            running, waiting = lane.submit(job([3, 1, 4], 200)), lane.submit(job([3, 1, 4], 200))
            await gate.wait_reached()

            waiting.cancel()
            running.cancel()
            running.cancel()
            gate.opened.set()
            await idle(lane)

            assert lane.totals().requests_cancelled == 2

    asyncio.run(run())


def test_an_engine_fault_reaches_the_one_who_waits() -> None:
    async def run() -> None:
        async with started(ScriptedDecoder(before_decode=fail_once("boom"))) as lane:
            with pytest.raises(EngineFault, match="boom"):
                await text_of(lane.submit(job([1, 2])))
            assert await text_of(lane.submit(job([3, 1, 4]))) == words(alone([3, 1, 4], 7, 10))

    asyncio.run(run())


def test_a_model_that_fails_to_load_says_so_and_refuses_requests() -> None:
    async def run() -> None:
        engine = ScriptedEngine(ScriptedDecoder(), fault=EngineFault("the file is broken"))
        lane = Lane("scripted", engine, LaneSettings())
        with pytest.raises(Unavailable, match="loading"):
            lane.submit(job([1]))

        with pytest.raises(EngineFault, match="the file is broken"):
            await lane.start(lambda fraction: None)

        assert lane.report().status == "failed"
        assert lane.report().fault == "the file is broken"
        with pytest.raises(Unavailable, match="the file is broken"):
            lane.submit(job([1]))
        await lane.stop()

    asyncio.run(run())


def test_stopping_ends_running_requests_and_closes_the_decoder() -> None:
    async def run() -> None:
        gate = Gate()
        decoder = ScriptedDecoder(slots=1, before_decode=gate, picker=lambda held, seed: 1)
        async with started(decoder) as lane:
            ticket = lane.submit(job([1], 200))
            await gate.wait_reached()
            stopping = asyncio.create_task(lane.stop())
            await asyncio.sleep(0)  # the stop has been asked before the decoder goes on
            gate.opened.set()
            with pytest.raises(Unavailable, match="shutting down"):
                await text_of(ticket)
            await stopping

            assert decoder.is_closed
            assert lane.report().status == "stopped"

    asyncio.run(run())


def test_a_stop_during_the_load_ends_the_load_and_the_thread() -> None:
    class Slow(ScriptedEngine):
        def load(self, progress: LoadProgress) -> ScriptedDecoder:
            reached.set()
            while progress(0.5) is not False:
                pass_time.wait(0.001)
            raise EngineFault("cut short")

    async def run() -> None:
        lane = Lane("scripted", Slow(ScriptedDecoder()), LaneSettings())
        starting = asyncio.create_task(lane.start(lambda fraction: None))
        assert await asyncio.to_thread(reached.wait, 5)

        await lane.stop()

        with pytest.raises(Unavailable, match="shutting down"):
            await starting
        assert lane.report().status == "stopped"

    reached, pass_time = threading.Event(), threading.Event()
    asyncio.run(run())


def test_a_stop_just_before_the_engine_is_ready_is_not_lost() -> None:
    class Deaf(ScriptedEngine):
        def load(self, progress: LoadProgress) -> ScriptedDecoder:
            reached.set()
            assert go_on.wait(5)
            return self.decoder

    async def run() -> None:
        decoder = ScriptedDecoder()
        lane = Lane("scripted", Deaf(decoder), LaneSettings())
        starting = asyncio.create_task(lane.start(lambda fraction: None))
        assert await asyncio.to_thread(reached.wait, 5)
        stopping = asyncio.create_task(lane.stop())
        await asyncio.sleep(0)

        go_on.set()
        await stopping

        await starting
        assert decoder.is_closed

    reached, go_on = threading.Event(), threading.Event()
    asyncio.run(run())
