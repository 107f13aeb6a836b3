"""The short corridor: texts that a model reads and does not continue.

Ask ── policy ──► items ── engine ──► rows ── reply ──► vectors, or scores
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from troth.domain import Account
from troth.domain.vectors import EmbedAsk, EmbedJob, PictureForm, Planes, RerankAsk, RerankJob, Rows, Values
from troth.engines.base import Classifies, Embeds, Reranks
from troth.errors import Refusal
from troth.policy.decide import Policy
from troth.policy.vectors import VectorLimits, checked_documents, checked_items, settled_norm
from troth.reply.vectors import as_shares, scaled

Show = Callable[[PictureForm], Awaitable[Sequence[Planes]]]
Served = Callable[[str, Rows, float], None]  # the model, what it gave, and the seconds from arrival to then


class Engines(Protocol):
    """Whoever has the engines. Every method raises Unavailable or LoadFailed while one cannot be asked."""

    async def embedder(self, model: str) -> Embeds:
        """The engine of this model of vectors, or classifier, once it answers."""

    async def reranker(self, model: str) -> Reranks:
        """The engine of this rerank model, once it answers."""

    async def classifier(self, model: str) -> Classifies:
        """The engine of this model that looks at pictures, once it answers."""

    def held(self, model: str) -> AbstractContextManager[None]:
        """The model's engine stays where it is while a request is prepared for it."""


@dataclass(frozen=True, slots=True)
class Embedded:
    """The vectors of a request, scaled as asked, and the model that gave them."""

    model: str
    vectors: Values
    rows: Rows


@dataclass(frozen=True, slots=True)
class Ranked:
    """The scores of a request's documents, in the order in which they were sent."""

    model: str
    raw: Values  # as the model gives them
    shares: Values  # from 0 to 1
    rows: Rows


@dataclass(frozen=True, slots=True)
class Vectors:
    """Answers asks for vectors and for relevance."""

    policy: Policy
    engines: Engines
    limits: VectorLimits
    on_served: Served

    async def embed(self, ask: EmbedAsk, account: Account) -> Embedded:
        """The vectors of the items. Raises any Refusal."""
        model, account.route = self.policy.pick(ask.model, "embedding", ask.given)
        account.model = model.id
        items = checked_items(ask, model, self.limits)
        engine = await self.engines.embedder(model.id)
        facts = engine.facts
        ask = settled_norm(ask, facts.dimensions, normalizes=facts.normalizes)
        assert ask.norm is not None
        job = EmbedJob(items=items, truncate=ask.truncate, is_list=ask.is_list)
        rows = await self._told(model.id, account, engine.embed(job))
        return Embedded(model.id, scaled(rows.values, ask.dimensions, ask.norm), rows)

    async def read(self, model: str, job: EmbedJob, account: Account) -> Rows:
        """The numbers that a model gives for texts, as it gives them. Raises any Refusal."""
        engine = await self.engines.embedder(model)
        return await self._told(model, account, engine.embed(job))

    async def look(self, model: str, show: Show, account: Account) -> Rows:
        """The numbers that a model gives for pictures, which `show` makes as it wants them. Raises any Refusal."""
        engine = await self.engines.classifier(model)
        assert engine.facts.picture is not None
        with self.engines.held(model):
            pictures = await show(engine.facts.picture)
            return await self._told(model, account, engine.classify(pictures))

    async def rerank(self, ask: RerankAsk, account: Account) -> Ranked:
        """The scores of the documents. Raises any Refusal."""
        model, account.route = self.policy.pick(ask.model, "rerank", ask.given)
        account.model = model.id
        checked_documents(ask, self.limits)
        engine = await self.engines.reranker(model.id)
        gives_shares = engine.facts.gives_shares
        job = RerankJob(query=ask.query, documents=ask.documents, truncate=ask.truncate, field=ask.field)
        rows = await self._told(model.id, account, engine.rerank(job))
        raw = rows.values[:, 0]
        return Ranked(model.id, raw, raw if gives_shares else as_shares(raw), rows)

    async def _told(self, model: str, account: Account, work: Awaitable[Rows]) -> Rows:
        """What `work` comes to; the account and the counts know of it."""
        started = time.perf_counter()
        account.finish = "cancelled"
        try:
            rows = await work
        except Refusal as refusal:
            account.finish = refusal.code
            raise
        account.prompt_tokens, account.queue_seconds, account.finish = rows.tokens, rows.queue_seconds, "stop"
        self.on_served(model, rows, time.perf_counter() - started)
        return rows
