"""An engine whose requests are counted: the same protocol, with the clock and the metrics beside it."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable

from troth.domain import Began, Ended, Event, Finished, Job, Plan, Prompt, Said, Ticket, TokenIds
from troth.engines.base import Compiles, EngineReport, Generates, LoadProgress, Relays, Vocabulary
from troth.engines.sight import Sees
from troth.errors import Refusal
from troth.watch.metrics import Finished as FinishedRequest
from troth.watch.metrics import Metrics

Clock = Callable[[], float]


class WatchedEngine:
    """`engine`, with every request it takes in the metrics of `model`."""

    def __init__(self, engine: Generates, model: str, metrics: Metrics, clock: Clock = time.perf_counter) -> None:
        self._engine = engine
        self._model = model
        self._metrics = metrics
        self._clock = clock
        self.honours = engine.honours

    async def start(self, progress: LoadProgress) -> None:
        """As the engine's own."""
        await self._engine.start(progress)

    async def stop(self) -> None:
        """As the engine's own."""
        await self._engine.stop()

    def report(self) -> EngineReport:
        """As the engine's own."""
        return self._engine.report()

    @property
    def vocabulary(self) -> Vocabulary:
        """As the engine's own."""
        return self._engine.vocabulary

    @property
    def grammars(self) -> Compiles | None:
        """As the engine's own."""
        return self._engine.grammars

    @property
    def sight(self) -> Sees | None:
        """As the engine's own."""
        return self._engine.sight

    @property
    def context_tokens(self) -> int:
        """As the engine's own."""
        return self._engine.context_tokens

    def submit(self, job: Job) -> Ticket:
        """As the engine's own; the ticket is counted when it ends."""
        asked = job.prompt.clamped_from or job.prompt.answer_tokens
        ticket, choices = self._engine.submit(job), len(job.interpreters)
        return WatchedTicket(ticket, choices, asked, self._model, self._metrics, self._clock)


class WatchedTicket:
    """A ticket that is timed from its making and counted once, however it ends."""

    def __init__(
        self, ticket: Ticket, choices: int, asked_tokens: int, model: str, metrics: Metrics, clock: Clock
    ) -> None:
        self._ticket = ticket
        self._choices = choices
        self._asked_tokens = asked_tokens
        self._model = model
        self._metrics = metrics
        self._clock = clock
        self._arrived = clock()
        self._last: dict[int, float] = {}  # choice → when it last spoke
        self._finishes: list[str] = []
        self._begun = False
        self._over = False

    async def wait_started(self, seconds: float) -> bool:
        """As the ticket's own."""
        try:
            return await self._ticket.wait_started(seconds)
        except Refusal:
            self._broken("error")
            raise

    async def events(self) -> AsyncIterator[Event]:
        """As the ticket's own."""
        try:
            async for event in self._ticket.events():
                self._note(event)
                yield event
        except Refusal:
            self._broken("error")
            raise
        finally:
            self._broken("abort")

    def cancel(self) -> None:
        """As the ticket's own."""
        self._ticket.cancel()
        self._broken("abort")

    @property
    def queue_seconds(self) -> float:
        """As the ticket's own."""
        return self._ticket.queue_seconds

    def _note(self, event: Event) -> None:
        match event:
            case Began():
                self._began(self._clock())
            case Said():
                self._spoke(event.choice)
            case Ended():
                self._finishes.append(event.finish)
            case Finished():
                self._finished(event)

    def _began(self, now: float) -> None:
        """The first token of any choice is the first of the request."""
        if not self._begun:
            self._begun = True
            self._metrics.observe_started(self._model, self._ticket.queue_seconds)
            self._metrics.observe_first_token(self._model, now - self._arrived)

    def _spoke(self, choice: int) -> None:
        now = self._clock()
        self._began(now)
        before = self._last.get(choice)
        if before is not None:
            self._metrics.observe_gap(self._model, now - before)
        self._last[choice] = now

    def _finished(self, event: Finished) -> None:
        self._over = True
        self._metrics.observe_finished(
            FinishedRequest(
                model=self._model,
                usage=event.usage,
                timings=event.timings,
                finishes=tuple(self._finishes),
                total_seconds=self._clock() - self._arrived,
                choices=self._choices,
                asked_tokens=self._asked_tokens,
            )
        )

    def _broken(self, reason: str) -> None:
        if not self._over:
            self._over = True
            self._metrics.observe_broken(self._model, self._choices - len(self._finishes), reason)


class WatchedRelay(Relays):
    """Another server, with every request it is given in the metrics of `model`."""

    def __init__(self, engine: Relays, model: str, metrics: Metrics, clock: Clock = time.perf_counter) -> None:
        self._engine = engine
        self._model = model
        self._metrics = metrics
        self._clock = clock
        self.honours = engine.honours

    async def start(self, progress: LoadProgress) -> None:
        """As the engine's own."""
        await self._engine.start(progress)

    async def stop(self) -> None:
        """As the engine's own."""
        await self._engine.stop()

    def report(self) -> EngineReport:
        """As the engine's own."""
        return self._engine.report()

    @property
    def context_tokens(self) -> int:
        """As the engine's own."""
        return self._engine.context_tokens

    def check(self, plan: Plan) -> None:
        """As the engine's own."""
        self._engine.check(plan)

    async def read(self, plan: Plan) -> tuple[TokenIds, str]:
        """As the engine's own."""
        return await self._engine.read(plan)

    def lists(self, name: str) -> bool:
        """As the engine's own."""
        return self._engine.lists(name)

    async def refresh(self) -> None:
        """As the engine's own."""
        await self._engine.refresh()

    def relay(self, plan: Plan, prompt: Prompt) -> Ticket:
        """As the engine's own; the ticket is counted when it ends."""
        ticket = self._engine.relay(plan, prompt)
        asked = prompt.clamped_from or max(prompt.answer_tokens, 0)
        return WatchedTicket(ticket, plan.ask.choices, asked, self._model, self._metrics, self._clock)
