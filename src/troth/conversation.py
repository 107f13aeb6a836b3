"""The corridor itself: how one Ask becomes a stream of events. Start reading here.

Ask ── policy ──► Plan ── prompt ──► Prompt ── engine ──► Ticket ── reply ──► Event …

Where the engine is another server, nothing is rendered: the Plan itself goes there, and Events come back.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass, replace
from typing import Protocol

from troth.domain import (
    Account,
    Ask,
    Ended,
    Event,
    Finished,
    Interpreter,
    Job,
    Plan,
    Prompt,
    RawText,
    ServedModel,
    Talk,
    Ticket,
)
from troth.engines.base import Generates, Relays
from troth.errors import Refusal
from troth.media.room import MediaRoom
from troth.policy.decide import Policy
from troth.prompt.raw import Written
from troth.prompt.relayed import relayed
from troth.prompt.render import Prompts
from troth.reply.kept import kept
from troth.reply.parts import parted
from troth.reply.verdict import judged

InterpreterFactory = Callable[[int, Ask], Interpreter]  # the choice's index, and what was asked
ClampCounter = Callable[[str], None]  # the field whose number was cut


class Engines(Protocol):
    """Whoever has the engines."""

    def held(self, model: str) -> AbstractContextManager[None]:
        """The engine of this model stays where it is while a request is prepared for it."""

    async def look_for(self, name: str | None) -> None:
        """Who might have a model of this name has been asked, where nobody is known to."""

    async def ready(self, model: str) -> Generates | Relays:
        """The engine of this model, once it answers. Raises Unavailable or LoadFailed."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """Answers Asks. The order of the lines in `open` is the architecture."""

    policy: Policy
    prompts: Prompts
    engines: Engines
    interpreter_factory: InterpreterFactory
    on_clamped: ClampCounter
    media: MediaRoom

    async def open(self, ask: Ask, account: Account) -> Opened:
        """The ask has a place in the line of its engine. Raises any Refusal that needs no waiting."""
        return self.submit(await self.prepare(ask, account), account)

    async def prepare(self, ask: Ask, account: Account) -> Prepared:
        """All that can be decided and read without an engine's time. Raises any Refusal but those of a full line."""
        plan = await self._decide(ask)
        account.model, account.route = plan.model.id, plan.origins["model"]
        engine = await self.engines.ready(plan.model.id)
        if isinstance(engine, Relays):
            plan = self.prompts.arranged(plan)
            engine.check(plan)
            return Prepared(plan, relayed(plan, engine.context_tokens), engine)
        with self.engines.held(plan.model.id):
            gaze = await self.media.look(plan, engine.sight, encodes=True)
            prompt = await self.prompts.render(
                plan,
                vocabulary=engine.vocabulary,
                context_tokens=engine.context_tokens,
                grammars=engine.grammars,
                views=gaze.views,
            )
            account.prompt_tokens += len(prompt.tokens)
            prompt = await self.media.show(prompt, gaze, plan, engine.sight)
        return Prepared(plan, prompt, engine)

    def submit(self, prepared: Prepared, account: Account) -> Opened:
        """The prepared ask has a place in the line. Raises QueueFull or Unavailable."""
        plan, prompt, engine = prepared.plan, prepared.prompt, prepared.engine
        ticket = engine.relay(plan, prompt) if isinstance(engine, Relays) else engine.submit(self._job(plan, prompt))
        if prompt.clamped_from is not None:
            self.on_clamped(plan.ask.budget_field)
        return Opened(plan, prompt, engine, ticket, account)

    async def engine(self, model: str | None) -> tuple[ServedModel, Generates | Relays]:
        """The named model, or the default one, and its engine. Raises Refusal."""
        chosen = (await self._decide(Ask(source=RawText(()), model=model))).model
        return chosen, await self.engines.ready(chosen.id)

    async def written(self, ask: Ask, account: Account) -> tuple[Plan, Written]:
        """What the model would read, without asking it to. Never waits for an engine. Raises Refusal."""
        plan = await self._decide(ask)
        account.model, account.route = plan.model.id, plan.origins["model"]
        engine = await self.engines.ready(plan.model.id)
        if isinstance(engine, Relays):
            plan = self.prompts.arranged(plan)
            found = Written(*await engine.read(plan))
        else:
            gaze = await self.media.look(plan, engine.sight, encodes=False)
            found = await self.prompts.write(
                plan, vocabulary=engine.vocabulary, context_tokens=engine.context_tokens, views=gaze.views
            )
        account.prompt_tokens = len(found.tokens)
        return plan, found

    async def _decide(self, ask: Ask) -> Plan:
        await self.engines.look_for(ask.model)
        return self.policy.decide(ask)

    def _job(self, plan: Plan, prompt: Prompt) -> Job:
        ask = plan.ask
        return Job(
            prompt=prompt,
            sampling=plan.sampling,
            seed=plan.seed,
            interpreters=[self.interpreter_factory(choice, ask) for choice in range(ask.choices)],
            ignore_eos=ask.ignore_eos,
            logprobs=ask.logprobs,
            as_drawn=ask.as_drawn,
            priority=ask.priority,
            tag=replace(ask.tag, adapters=plan.adapters.key),
            adapters=plan.adapters,
            progress=ask.progress,
            token_timings=ask.token_timings,
        )


