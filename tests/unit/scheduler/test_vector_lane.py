"""One line before a model that reads whole sequences: batches across requests, limits, and clients that leave."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from tests.support.encoder import BROKEN, NOT_A_NUMBER, SmallEncoder, SmallEngine
from troth.domain.vectors import EmbedJob, RerankJob, Rows
from troth.errors import BadRequest, EngineFault, QueueFull, QueueTimeout, Unavailable
from troth.scheduler.vector_lane import VectorLane, VectorLaneSettings

USUAL = VectorLaneSettings()


@asynccontextmanager
async def running(encoder: SmallEncoder, settings: VectorLaneSettings = USUAL) -> AsyncIterator[VectorLane]:
    lane = VectorLane("small", SmallEngine(encoder), settings)
    await lane.start(lambda _: None)
    try:
        yield lane
    finally:
        encoder.may_compute.set()
        await lane.stop()


async def until(look: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not look():
            await asyncio.sleep(0.001)


def ask(lane: VectorLane, *items: str | tuple[int, ...]) -> asyncio.Task[Rows]:
    return asyncio.ensure_future(lane.embed(EmbedJob(items=items)))


async def held(lane: VectorLane, encoder: SmallEncoder) -> asyncio.Task[Rows]:
    """A request that is being computed until the encoder may go on."""
    encoder.may_compute.clear()
    task = ask(lane, (9,))
    await until(lambda: lane.report().running == 1)
    return task


def test_rows_come_in_the_order_of_the_items_however_many_there_are() -> None:
    async def scene() -> Rows:
        async with running(SmallEncoder()) as lane:
            return await lane.embed(EmbedJob(items=[(number,) for number in range(50)]))

    rows = asyncio.run(scene())

    assert rows.values[:, 1].tolist() == list(range(50))
    assert rows.tokens == 50


def test_requests_that_come_while_a_batch_is_computed_are_computed_together() -> None:
    async def scene() -> list[list[int]]:
        encoder = SmallEncoder()
        async with running(encoder) as lane:
            first = await held(lane, encoder)
            others = [ask(lane, (number,)) for number in (10, 11, 12)]
            await until(lambda: lane._inbox.qsize() == 3)
            encoder.may_compute.set()
            await asyncio.gather(first, *others)
        return encoder.batches

    assert asyncio.run(scene()) == [[9], [10, 11, 12]]


def test_a_small_request_does_not_wait_for_a_large_one() -> None:
    async def scene() -> bool:
        encoder = SmallEncoder()
        async with running(encoder) as lane:
            first = await held(lane, encoder)
            large = ask(lane, *[(20,)] * 100)
            await until(lambda: lane._inbox.qsize() == 1)
            small = ask(lane, (30,))
            await until(lambda: lane._inbox.qsize() == 2)
            encoder.may_compute.set()
            await small
            await asyncio.gather(first, large)
        return any(30 in batch for batch in encoder.batches[:2])

    assert asyncio.run(scene())


def test_pairs_are_scored() -> None:
    async def scene() -> Rows:
        async with running(SmallEncoder()) as lane:
            return await lane.rerank(RerankJob(query="q", documents=["a", "abc"]))

    assert asyncio.run(scene()).values[:, 0].tolist() == [5, 7]


def test_a_full_line_refuses_one_more() -> None:
    async def scene() -> None:
        encoder = SmallEncoder(batch_sequences=1)
        async with running(encoder, VectorLaneSettings(queue_max=1, requests_max=1)) as lane:
            first = await held(lane, encoder)
            second = ask(lane, (10,))
            await until(lambda: lane.report().queued == 1)
            with pytest.raises(QueueFull):
                await lane.embed(EmbedJob(items=[(11,)]))
            encoder.may_compute.set()
            await asyncio.gather(first, second)

    asyncio.run(scene())


def test_a_request_that_waits_too_long_is_refused() -> None:
    async def scene() -> None:
        encoder = SmallEncoder(batch_sequences=1)
        async with running(encoder, VectorLaneSettings(queue_seconds_max=0.02, requests_max=1)) as lane:
            first = await held(lane, encoder)
            with pytest.raises(QueueTimeout):
                await lane.embed(EmbedJob(items=[(11,)]))
            assert lane.report().queued == 0
            encoder.may_compute.set()
            await first

    asyncio.run(scene())


def test_what_nobody_waits_for_any_more_is_not_computed() -> None:
    async def scene() -> tuple[list[list[int]], int]:
        encoder = SmallEncoder(batch_sequences=2)
        async with running(encoder) as lane:
            first = await held(lane, encoder)
            gone = ask(lane, (10,), (10,), (10,))
            await until(lambda: lane._inbox.qsize() == 1)
            gone.cancel()
            await asyncio.wait([gone])
            encoder.may_compute.set()
            await first
            await lane.embed(EmbedJob(items=[(12,)]))
        return encoder.batches, lane.counters.dropped_sequences

    assert asyncio.run(scene()) == ([[9], [12]], 3)


def test_a_batch_that_fails_fails_its_requests_and_no_other() -> None:
    async def scene() -> Rows:
        async with running(SmallEncoder()) as lane:
            with pytest.raises(EngineFault, match="could not compute"):
                await lane.embed(EmbedJob(items=[(BROKEN,)]))
            return await lane.embed(EmbedJob(items=[(7,)]))

    assert asyncio.run(scene()).values.tolist() == [[1, 7]]


def test_an_item_without_a_number_is_a_fault_that_names_it() -> None:
    async def scene() -> None:
        async with running(SmallEncoder()) as lane:
            await lane.embed(EmbedJob(items=[(7,), (NOT_A_NUMBER,)]))

    with pytest.raises(EngineFault, match="no number for item 1"):
        asyncio.run(scene())


def test_an_item_that_cannot_be_read_is_refused_and_leaves_no_trace() -> None:
    async def scene() -> int:
        async with running(SmallEncoder()) as lane:
            with pytest.raises(BadRequest):
                await lane.embed(EmbedJob(items=["too long to be read"]))
            return lane.report().queued + lane.report().running

    assert asyncio.run(scene()) == 0


def test_requests_end_with_a_fault_when_the_server_stops() -> None:
    async def scene() -> SmallEncoder:
        encoder = SmallEncoder(batch_sequences=1)
        async with running(encoder, VectorLaneSettings(requests_max=1)) as lane:
            first = await held(lane, encoder)
            second = ask(lane, (10,))
            await until(lambda: lane._inbox.qsize() == 1)
            stopping = asyncio.ensure_future(lane.stop())
            await asyncio.sleep(0)
            encoder.may_compute.set()
            await stopping
            for task in (first, second):
                await asyncio.wait([task])
            assert first.exception() is None
            with pytest.raises(Unavailable, match="shutting down"):
                await second
            with pytest.raises(Unavailable, match="stopp"):
                await lane.embed(EmbedJob(items=[(1,)]))
        return encoder

    assert asyncio.run(scene()).is_closed


def test_a_model_that_cannot_load_says_why() -> None:
    async def scene() -> VectorLane:
        lane = VectorLane("small", SmallEngine(SmallEncoder(), ValueError("no such file")), USUAL)
        with pytest.raises(EngineFault, match="ValueError: no such file"):
            await lane.start(lambda _: None)
        with pytest.raises(Unavailable, match="no such file"):
            await lane.embed(EmbedJob(items=[(1,)]))
        return lane

    assert asyncio.run(scene()).report().status == "failed"


def test_what_was_computed_is_counted() -> None:
    async def scene() -> VectorLane:
        async with running(SmallEncoder()) as lane:
            await lane.embed(EmbedJob(items=[(1, 2), (3,)]))
        return lane

    counters = asyncio.run(scene()).counters
    assert (counters.requests, counters.busy_slots, counters.prompt_tokens, counters.decode_calls) == (1, 2, 3, 1)
    assert sum(counters.batch_sizes) == 1
    assert counters.batch_sizes[1] == 1
