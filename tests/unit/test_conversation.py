"""The corridor: what `open` hands to the engine, and that no way out leaves work behind."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractContextManager, aclosing, nullcontext
from typing import Any, cast

import pytest

from tests.support.scripted import ScriptedVocabulary
from troth.conversation import Conversation, Opened
from troth.domain import (
    Account,
    Ask,
    Began,
    Ended,
    Event,
    Finished,
    Job,
    Piece,
    Said,
    ServedModel,
    Talk,
    Timings,
    Turn,
    Usage,
)
from troth.engines.base import EngineReport, Generates, LoadProgress, Vocabulary
from troth.errors import BadRequest, EngineFault, NotFound, QueueFull, QueueTimeout, Refusal
from troth.media.room import MediaRoom
from troth.media.settings import MediaSettings
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings
from troth.prompt.render import Prompts, PromptSettings

HELLO: Sequence[Event] = (
    Began(0),
    Said("hel"),
    Said("lo"),
    Ended(0, "stop"),
    Finished(Usage(20, 2, cached_tokens=5), Timings(predicted_n=2)),
)


class ScriptedTicket:
    """Gives its events, then raises its refusal if it has one. With neither it never ends."""

    queue_seconds = 1.5

    def __init__(self, script: Sequence[Event], refusal: Refusal | None) -> None:
        self._script = script
        self._refusal = refusal
        self.cancels = 0
        self.stuck = asyncio.Event()

    async def wait_started(self, seconds: float) -> bool:
        if self._refusal:
            raise self._refusal
        return seconds > 0

    async def events(self) -> AsyncIterator[Event]:
        for event in self._script:
            yield event
        if self._refusal:
            raise self._refusal
        if not self._script:
            self.stuck.set()
            await asyncio.Event().wait()

    def cancel(self) -> None:
        self.cancels += 1


class ScriptedEngine:
    """Answers every job with one script."""

    honours: frozenset[str] = frozenset()
    vocabulary: Vocabulary = ScriptedVocabulary()
    grammars = None
    sight = None
    context_tokens = 100

    def __init__(self, script: Sequence[Event] = HELLO, refusal: Refusal | None = None) -> None:
        self.ticket = ScriptedTicket(script, refusal)
        self.jobs: list[Job] = []

    async def start(self, progress: LoadProgress) -> None:
        progress(1.0)

    async def stop(self) -> None:
        self.jobs.clear()

    def report(self) -> EngineReport:
        return EngineReport(status="ready")

    def submit(self, job: Job) -> ScriptedTicket:
        self.jobs.append(job)
        return self.ticket


class FullEngine(ScriptedEngine):
    """Takes no job."""

    def submit(self, job: Job) -> ScriptedTicket:
        raise QueueFull(1, retry_seconds=1)


class Silent:
    """An interpreter that says nothing and knows what it was made with."""

    stopped = None
    finish = None

    def __init__(self, choice: int, ask: Ask) -> None:
        self.made_with = (choice, ask.stop)

    def feed(self, piece: Piece) -> Said | None:
        return None

    def flush(self) -> Said | None:
        return None


class Standing:
    """One engine that is always ready."""

    def __init__(self, engine: Generates) -> None:
        self._engine = engine

    def held(self, model: str) -> AbstractContextManager[None]:
        return nullcontext()

    async def look_for(self, name: str | None) -> None:
        """Nobody else has anything."""

    async def ready(self, model: str) -> Generates:
        return self._engine


class Scene:
    """A conversation with one scripted engine, and an account to look at."""

    def __init__(self, engine: ScriptedEngine | None = None) -> None:
        self.engine = engine or ScriptedEngine()
        self.clamped: list[str] = []
        self.account = Account()
        self.prompts = Prompts(PromptSettings())
        settings = PolicySettings(unknown_model="refuse", choices_max=3)
        self.conversation = Conversation(
            policy=Policy([ServedModel("m", "chat", "scripted")], settings, {}, draw_seed=lambda: 42),
            prompts=self.prompts,
            engines=Standing(cast(Generates, self.engine)),
            interpreter_factory=Silent,
            on_clamped=self.clamped.append,
            media=MediaRoom(MediaSettings()),
        )

    async def open(self, **said: Any) -> Opened:
        try:
            return await self.conversation.open(Ask(source=Talk((Turn(role="user", text="hi"),)), **said), self.account)
        finally:
            self.prompts.close()


async def read(opened: Opened) -> list[Event]:
    return [event async for event in opened.events()]


def test_events_arrive_in_order_and_the_account_is_filled() -> None:
    async def scenario() -> list[Event]:
        return await read(await scene.open())

    scene = Scene()

    assert asyncio.run(scenario()) == list(HELLO)
    assert scene.account == Account(
        model="m", route="default", prompt_tokens=20, cached_tokens=5, answer_tokens=2, queue_seconds=1.5, finish="stop"
    )
    assert scene.engine.ticket.cancels > 0


def test_the_job_carries_the_plan() -> None:
    scene = Scene()

    opened = asyncio.run(
        scene.open(choices=2, stop=("x", ""), ignore_eos=True, logprobs=3, priority=-1, progress=True, seed=7)
    )

    (job,) = scene.engine.jobs
    made_with = [cast(Silent, interpreter).made_with for interpreter in job.interpreters]
    assert made_with == [(0, ("x",)), (1, ("x",))]
    assert (job.seed, job.ignore_eos, job.logprobs, job.priority, job.progress) == (7, True, 3, -1, True)
    assert job.prompt is opened.prompt
    assert scene.account.prompt_tokens == len(job.prompt.tokens)
    opened.cancel()


def test_a_clamped_budget_is_reported_in_the_timings() -> None:
    async def scenario() -> Event:
        return (await read(await scene.open(budget_tokens=500, budget_field="max_completion_tokens")))[-1]

    scene = Scene()

    finished = asyncio.run(scenario())

    assert isinstance(finished, Finished)
    room = 100 - len(scene.engine.jobs[0].prompt.tokens)
    assert (finished.timings.max_tokens_clamped_from, finished.timings.max_tokens_clamped_to) == (500, room)
    assert finished.timings.predicted_n == 2
    assert scene.clamped == ["max_completion_tokens"]


@pytest.mark.parametrize(("said", "refusal"), [({"model": "x"}, NotFound), ({"choices": 9}, BadRequest)])
def test_what_policy_refuses_never_reaches_the_engine(said: dict[str, Any], refusal: type[Refusal]) -> None:
    scene = Scene()

    with pytest.raises(refusal):
        asyncio.run(scene.open(**said))

    assert scene.engine.jobs == []


def test_a_full_queue_is_told_before_the_answer_begins() -> None:
    scene = Scene(FullEngine())

    with pytest.raises(QueueFull):
        asyncio.run(scene.open(budget_tokens=500))


@pytest.mark.parametrize("events", range(len(HELLO)))
def test_leaving_the_events_early_cancels(events: int) -> None:
    async def scenario() -> None:
        opened = await scene.open()
        async with aclosing(cast(Any, opened.events())) as stream:
            for _ in range(events):
                await anext(stream)
        opened.cancel()

    scene = Scene()

    asyncio.run(scenario())

    assert scene.engine.ticket.cancels > 0
    assert scene.account.finish == "cancelled"


def test_an_answer_that_is_never_read_is_cancelled_by_its_context() -> None:
    async def scenario() -> None:
        async with await scene.open() as opened:
            assert await opened.wait_started(1.0)

    scene = Scene()

    asyncio.run(scenario())

    assert scene.engine.ticket.cancels > 0


def test_a_task_that_is_cancelled_while_reading_gives_the_ticket_back() -> None:
    async def scenario() -> None:
        opened = await scene.open()
        reading = asyncio.create_task(read(opened))
        await scene.engine.ticket.stuck.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading

    scene = Scene(ScriptedEngine(()))

    asyncio.run(scenario())

    assert scene.engine.ticket.cancels > 0


def test_cancelling_after_the_end_changes_nothing() -> None:
    async def scenario() -> None:
        opened = await scene.open()
        await read(opened)
        opened.cancel()
        opened.cancel()

    scene = Scene()

    asyncio.run(scenario())

    assert scene.account.finish == "stop"


def test_a_fault_of_the_engine_is_raised_and_is_no_cancellation() -> None:
    async def scenario() -> None:
        await read(await scene.open())

    scene = Scene(ScriptedEngine(HELLO[:2], EngineFault("broken")))

    with pytest.raises(EngineFault):
        asyncio.run(scenario())

    assert scene.engine.ticket.cancels > 0
    assert scene.account.finish == "engine_error"


def test_waiting_too_long_is_raised_and_is_no_cancellation() -> None:
    async def scenario() -> None:
        opened = await scene.open()
        try:
            await opened.wait_started(1.0)
        finally:
            opened.cancel()

    scene = Scene(ScriptedEngine((), QueueTimeout("too long", retry_seconds=1)))

    with pytest.raises(QueueTimeout):
        asyncio.run(scenario())

    assert scene.account.finish == "queue_timeout"


def test_choices_that_end_differently_are_both_in_the_account() -> None:
    async def scenario() -> None:
        await read(await scene.open(choices=2))

    script = (Ended(0, "length"), Ended(1, "stop"), Finished(Usage(20, 2), Timings()))
    scene = Scene(ScriptedEngine(script))

    asyncio.run(scenario())

    assert scene.account.finish == "length+stop"
