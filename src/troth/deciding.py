"""Decisions by a text model: for every question, how likely each of its options is as the whole answer.

The state stands at the beginning of each prompt, so that the prefix cache reads it once for all questions.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from troth.conversation import Conversation
from troth.domain import Account, Ask, Tag
from troth.domain.deciding import DecideAsk, Decision, Question
from troth.policy.decisions import DecisionLimits, bound, talk_of
from troth.reply.score import shares
from troth.scoring import score

KIND = "decision"
AT_ONCE = 4  # questions of one request that wait or run


@dataclass(frozen=True, slots=True)
class Decisions:
    """Answers questions through the corridor of conversations."""

    conversation: Conversation
    limits: DecisionLimits

    async def decide(self, ask: DecideAsk, account: Account) -> list[Decision]:
        """Every question answered, in their order. Raises Unprocessable and what a conversation raises."""
        bound(ask, self.limits)
        first, *others = ask.questions
        decisions = [await self._answer(ask, first, account)]  # its beginning is what the others share
        gate = asyncio.Semaphore(AT_ONCE)

        async def in_turn(question: Question) -> Decision:
            async with gate:
                return await self._answer(ask, question, account)

        tasks = [asyncio.create_task(in_turn(question)) for question in others]
        try:
            decisions += await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
        account.prompt_tokens = sum(each.prompt_tokens for each in decisions)
        account.cached_tokens = sum(each.cached_tokens for each in decisions)
        account.finish = "stop"
        return decisions

    async def _answer(self, ask: DecideAsk, question: Question, account: Account) -> Decision:
        wanted = Ask(
            source=talk_of(ask.state, question), model=ask.model, given=ask.given, seed=0, tag=Tag(owner=ask.owner)
        )
        names = [option.key for option in question.options]
        scored = await score(self.conversation, wanted, names, KIND, question.path, account)
        return Decision(
            question=question,
            probabilities=shares(scored.logprobs, self.limits.temperature(question)),
            prompt_tokens=scored.usage.prompt_tokens,
            cached_tokens=scored.usage.cached_tokens,
        )
