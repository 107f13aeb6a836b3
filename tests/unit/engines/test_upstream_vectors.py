"""Vectors of another server: what the engine does at its end, and when the model over there is another one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from tests.support.upstream_server import Play, UpstreamServer, serving, silence, whole
from troth.domain.vectors import EmbedJob, Rows
from troth.engines.upstream.options import UpstreamVectorOptions
from troth.engines.upstream.vectors import UpstreamVectors
from troth.errors import BadRequest, Unavailable, UpstreamFault


def given(*vector: float) -> Play:
    return whole({"data": [{"index": 0, "embedding": vector}], "usage": {"prompt_tokens": 1}})


async def started(far: UpstreamServer, **options: Any) -> UpstreamVectors:
    settings = UpstreamVectorOptions(**{"server": "vllm", "urls": (far.url,), **options})
    engine = UpstreamVectors("far", settings, "embedding")
    await engine.start(lambda fraction: None)
    return engine


ONE = EmbedJob(items=["a"])


async def under_way(engine: UpstreamVectors, far: UpstreamServer) -> asyncio.Task[Rows]:
    """A request for a vector, once it has arrived over there."""
    await engine.learn()
    waiting = asyncio.create_task(engine.embed(ONE))
    while len(far.asked) < 2:
        await asyncio.sleep(0)
    return waiting


def test_the_end_of_the_server_ends_who_waits() -> None:
    async def scene() -> None:
        async with serving(given(1, 0), silence) as far:
            engine = await started(far)
            waiting = await under_way(engine, far)
            await engine.stop()

            with pytest.raises(Unavailable) as refused:
                await waiting
            assert refused.value.code == "stopping"
            assert engine.report().running == 0
            with pytest.raises(Unavailable):
                await engine.learn()

    asyncio.run(scene())


def test_who_leaves_hangs_up_over_there() -> None:
    async def scene() -> None:
        async with serving(given(1, 0), silence) as far:
            engine = await started(far)
            waiting = await under_way(engine, far)
            waiting.cancel()

            with pytest.raises(asyncio.CancelledError):
                await waiting
            await asyncio.wait_for(far.hung_up.wait(), 5)
            await engine.stop()

    asyncio.run(scene())


def test_another_model_over_there_is_learnt_after_one_fault() -> None:
    async def scene() -> None:
        async with serving(given(1, 0), given(1, 0, 0)) as far:
            engine = await started(far)
            await engine.learn()
            with pytest.raises(UpstreamFault, match="3 numbers, and 2 before"):
                await engine.embed(ONE)
            await engine.learn()
            assert (await engine.embed(ONE)).values.shape == (1, 3)
            await engine.stop()

    asyncio.run(scene())


def test_a_model_is_asked_what_it_is_once_whoever_wants_to_know() -> None:
    async def scene() -> None:
        async with serving(given(3, 4)) as far:
            engine = await started(far)
            await asyncio.gather(*(engine.learn() for _ in range(5)))
            assert len(far.asked) == 1
            assert (engine.facts.dimensions, engine.facts.normalizes) == (2, False)
            await engine.stop()

    asyncio.run(scene())


def test_token_ids_are_refused_where_the_other_server_may_not_know_them() -> None:
    async def scene() -> None:
        async with serving(given(1, 0)) as far:
            engine = await started(far, server="openai")
            await engine.learn()
            with pytest.raises(BadRequest) as refused:
                await engine.embed(EmbedJob(items=["a", (1, 2)]))
            assert refused.value.param == "input.1"
            await engine.stop()

    asyncio.run(scene())


def test_another_model_over_there_is_told_to_everybody_under_way() -> None:
    async def scene() -> None:
        async with serving(given(1, 0), given(1, 0, 0)) as far:
            engine = await started(far)
            await engine.learn()
            found = await asyncio.gather(*(engine.embed(ONE) for _ in range(3)), return_exceptions=True)
            assert [type(each) for each in found] == [UpstreamFault] * 3
            await engine.learn()
            assert engine.facts.dimensions == 3
            await engine.stop()

    asyncio.run(scene())
