"""How likely a model is to answer with each of some given texts: nothing is sampled, the model is made to say them.

All of them stand behind one and the same prompt, which is read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from troth.conversation import Conversation
from troth.domain import Account, Ask, Finished, Job, Plan, Prompt, Sampling, Usage
from troth.engines.base import Generates, Relays, Vocabulary
from troth.errors import NotImplementedHere, OverContext, Refusal, Unsupported
from troth.reply.score import Scorer

CLIENTS = (400, 422)  # statuses of what is wrong with a request


@dataclass(frozen=True, slots=True)
class Scored:
    """The natural-log probability of every text as the whole answer, in their order, and what it took."""

    model: str
    logprobs: tuple[float, ...]
    usage: Usage


async def score(
    conversation: Conversation, ask: Ask, texts: Sequence[str], kind: str, path: str, account: Account
) -> Scored:
    """The texts scored by a model of the kind. `path`: the client's field, for refusals.

    Raises OverContext, NotImplementedHere and what a conversation raises.
    """
    if ask.source.media:
        where = ask.source.media[0].path
        raise Unsupported(f"{where}: pictures and sounds are not judged here; send the text alone.", param=where)
    plan = conversation.policy.decide(ask, kind)
    account.model, account.route = plan.model.id, plan.origins["model"]
    engine = await conversation.engines.ready(plan.model.id)
    if isinstance(engine, Relays):
        raise NotImplementedHere(f"The model {plan.model.id} is behind another server, which scores no texts here.")
    vocabulary = engine.vocabulary
    try:
        prompt = await conversation.prompts.render(
            plan, vocabulary=vocabulary, context_tokens=engine.context_tokens, grammars=engine.grammars
        )
        given = await conversation.prompts.aside(lambda: tokens_of(texts, vocabulary))
        room = max(map(len, given))
        if len(prompt.tokens) + room > engine.context_tokens:
            raise OverContext(len(prompt.tokens) + room, prompt.context_tokens)
        return await _said(engine, replace(prompt, answer_tokens=room), given, plan)
    except Refusal as refusal:
        if isinstance(refusal, OverContext) or (refusal.param is None and refusal.status in CLIENTS):
            refusal.param = path
        raise


async def _said(engine: Generates, prompt: Prompt, given: Sequence[tuple[int, ...]], plan: Plan) -> Scored:
    scorers = [Scorer() for _ in given]
    job = Job(
        prompt=prompt,
        sampling=Sampling(temperature=0),
        seed=0,
        interpreters=scorers,
        logprobs=0,
        given=tuple(given),
        tag=replace(plan.ask.tag, adapters=plan.adapters.key),
    )
    ticket = engine.submit(job)
    usage = Usage(len(prompt.tokens), 0, 0)
    try:
        async for event in ticket.events():
            if isinstance(event, Finished):
                usage = event.usage
    finally:
        ticket.cancel()
    return Scored(plan.model.id, tuple(scorer.logprob for scorer in scorers), usage)


def tokens_of(texts: Sequence[str], vocabulary: Vocabulary) -> list[tuple[int, ...]]:
    """The texts as tokens. Where one is the beginning of another, each ends with the end of the turn, so that the
    shorter is not the likelier for being short."""
    tokens = [tuple(vocabulary.tokenize(text, special=False, bos=False).tolist()) for text in texts]
    if any(a is not b and b[: len(a)] == a for a in tokens for b in tokens):
        end = vocabulary.tokenize(vocabulary.eos_text, special=True, bos=False).tolist()
        tokens = [(*each, *end) for each in tokens]
    return tokens
