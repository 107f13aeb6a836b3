"""Moderation by a guard model or a classifier: how likely each verdict is, and what is wrong where something is.

A guard is made to say its verdicts, so that the probabilities are those of its own words; nothing is sampled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from troth.conversation import Conversation
from troth.domain import Account, Ask, Tag, Talk
from troth.domain.moderating import Judgement, ModerateAsk, Subject
from troth.domain.vectors import EmbedJob
from troth.errors import BadRequest, NotImplementedHere, Unsupported
from troth.policy.classifiers import Classifier
from troth.policy.guards import GUARDS, Guard, GuardName
from troth.reply.score import shares
from troth.scoring import score
from troth.vectors import Vectors

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
    vectors: Vectors
    guards: Mapping[str, GuardName]  # by model id
    classifiers: Mapping[str, Classifier]  # by model id
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
        model, route = self.conversation.policy.pick(ask.model, KIND, ask.given)
        if (classifier := self.classifiers.get(model.id)) is not None:
            account.model, account.route = model.id, route
            return await self._classified(ask, classifier, account)
        judged = [await self._judge(subject, ask, account) for subject in ask.subjects]
        account.prompt_tokens = sum(tokens for _, tokens in judged)
        account.finish = "stop"
        return [judgement for judgement, _ in judged]

    async def _judge(self, subject: Subject, ask: ModerateAsk, account: Account) -> tuple[Judgement, int]:
        """The judgement of the guard, and the tokens that it read."""
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
        judgement = Judgement(
            flagged=flagged,
            label=label,
            labels=labels,
            categories={name: share * (1 - labels[guard.safe]) for name, share in found.items()},
            wrong=frozenset(wrong if flagged else ()),
        )
        return judgement, verdicts.usage.prompt_tokens

    async def _classified(self, ask: ModerateAsk, classifier: Classifier, account: Account) -> list[Judgement]:
        """Every subject by a classifier, which reads a conversation as its messages one under the other."""
        for subject in ask.subjects:
            if media := Talk(subject.turns).media:
                where = media[0].path
                raise Unsupported(
                    f"{where}: pictures and sounds are not judged here; send the text alone.", param=where
                )
        texts = tuple("\n".join(turn.text for turn in subject.turns) for subject in ask.subjects)
        path, _, place = ask.subjects[0].path.partition(".")
        rows = await self.vectors.read(account.model, EmbedJob(items=texts, is_list=bool(place), field=path), account)
        return [classifier.judge(logits, self.limits.threshold) for logits in rows.values]

    def _guard(self, ask: Ask) -> Guard:
        model = self.conversation.policy.decide(ask, KIND).model
        name = self.guards.get(model.id)
        if name is None:
            raise NotImplementedHere(f"The model {model.id} has no `guard` that says how it answers.", param="model")
        return GUARDS[name]
