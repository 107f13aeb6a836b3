"""Moderation by a guard model: how likely each of its verdicts is, and what is wrong where something is.

The guard is made to say its verdicts, so that the probabilities are those of its own words; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from troth.conversation import Conversation
from troth.domain import Account, Ask, Tag, Talk
from troth.domain.moderating import Judgement, ModerateAsk, Subject
from troth.errors import BadRequest, NotImplementedHere
from troth.policy.guards import GUARDS, Guard, GuardName
from troth.reply.score import shares
from troth.scoring import score

KIND = "moderation"


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationLimits:
    """The knobs of moderation; names are those of the config file, sections left out."""

    inputs_max: int = 64
    threshold: float = 0.5  # a category is wrong from this share of all that is wrong


@dataclass(frozen=True, slots=True)
class Moderations:
    """Judges texts through the corridor of conversations."""

    conversation: Conversation
    guards: Mapping[str, GuardName]  # by model id
    limits: ModerationLimits

    async def moderate(self, ask: ModerateAsk, account: Account) -> list[Judgement]:
        """Every subject judged, in their order. Raises BadRequest and what a conversation raises."""
        if len(ask.subjects) > self.limits.inputs_max:
            raise BadRequest(
                f"`input` has {len(ask.subjects)} texts; at most {self.limits.inputs_max} are judged "
                "(moderation.inputs_max).",
                param="input",
                details={"limit": self.limits.inputs_max},
            )
        judgements = [await self._judge(subject, ask, account) for subject in ask.subjects]
        account.prompt_tokens = sum(each.prompt_tokens for each in judgements)
        account.finish = "stop"
        return judgements

    async def _judge(self, subject: Subject, ask: ModerateAsk, account: Account) -> Judgement:
        wanted = Ask(source=Talk(subject.turns), model=ask.model, given=ask.given, seed=0, tag=Tag(owner=ask.owner))
        guard = self._guard(wanted)
        verdicts = await score(self.conversation, wanted, list(guard.labels.values()), KIND, subject.path, account)
        labels = dict(zip(guard.labels, shares(verdicts.logprobs, 1.0), strict=True))
        label = max(labels, key=labels.__getitem__)
        flagged = label != guard.safe and (ask.strict or label not in guard.mild)
        worst = max((each for each in labels if each != guard.safe), key=labels.__getitem__)
        texts = [guard.text_of(worst, category) for category in guard.categories]
        causes = await score(self.conversation, wanted, texts, KIND, subject.path, account)
        found = dict.fromkeys(guard.names(), 0.0)
        for name, share in zip(guard.categories.values(), shares(causes.logprobs, 1.0), strict=True):
            found[name] += share
        likeliest = max(found, key=found.__getitem__)
        wrong = {name for name, share in found.items() if share >= self.limits.threshold or name == likeliest}
        return Judgement(
            flagged=flagged,
            label=label,
            labels=labels,
            categories={name: share * (1 - labels[guard.safe]) for name, share in found.items()},
            wrong=frozenset(wrong if flagged else ()),
            prompt_tokens=verdicts.usage.prompt_tokens,
        )

    def _guard(self, ask: Ask) -> Guard:
        model = self.conversation.policy.decide(ask, KIND).model
        name = self.guards.get(model.id)
        if name is None:
            raise NotImplementedHere(f"The model {model.id} has no `guard` that says how it answers.", param="model")
        return GUARDS[name]
