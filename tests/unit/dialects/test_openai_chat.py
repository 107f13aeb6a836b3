"""Chat completions from request to last frame, with a scripted engine."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from typing import Any, cast

import numpy as np
import pytest

from troth._generated.models import ChatCompletionRequest
from troth.conversation import Conversation, Opened
from troth.deciding import Decisions
from troth.dialects.decision_form import DecisionForm
from troth.dialects.openai_chat import OpenAIChat
from troth.dialects.streams import StreamSettings
from troth.domain import (
    Account,
    Answer,
    Ask,
    Began,
    Budget,
    Call,
    Ended,
    Event,
    Finished,
    Plan,
    Prompt,
    Said,
    Sampling,
    ServedModel,
    Stream,
    Timings,
    Usage,
    Whole,
)
from troth.engines.base import Generates
from troth.errors import EngineFault, QueueTimeout, Refusal
from troth.omni.loop import Omni

NO_DECIDERS = DecisionForm(cast(Decisions, None), frozenset())
HELLO: list[Event] = [
    Began(0),
    Said("Hel"),
    Said("lo"),
    Ended(0, "stop"),
    Finished(Usage(prompt_tokens=4, answer_tokens=2), Timings(prompt_n=4, predicted_n=2, predicted_ms=1.0)),
]


class ScriptedTicket:
    """Plays events, then raises `fault` if there is one; `started` is what the queue says."""

    queue_seconds = 0.25

    def __init__(self, events: Sequence[Event], fault: Refusal | None, started: bool | Refusal) -> None:
        self._events, self._fault, self._started = events, fault, started
        self.cancelled = False
        self.waited: float | None = None

    async def wait_started(self, seconds: float) -> bool:
        self.waited = seconds
        if isinstance(self._started, Refusal):
            raise self._started
        return self._started

    async def events(self) -> AsyncIterator[Event]:
        for event in self._events:
            yield event
        if self._fault is not None:
            raise self._fault

    def cancel(self) -> None:
        self.cancelled = True


class ScriptedConversation:
    """A conversation whose policy, prompt and engine are a script."""

    def __init__(
        self, events: Sequence[Event] = (), *, fault: Refusal | None = None, started: bool | Refusal = True
    ) -> None:
        self.ticket = ScriptedTicket(events, fault, started)
        self.asked: Ask | None = None

    async def open(self, ask: Ask, account: Account) -> Opened:
        self.asked = ask
        model = ServedModel("smol", "chat", "scripted")
        plan = Plan(ask, model, Sampling(), 1, Budget(None, None, None), {})
        prompt = Prompt(np.zeros(4, np.int32), 8, 16)
        return Opened(plan, prompt, cast(Generates, None), self.ticket, account)


async def answered(script: ScriptedConversation, settings: StreamSettings, fields: dict[str, Any]) -> Answer:
    body = ChatCompletionRequest.model_validate_json(
        json.dumps({"messages": [{"role": "user", "content": "hi"}], **fields})
    )
    call = Call("create_chat_completion", body, None, frozenset(fields), Account(), True)
    return await OpenAIChat(cast(Conversation, script), cast(Omni, None), NO_DECIDERS, settings).create_chat_completion(
        call
    )


def whole(script: ScriptedConversation, **fields: Any) -> dict[str, Any]:
    answer = asyncio.run(answered(script, StreamSettings(), fields))
    assert isinstance(answer, Whole)
    assert isinstance(answer.body, dict)
    return answer.body


def streamed(script: ScriptedConversation, settings: StreamSettings | None = None, **fields: Any) -> list[bytes]:
    async def run() -> list[bytes]:
        answer = await answered(script, settings or StreamSettings(), {"stream": True, **fields})
        assert isinstance(answer, Stream)
        assert answer.keepalive == b": keepalive\n\n"
        return [frame async for frame in answer.frames]

    return b"".join(asyncio.run(run())).split(b"\n\n")[:-1]


def test_a_whole_answer_names_the_model_that_answered() -> None:
    script = ScriptedConversation(HELLO)

    body = whole(script, model="gpt-4")

    assert (body["model"], body["object"]) == ("smol", "chat.completion")
    assert body["choices"][0]["message"] == {"role": "assistant", "content": "Hello", "refusal": None}
    assert body["usage"]["total_tokens"] == 6
    assert script.ticket.cancelled


def test_a_stream_ends_with_done() -> None:
    script = ScriptedConversation(HELLO)

    frames = streamed(script)

    assert frames[-1] == b"data: [DONE]"
    deltas = [json.loads(frame[6:])["choices"][0]["delta"] for frame in frames[:-1]]
    assert deltas == [{"role": "assistant", "content": None}, {"content": "Hel"}, {"content": "lo"}, {}]
    assert script.ticket.cancelled


def test_a_fault_in_a_stream_is_one_error_frame_and_the_end() -> None:
    frames = streamed(ScriptedConversation(HELLO[:2], fault=EngineFault("out of memory")))

    assert json.loads(frames[-1][6:])["error"]["code"] == "engine_error"
    assert b"data: [DONE]" not in frames
    assert len(frames) == 3


def test_a_fault_in_a_whole_answer_is_raised() -> None:
    script = ScriptedConversation(HELLO[:2], fault=EngineFault("out of memory"))

    with pytest.raises(EngineFault):
        whole(script)
    assert script.ticket.cancelled


def test_a_queue_timeout_comes_before_the_first_byte() -> None:
    script = ScriptedConversation(started=QueueTimeout("waited too long", retry_seconds=1))

    with pytest.raises(QueueTimeout):
        streamed(script)
    assert script.ticket.cancelled


@pytest.mark.parametrize(("keepalive", "waited"), [(2.5, 2.5), (0.0, 10.0)])
def test_a_stream_waits_for_the_queue_as_long_as_a_keepalive(keepalive: float, waited: float) -> None:
    script = ScriptedConversation(HELLO, started=False)

    frames = streamed(script, StreamSettings(keepalive_seconds=keepalive))

    assert script.ticket.waited == waited
    assert frames[-1] == b"data: [DONE]"


def test_the_role_can_be_sent_at_once() -> None:
    async def first() -> bytes:
        answer = await answered(ScriptedConversation(), StreamSettings(first_event="role"), {"stream": True, "n": 2})
        assert isinstance(answer, Stream)
        return await anext(answer.frames)

    frames = asyncio.run(first()).split(b"\n\n")[:-1]

    assert [json.loads(frame[6:])["choices"][0]["index"] for frame in frames] == [0, 1]


def test_a_stream_that_nobody_reads_is_cancelled_when_it_is_dropped() -> None:
    script = ScriptedConversation(HELLO)

    async def drop() -> None:
        answer = await answered(script, StreamSettings(), {"stream": True})
        assert isinstance(answer, Stream)
        assert not script.ticket.cancelled
        del answer
        while not script.ticket.cancelled:
            await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(drop(), 5))


def test_a_cancelled_wait_for_the_queue_cancels_the_request() -> None:
    script = ScriptedConversation(HELLO)

    async def hang(seconds: float) -> bool:
        await asyncio.Event().wait()
        return False

    script.ticket.wait_started = hang  # type: ignore[method-assign]

    async def leave() -> None:
        task = asyncio.create_task(answered(script, StreamSettings(), {"stream": True}))
        while script.asked is None:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(leave())
    assert script.ticket.cancelled
