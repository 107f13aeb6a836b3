"""Decisions by a text model: for every question, how likely each of its options is as the whole answer.

The model is made to say every option's name, token for token, behind one and the same prompt; nothing is sampled. The
state stands at the beginning of each prompt, so that the prefix cache reads it once for all questions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from troth.conversation import Conversation
from troth.domain import Account, Ask, Finished, Job, Prompt, Sampling
from troth.domain.deciding import DecideAsk, Decision, Question
from troth.engines.base import Generates, Vocabulary
from troth.errors import OverContext, Refusal
from troth.policy.decisions import DecisionLimits, bound, talk_of
from troth.reply.score import Scorer, shares

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
        wanted = Ask(source=talk_of(ask.state, question), model=ask.model, given=ask.given, seed=0)
        conversation = self.conversation
        plan = conversation.policy.decide(wanted, KIND)
        account.model, account.route = plan.model.id, plan.origins["model"]
        engine = await conversation.engines.ready(plan.model.id)
        vocabulary = engine.vocabulary
        try:
            prompt = await conversation.prompts.render(
                plan, vocabulary=vocabulary, context_tokens=engine.context_tokens, grammars=engine.grammars
            )
            given = await conversation.prompts.aside(lambda: names_of(question, vocabulary))
            room = max(map(len, given))
            if room > prompt.answer_tokens:
                raise OverContext(len(prompt.tokens) + room, prompt.context_tokens)
        except OverContext as refusal:
            refusal.param = f"questions.{question.id}"
            raise
        return await self._score(question, engine, replace(prompt, answer_tokens=room), given)

    async def _score(
        self, question: Question, engine: Generates, prompt: Prompt, given: Sequence[tuple[int, ...]]
    ) -> Decision:
        scorers = [Scorer() for _ in given]
        sampling = Sampling(temperature=0)
        ticket = engine.submit(
            Job(prompt=prompt, sampling=sampling, seed=0, interpreters=scorers, logprobs=0, given=tuple(given))
        )
        try:
            async for event in ticket.events():
                if isinstance(event, Finished):
                    usage = event.usage
        except Refusal as refusal:
            refusal.param = refusal.param or f"questions.{question.id}"
            raise
        finally:
            ticket.cancel()
        likely = shares([scorer.logprob for scorer in scorers], self.limits.temperature(question))
        return Decision(
            question=question,
            probabilities=likely,
            prompt_tokens=usage.prompt_tokens,
            cached_tokens=usage.cached_tokens,
        )


def names_of(question: Question, vocabulary: Vocabulary) -> list[tuple[int, ...]]:
    """The options' names as tokens. Where one is the beginning of another, each ends with the end of the turn, so that
    the shorter is not the likelier for being short."""
    names = [tuple(vocabulary.tokenize(option.key, special=False, bos=False).tolist()) for option in question.options]
    if any(a is not b and b[: len(a)] == a for a in names for b in names):
        end = vocabulary.tokenize(vocabulary.eos_text, special=True, bos=False).tolist()
        names = [(*name, *end) for name in names]
    return names
