"""Moderation by a guard model or classifiers: how likely each verdict is, and what is wrong where something is.

A guard is made to say its verdicts, so that the probabilities are those of its own words; nothing is sampled. Pictures
are looked at by a classifier of pictures, whoever judges the text beside them, and what both find is one judgement.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from troth.conversation import Conversation
from troth.domain import Account, Ask, Tag, Talk
from troth.domain.moderating import Judgement, ModerateAsk, Subject, Verdicts
from troth.domain.vectors import EmbedJob
from troth.errors import BadRequest, NotImplementedHere, Unsupported
from troth.policy.classifiers import Classifier
from troth.policy.guards import GUARDS, Guard, GuardName
from troth.reply.score import shares
from troth.scoring import score
from troth.vectors import Vectors

KIND = "moderation"
NOTHING: frozenset[str] = frozenset()
UNNAMED = ("default", "capability")  # rules by which a model answers that the request does not name


@dataclass(frozen=True, slots=True, kw_only=True)
class ModerationLimits:
    """The knobs of moderation; names are those of the config file, sections left out."""

    inputs_max: int = 64
    threshold: float = 0.5  # a category is wrong from this share of all that is wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Judges:
    """Who judges a request; `model` is whom the answer names."""

    model: str
    route: str
    of_texts: str | None
    of_pictures: str | None


@dataclass(frozen=True, slots=True)
class Moderations:
    """Judges texts through the corridor of conversations."""

    conversation: Conversation
    vectors: Vectors
    guards: Mapping[str, GuardName]  # by model id
    classifiers: Mapping[str, Classifier]  # by model id
    order: Sequence[str]  # all of them as they are configured
    limits: ModerationLimits

    async def moderate(self, ask: ModerateAsk, account: Account) -> Verdicts:
        """Every subject judged, in their order. Raises BadRequest and what a conversation raises."""
        if len(ask.subjects) > self.limits.inputs_max:
            raise BadRequest(
                f"`input` has {len(ask.subjects)} texts; at most {self.limits.inputs_max} are judged "
                "(moderation.inputs_max).",
                param="input",
                details={"limit": self.limits.inputs_max},
            )
        judges = self._judges(ask)
        account.model, account.route = judges.model, judges.route
        found: list[list[Judgement]] = [[] for _ in ask.subjects]
        if judges.of_pictures is not None:
            await self._look(ask, judges.of_pictures, found, account)
            ask = replace(ask, subjects=[_unseen(subject) for subject in ask.subjects])
        if judges.of_texts is not None:
            said = [index for index, subject in enumerate(ask.subjects) if subject.has_text or subject.media]
            asked = replace(ask, subjects=[ask.subjects[index] for index in said], model=judges.of_texts)
            for index, judgement in zip(said, await self._read(asked, account), strict=True):
                found[index].insert(0, judgement)
        account.model, account.route, account.finish = judges.model, judges.route, "stop"
        return Verdicts(judgements=[joined(each) for each in found], image_model=judges.of_pictures)

    def _judges(self, ask: ModerateAsk) -> Judges:
        """Who judges what: the named model what it can, the first that can what it cannot.

        Raises NotImplementedHere where nobody can, BadRequest where the named model would judge nothing, and what
        `Policy.pick` raises.
        """
        model, route = self.conversation.policy.pick(ask.model, KIND, NOTHING)
        named = None if route in UNNAMED else model.id
        order = sorted(self.order, key=lambda each: each != named)
        lookers = [each for each in order if each in self.classifiers and self.classifiers[each].looks]
        readers = [each for each in order if each not in lookers]
        has_media = any(subject.media for subject in ask.subjects)
        has_text = any(subject.has_text for subject in ask.subjects) or (has_media and not lookers)
        path = ask.subjects[0].path
        if has_text and not readers:
            words = f"{path}: {model.id} looks at pictures, and no model here judges texts."
            raise NotImplementedHere(words, param=path)
        of_texts = readers[0] if has_text else None
        of_pictures = lookers[0] if has_media and lookers else None
        first = of_texts or of_pictures
        assert first is not None, "a subject without text and media was refused"
        if named is not None and named not in (of_texts, of_pictures):
            what = "looks at pictures" if named in lookers else "reads texts"
            raise BadRequest(f"{path}: the model {named} {what}, and there is none.", param="model")
        self.conversation.policy.pick(first, KIND, ask.given)
        return Judges(model=first, route=route, of_texts=of_texts, of_pictures=of_pictures)

    async def _look(self, ask: ModerateAsk, model: str, found: list[list[Judgement]], account: Account) -> None:
        """What is shown, by a classifier of pictures; each judgement is in `found` at the place of its subject."""
        media = [(index, medium) for index, subject in enumerate(ask.subjects) for medium in subject.media]
        prepare = self.conversation.media.prepare
        rows = await self.vectors.look(model, lambda form: prepare([each for _, each in media], form), account)
        for (index, _), numbers in zip(media, rows.values, strict=True):
            found[index].append(self.classifiers[model].judge(numbers, self.limits.threshold))

    async def _read(self, ask: ModerateAsk, account: Account) -> list[Judgement]:
        """What is said, by a guard or a classifier."""
        assert ask.model is not None
        if (classifier := self.classifiers.get(ask.model)) is not None:
            return await self._classified(ask, classifier, account)
        judged = [await self._judge(subject, ask, account) for subject in ask.subjects]
        account.prompt_tokens = sum(tokens for _, tokens in judged)
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
            applied={name: ("text",) if name in guard.categories.values() else () for name in found},
        )
        return judgement, verdicts.usage.prompt_tokens

    async def _classified(self, ask: ModerateAsk, classifier: Classifier, account: Account) -> list[Judgement]:
        """Every subject by a classifier, which reads a conversation as its messages one under the other."""
        for subject in ask.subjects:
            if subject.media:
                where = subject.media[0].path
                raise Unsupported(
                    f"{where}: pictures and sounds are not judged here; send the text alone.", param=where
                )
        texts = tuple("\n".join(turn.transcript for turn in subject.turns) for subject in ask.subjects)
        path, _, place = ask.subjects[0].path.partition(".")
        assert ask.model is not None
        job = EmbedJob(items=texts, is_list=bool(place), field=path, may_truncate=False)
        rows = await self.vectors.read(ask.model, job, account)
        return [classifier.judge(logits, self.limits.threshold) for logits in rows.values]

    def _guard(self, ask: Ask) -> Guard:
        model = self.conversation.policy.decide(ask, KIND).model
        name = self.guards.get(model.id)
        if name is None:
            raise NotImplementedHere(f"The model {model.id} has no `guard` that says how it answers.", param="model")
        return GUARDS[name]


def _unseen(subject: Subject) -> Subject:
    """What is said in it, once what is shown has been judged."""
    return replace(subject, turns=tuple(replace(turn, media=()) for turn in subject.turns))


def joined(found: Sequence[Judgement]) -> Judgement:
    """One judgement of a subject of which each part was judged: what is wrong with one is wrong with it.

    Label and its shares are those of the worst part, with those of labels that only other parts were judged by.
    """
    worst, *others = sorted(found, key=_badness, reverse=True)
    labels, categories, applied = dict(worst.labels), dict(worst.categories), dict(worst.applied)
    for each in others:
        labels = dict(each.labels) | labels
        categories.update({name: max(share, categories.get(name, 0.0)) for name, share in each.categories.items()})
    for name in categories:
        applied[name] = tuple(dict.fromkeys(looked for each in found for looked in each.applied.get(name, ())))
    return Judgement(
        flagged=worst.flagged,
        label=worst.label,
        labels=labels,
        categories=categories,
        wrong=frozenset().union(*(each.wrong for each in found)),
        applied=applied,
    )


def _badness(judgement: Judgement) -> tuple[bool, float]:
    return judgement.flagged, max(judgement.categories.values(), default=0.0)
