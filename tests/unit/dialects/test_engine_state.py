"""Which engines a request means."""

from __future__ import annotations

import asyncio

import pytest

from tests.support.decoder import ScriptedDecoder, ScriptedEngine
from tests.support.lanes import KEEPING, engines, lanes
from troth.dialects.engine_state import Engines, held_tokens, share
from troth.engines.base import SlotReport
from troth.errors import NotFound, NotImplementedHere, Unavailable
from troth.scheduler.lane import Lane


def loading(name: str) -> Lane:
    return Lane(name, ScriptedEngine(ScriptedDecoder()), KEEPING)


def test_a_model_is_found_by_id_or_alias_and_the_first_is_the_default() -> None:
    found = engines({"smol": loading("smol"), "big": loading("big")})

    assert [found.one(name).name for name in (None, "", "smol", "agent", "big")] == ["smol"] * 4 + ["big"]


def test_an_unknown_model_is_not_found_and_the_known_ones_are_named() -> None:
    found = engines({"smol": loading("smol"), "big": loading("big")})

    for look in (found.one, found.several):
        with pytest.raises(NotFound, match="smol, big") as refused:
            look("gpt-4")
        assert refused.value.code == "model_not_found"


def test_without_a_chat_model_nothing_can_be_told() -> None:
    empty = Engines(list, lambda model: loading(model))

    for look in (empty.one, empty.several):
        with pytest.raises(NotImplementedHere, match="No chat model"):
            look(None)


def test_several_are_those_that_are_ready() -> None:
    async def run() -> None:
        async with lanes({"smol": ScriptedDecoder()}) as ready:
            found = engines({"big": loading("big"), **ready})

            assert [each.name for each in found.several(None)] == ["smol"]
            assert [each.name for each in found.several("big")] == ["big"]

    asyncio.run(run())


def test_while_everything_loads_whoever_asks_is_told_so() -> None:
    (only,) = engines({"smol": loading("smol")}).several(None)

    for ask in (only.engine.slots, only.engine.cache, only.engine.conversations):
        with pytest.raises(Unavailable, match="smol is loading"):
            ask()


@pytest.mark.parametrize(
    ("cached", "read", "said", "held"), [(0, 0, 0, 0), (4, 6, 0, 10), (4, 6, 1, 10), (4, 6, 3, 12), (60, 10, 3, 64)]
)
def test_the_newest_token_of_an_answer_is_not_in_memory_yet(cached: int, read: int, said: int, held: int) -> None:
    slot = SlotReport(id=0, context_tokens=64, task=1, cached_tokens=cached, read_tokens=read, answer_tokens=said)

    assert held_tokens(slot) == held


def test_a_share_of_nothing_is_nothing() -> None:
    assert (share(1, 3), share(0, 0)) == (0.333333, 0.0)