@dataclass(frozen=True, slots=True)
class Prepared:
    """An ask that only lacks its place in the line."""

    plan: Plan
    prompt: Prompt
    engine: Generates | Relays

    @property
    def end_ids(self) -> frozenset[int]:
        """Every token id that ends a reply; none where another server keeps them to itself."""
        return frozenset() if isinstance(self.engine, Relays) else self.engine.vocabulary.end_ids


@dataclass(slots=True)
class Opened(AbstractAsyncContextManager["Opened"]):
    """An answer under way. Whoever opened it reads `events` to the end, or leaves through `async with`."""

    plan: Plan
    prompt: Prompt
    engine: Generates | Relays
    ticket: Ticket
    account: Account

    async def __aexit__(self, kind: object, reason: object, trace: object) -> None:
        if isinstance(reason, Refusal):
            self.account.finish = reason.code
        self.cancel()

    async def wait_started(self, seconds: float) -> bool:
        """True once the request has left the queue; False when `seconds` passed first. Raises Refusal."""
        try:
            return await self.ticket.wait_started(seconds)
        except Refusal as refusal:
            self.account.finish = refusal.code
            raise

    async def events(self) -> AsyncIterator[Event]:
        """The events in order; on every way out the ticket is given back and the account is filled."""
        finishes: dict[str, None] = {}
        async with self:
            async for event in self._told():
                if isinstance(event, Ended):
                    finishes[event.finish] = None
                yield self._settled(event, finishes) if isinstance(event, Finished) else event

    def _told(self) -> AsyncIterator[Event]:
        """The events of the engine, its texts told apart, and its ends judged where they must have a form."""
        told = self.ticket.events()
        if self.prompt.readers is not None:
            told = parted(told, self.prompt.readers)
        source = self.plan.ask.source
        if self.prompt.is_relayed and isinstance(source, Talk) and source.tools.reads_calls:
            told = kept(told, source.tools)
        form = self.plan.ask.form
        if form is None or form.triggers:
            return told
        return judged(told, form, is_relayed=self.prompt.is_relayed)

    def cancel(self) -> None:
        """The engine works on this no more, and the account is closed. Safe to call twice."""
        self.ticket.cancel()
        self.account.queue_seconds = self.ticket.queue_seconds
        if not self.account.finish:
            self.account.finish = "cancelled"

    def _settled(self, finished: Finished, finishes: Iterable[str]) -> Finished:
        account, usage, clamped_from = self.account, finished.usage, self.prompt.clamped_from
        if clamped_from is not None:
            cut = {"max_tokens_clamped_from": clamped_from, "max_tokens_clamped_to": self.prompt.answer_tokens}
            finished = replace(finished, timings=replace(finished.timings, **cut))
        account.prompt_tokens, account.cached_tokens = usage.prompt_tokens, usage.cached_tokens
        account.answer_tokens, account.finish = usage.answer_tokens, "+".join(finishes) or "stop"
        return finished
