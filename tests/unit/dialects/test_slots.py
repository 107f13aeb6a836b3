"""The slots, in llama-server's terms."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from tests.support.decoder import LETTERS, LetterVocabulary, ScriptedDecoder
from tests.support.lanes import Gate, call, engines, lanes, serve, submit
from troth._generated.models import SlotsParameters
from troth.dialects.slots import Slots
from troth.domain import Whole
from troth.errors import Unavailable
from troth.scheduler.lane import Lane, LaneSettings

Judge = Callable[[str, Any], None]
FIVE = [5, 4, 3, 2, 1]
IDLE = {
    "id": 1,
    "n_ctx": 256,
    "speculative": False,
    "is_processing": False,
    "id_task": -1,
    "n_prompt_tokens": 0,
    "n_prompt_tokens_processed": 0,
    "n_prompt_tokens_cache": 0,
    "params": {},
    "next_token": [{"has_next_token": False, "has_new_line": False, "n_remain": -1, "n_decoded": 0}],
}


class Lines(LetterVocabulary):
    """Its last letter is a line break."""

    def piece(self, token_id: int) -> bytes:
        """The letter."""
        return b"\n" if token_id == len(LETTERS) else super().piece(token_id)


async def listed(running: dict[str, Lane], **parameters: Any) -> list[dict[str, Any]]:
    answer = await Slots(engines(running)).slots(call(SlotsParameters(**parameters)))
    assert isinstance(answer, Whole)
    assert isinstance(answer.body, list)
    return answer.body


def test_a_busy_slot_tells_of_its_request_and_a_free_one_of_none(judge: Judge) -> None:
    gate = Gate(after=4)
    decoder = ScriptedDecoder(slots=2, picker=lambda held, seed: 3, before_decode=gate)

    async def run() -> list[dict[str, Any]]:
        async with lanes({"smol": decoder}) as running:
            ticket = submit(running["smol"], FIVE, 20)
            await gate.wait_reached()
            slots = await listed(running)
            gate.open()
            ticket.cancel()
            return slots

    busy, free = asyncio.run(run())

    judge("Slot", busy)
    judge("Slot", free)
    assert free == IDLE
    assert (busy["is_processing"], busy["id_task"], busy["n_prompt_tokens"]) == (True, 1, 5)
    assert (busy["n_prompt_tokens_processed"], busy["n_prompt_tokens_cache"]) == (5, 0)
    assert busy["next_token"] == [{"has_next_token": True, "has_new_line": False, "n_remain": 17, "n_decoded": 3}]
    assert (busy["params"]["temperature"], busy["params"]["n_predict"]) == (0.5, 20)


def test_cached_tokens_are_not_processed_ones() -> None:
    gate = Gate(after=3)
    decoder = ScriptedDecoder(slots=2, picker=lambda held, seed: 3, before_decode=gate)

    async def run() -> list[dict[str, Any]]:
        async with lanes({"smol": decoder}) as running:
            await serve(running["smol"], FIVE, 1)
            ticket = submit(running["smol"], [*FIVE, 9, 9], 20)
            await gate.wait_reached()
            slots = await listed(running)
            gate.open()
            ticket.cancel()
            return slots

    busy = asyncio.run(run())[0]

    assert (busy["n_prompt_tokens"], busy["n_prompt_tokens_cache"], busy["n_prompt_tokens_processed"]) == (7, 5, 2)


def test_a_line_break_in_the_answer_is_told() -> None:
    gate = Gate(after=2)
    decoder = ScriptedDecoder(vocabulary=Lines(), picker=lambda held, seed: len(LETTERS), before_decode=gate)

    async def run() -> bool:
        async with lanes({"smol": decoder}) as running:
            ticket = submit(running["smol"], FIVE, 20)
            await gate.wait_reached()
            slots = await listed(running)
            gate.open()
            ticket.cancel()
            return bool(slots[0]["next_token"][0]["has_new_line"])

    assert asyncio.run(run())


def test_without_an_idle_slot_one_may_ask_to_fail() -> None:
    gate = Gate()
    decoder = ScriptedDecoder(slots=1, before_decode=gate)

    async def run() -> None:
        async with lanes({"smol": decoder}) as running:
            assert len(await listed(running, fail_on_no_slot=True)) == 1
            ticket = submit(running["smol"], FIVE)
            await gate.wait_reached()

            with pytest.raises(Unavailable, match="all 1 of smol are busy") as refused:
                await listed(running, fail_on_no_slot=True)
            assert len(await listed(running, fail_on_no_slot=False)) == 1
            gate.open()
            ticket.cancel()
            assert (refused.value.type, refused.value.headers["Retry-After"]) == ("unavailable_error", "1")

    asyncio.run(run())


def test_the_model_can_be_named_and_says_whether_it_drafts() -> None:
    decoders = {"smol": ScriptedDecoder(), "big": ScriptedDecoder(slots=1, context_tokens=64)}

    async def run() -> None:
        async with lanes(decoders, LaneSettings(draft_tokens_max=8)) as running:
            (slot,) = await listed(running, model="big")

            assert (slot["n_ctx"], slot["speculative"]) == (64, True)
            assert len(await listed(running, model="agent")) == 4

    asyncio.run(run())
