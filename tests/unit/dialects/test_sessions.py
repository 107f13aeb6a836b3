"""Saved conversations and keep-names: listed, forgotten, released."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from tests.support.decoder import ScriptedDecoder
from tests.support.lanes import Gate, always, call, engines, lanes, serve, submit
from troth._generated.models import (
    ForgetLabelledSessionsParameters,
    ForgetSessionsParameters,
    ListHandlesParameters,
    ListSessionsParameters,
    ReleaseHandleParameters,
)
from troth.dialects.sessions import Sessions
from troth.domain import Answer, Call, Tag, Whole
from troth.errors import BadRequest, NotFound
from troth.scheduler.lane import Lane

Judge = Callable[[str, Any], None]
FIVE = [5, 4, 3, 2, 1]
LATER = 100.0


class Desk:
    """The routes of some lanes, asked LATER seconds after now."""

    def __init__(self, running: dict[str, Lane]) -> None:
        self._routes = Sessions(engines(running), lambda: time.time() + LATER)

    async def sessions(self, model: str | None = None) -> dict[str, Any]:
        """GET /sessions."""
        return await self._body(self._routes.list_sessions, ListSessionsParameters(model=model))

    async def forget(self, **query: str) -> int:
        """DELETE /sessions."""
        body = await self._body(self._routes.forget_sessions, ForgetSessionsParameters(**query))
        return int(body["deleted"])

    async def forget_label(self, label: str) -> int:
        """DELETE /sessions/{label}."""
        asked = ForgetLabelledSessionsParameters(label=label)
        return int((await self._body(self._routes.forget_labelled_sessions, asked))["deleted"])

    async def handles(self) -> dict[str, Any]:
        """GET /halogen/handles."""
        return await self._body(self._routes.list_handles, ListHandlesParameters())

    async def release(self, name: str) -> dict[str, Any]:
        """DELETE /halogen/handles/{name}."""
        return await self._body(self._routes.release_handle, ReleaseHandleParameters(name=name))

    @staticmethod
    async def _body(handler: Callable[[Call], Awaitable[Answer]], parameters: Any) -> dict[str, Any]:
        answer = await handler(call(parameters))
        assert isinstance(answer, Whole)
        assert isinstance(answer.body, dict)
        return answer.body


def told(story: Callable[[Desk, dict[str, Lane]], Awaitable[None]], **decoders: ScriptedDecoder) -> None:
    """The story, with two conversations at the model smol: chat-7, kept under `desk`, and an unnamed one."""

    async def run() -> None:
        async with lanes({"smol": always(3), **decoders}) as running:
            await serve(running["smol"], FIVE, 3, Tag("chat-7", "desk"))
            await serve(running["smol"], [9, 8, 7], 1)
            await story(Desk(running), running)

    asyncio.run(run())


def test_the_list_is_as_published_and_the_latest_comes_first(judge: Judge) -> None:
    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        body = await desk.sessions()
        judge("SessionList", body)
        unnamed, named = body["sessions"]

        assert (named["label"], named["handle"], named["model"], named["tokens"]) == ("chat-7", "desk", "smol", 7)
        assert (unnamed["label"], unnamed["handle"], unnamed["tokens"]) == (None, None, 3)
        assert named["age_s"] >= unnamed["age_s"] >= LATER
        assert named["idle_s"] >= LATER
        assert body["bytes_sum_overlapping"] == named["bytes"] + unnamed["bytes"] == body["occupancy"]["host_bytes"]
        assert (body["enabled"], body["tiers"]) == (True, {"host": True, "disk": False})
        assert body["pool"] == {"tokens_used": 0, "tokens_total": 1024, "unshared_tokens": 0}
        assert body["moved"]["to_host"] >= 2

    told(story)


def test_a_label_is_forgotten_with_all_its_states() -> None:
    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        await serve(running["smol"], [8, 8, 8], 1, Tag("chat-7"))

        assert await desk.forget_label("chat-7") == 2
        assert [each["label"] for each in (await desk.sessions())["sessions"]] == [None]
        with pytest.raises(NotFound, match="label 'chat-7'"):
            await desk.forget_label("chat-7")

    told(story)


def test_a_state_is_forgotten_by_its_id() -> None:
    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        unnamed, named = (await desk.sessions())["sessions"]

        assert await desk.forget(id=unnamed["id"]) == 1
        assert [each["id"] for each in (await desk.sessions())["sessions"]] == [named["id"]]
        with pytest.raises(NotFound, match=unnamed["id"]):
            await desk.forget(id=unnamed["id"])
        with pytest.raises(NotFound, match=f"id '{named['id']}' and the label 'other'"):
            await desk.forget(id=named["id"], label="other")
        assert await desk.forget(label="chat-7") == 1

    told(story)


def test_what_to_forget_must_be_said() -> None:
    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        for query in ({}, {"id": ""}, {"model": "smol"}):
            with pytest.raises(BadRequest, match="Say what to forget"):
                await desk.forget(**query)
        assert len((await desk.sessions())["sessions"]) == 2

    told(story)


def test_forgetting_reaches_every_model_unless_one_is_named() -> None:
    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        await serve(running["big"], FIVE, 1, Tag("chat-7"))
        both = (await desk.sessions())["sessions"]

        assert [each["model"] for each in both] == ["big", "smol", "smol"]
        assert len({each["id"] for each in both}) == 3
        assert len((await desk.sessions("big"))["sessions"]) == 1
        assert await desk.forget(label="chat-7", model="big") == 1
        assert await desk.forget(label="chat-7") == 1

    told(story, big=always(4))


def test_models_whose_states_are_used_whole_are_told_apart(judge: Judge) -> None:
    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        await serve(running["whole"], FIVE, 2)
        await serve(running["whole"], [*FIVE, 4, 9], 1)
        body = await desk.sessions("whole")

        judge("SessionList", body)
        assert body["linear"]["cached_tokens"] == 6
        assert body["linear"]["hit_rate"] == body["prefix_hit_rate"] == 0.5
        assert (await desk.sessions("smol"))["linear"]["checkpoints_written"] == 0

    told(story, whole=ScriptedDecoder(can_cut=False, picker=lambda held, seed: 4))


def test_handles_are_listed_and_released(judge: Judge) -> None:
    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        body = await desk.handles()
        judge("HandleList", body)
        (kept,) = body["data"]

        assert (kept["name"], kept["model"], kept["tokens"], kept["busy"]) == ("desk", "smol", 7, False)
        assert abs(kept["created_at"] - time.time()) < LATER
        assert await desk.release("desk") == {"name": "desk", "released": True}
        assert (await desk.handles())["data"] == []
        assert len((await desk.sessions())["sessions"]) == 2
        with pytest.raises(NotFound, match="'desk'"):
            await desk.release("desk")

    told(story)


def test_a_handle_is_busy_while_a_request_with_it_runs() -> None:
    gate = Gate(after=4)

    async def story(desk: Desk, running: dict[str, Lane]) -> None:
        await serve(running["big"], FIVE, 2, Tag(handle="stand"))
        ticket = submit(running["big"], [*FIVE, 4, 9], 20, Tag(handle="stand"))
        await gate.wait_reached()

        assert {each["name"]: each["busy"] for each in (await desk.handles())["data"]} == {"desk": False, "stand": True}
        gate.open()
        ticket.cancel()

    told(story, big=ScriptedDecoder(picker=lambda held, seed: 4, before_decode=gate))
