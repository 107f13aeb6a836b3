"""When an engine that ended by itself is started again."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from troth.engines.base import EngineGone
from troth.errors import EngineFault, Unavailable
from troth.scheduler.revival import BackOff, Revival


def test_each_wait_is_twice_as_long_as_the_one_before_up_to_the_longest() -> None:
    back_off = BackOff()

    assert [back_off.delay(1.0) for _ in range(8)] == [1, 2, 4, 8, 16, 32, 60, 60]


def test_five_minutes_of_health_begin_the_waits_anew() -> None:
    back_off = BackOff()
    for _ in range(5):
        back_off.delay(299.9)

    assert back_off.delay(300.0) == 1
    assert back_off.delay(0.0) == 2


class Frail:
    """An engine that has ended whenever it is asked, until it was started often enough."""

    name = "frail"

    def __init__(self, outcomes: Sequence[Exception | None]) -> None:
        self.outcomes = list(outcomes)
        self.starts = 0

    async def gone(self) -> EngineGone | None:
        return EngineGone("it ended") if self.outcomes else None

    async def start(self) -> None:
        self.starts += 1
        if (outcome := self.outcomes.pop(0)) is not None:
            raise outcome


@pytest.mark.parametrize(
    ("outcomes", "starts"),
    [
        ([None, None], 2),
        ([EngineFault("the file is gone"), EngineFault("the file is gone"), None], 3),
        ([Unavailable("stopping", retry_seconds=1), None], 1),
    ],
    ids=["each end is followed by a start", "a start that fails is tried again", "who stops is not started again"],
)
def test_an_engine_is_started_until_it_runs(outcomes: Sequence[Exception | None], starts: int) -> None:
    engine = Frail(outcomes)

    asyncio.run(Revival(engine, engine.start, BackOff(first_seconds=0.0)).run())

    assert engine.starts == starts


def test_a_stop_ends_the_wait_before_a_start() -> None:
    async def run() -> None:
        engine = Frail([None])
        revival = Revival(engine, engine.start)
        living = asyncio.create_task(revival.run())
        await asyncio.sleep(0)

        revival.stop()
        await asyncio.wait_for(living, 0.5)

        assert engine.starts == 0

    asyncio.run(run())
