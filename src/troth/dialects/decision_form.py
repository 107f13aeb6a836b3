"""halogen's chat decision form: a chat request to a decision model, whose schema names what may be answered.

The question is the schema's description, the conversation is what it is about, and the options are the values that
the schema allows: an `enum`, a `oneOf` of `const`s with descriptions, a boolean, or an object of one such property.
The likeliest option is the answer, as JSON; nothing is sampled. `logprobs` tells how likely the options are.
"""

from __future__ import annotations

import json
import math
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from troth._generated.models import ChatCompletionRequest
from troth.deciding import Decisions
from troth.domain import Account, Ask, Ended, Event, Finished, Form, Piece, Said, Talk, Timings, TokenLogprob, Usage
from troth.domain.deciding import DecideAsk, Decision, Option, Question, QuestionKind
from troth.errors import BadRequest, OverContext, Unprocessable, Unsupported
from troth.reply.verdict import fault_of

ASKING = ("model", "messages", "response_format", "json_schema")
TELLING = ("stream", "stream_options", "logprobs", "top_logprobs", "n_probs")
TAKEN = frozenset({*ASKING, *TELLING, "temperature", "seed", "max_tokens"})  # there is no token to be too many
YES, NO = "yes", "no"
OPTIONS_MIN = 2
NO_TOKEN = -1  # an option is no token of the vocabulary
HOW = (
    "A decision model answers with one of the values that a schema allows: send `response_format` of the type "
    "json_schema, whose `description` is the question, with an enum, a oneOf of consts, a boolean, or an object of "
    "one such property. /v1/systemone takes other questions."
)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question, and the answer that each of its options stands for, in their order."""

    question: Question
    answers: tuple[str, ...]  # JSON


@dataclass(frozen=True, slots=True)
class Decided:
    """An answer as events, so that it is written as every other one is."""

    answers: tuple[str, ...]
    decision: Decision
    alternatives: int | None  # how many are told; None: no probabilities at all

    async def events(self) -> AsyncIterator[Event]:
        """The text, its end and the counts."""
        found, likely = self.decision, self.decision.probabilities
        best = max(range(len(likely)), key=likely.__getitem__)
        text = self.answers[best]
        yield Said(text, () if self.alternatives is None else (self._piece(best, self.alternatives),))
        yield Ended(0, "stop")
        yield Finished(
            Usage(found.prompt_tokens, 0, found.cached_tokens),
            Timings(cache_n=found.cached_tokens, prompt_n=found.prompt_tokens - found.cached_tokens),
        )

    def cancel(self) -> None:
        """Nothing is under way any more."""

    def _piece(self, best: int, alternatives: int) -> Piece:
        options = [
            TokenLogprob(NO_TOKEN, answer.encode(), math.log(share) if share > 0 else -math.inf)
            for answer, share in zip(self.answers, self.decision.probabilities, strict=True)
        ]
        ranked = sorted(options, key=lambda option: -option.logprob)
        return Piece(NO_TOKEN, self.answers[best].encode(), options[best], tuple(ranked[:alternatives]))


class DecisionForm:
    """Answers chat requests to the models that only decide."""

    def __init__(self, decisions: Decisions, names: frozenset[str]) -> None:
        """`names`: all by which such models are called."""
        self._decisions = decisions
        self._names = names

    def takes(self, model: str | None) -> bool:
        """True for a model that only decides."""
        return model in self._names

    async def decide(self, body: ChatCompletionRequest, ask: Ask, account: Account) -> Decided:
        """The decision. Raises BadRequest, Unsupported, and what a conversation raises."""
        asked = read(body, ask)
        wanted = DecideAsk(
            state=_state(ask), questions=[asked.question], model=ask.model, given=ask.given, owner=ask.tag.owner
        )
        try:
            (decision,) = await self._decisions.decide(wanted, account)
        except OverContext as refused:
            refused.param = "messages"
            raise
        except Unprocessable as refused:
            raise BadRequest(refused.message, param=refused.param, details=refused.details) from refused
        return Decided(asked.answers, decision, ask.logprobs)


# ---- the request ----------------------------------------------------------------------------------


def read(body: ChatCompletionRequest, ask: Ask) -> Asked:
    """The question of a chat request. Raises BadRequest, and Unsupported for what a decision cannot do."""
    _check_taken(body, ask)
    form = ask.form
    if form is None or form.kind != "json_schema" or not isinstance(form.body, Mapping) or form.triggers:
        raise BadRequest(HOW, param="response_format", code="missing_required_parameter")
    schema: Mapping[str, Any] = form.body
    name, inner = _property(schema, form.path)
    kind, values = _values(inner, form.path)
    options = tuple(_option(kind, value, words) for value, words in values)
    answers = tuple(
        json.dumps(value if name is None else {name: value}, ensure_ascii=False, separators=(",", ":"))
        for value, _ in values
    )
    _check_options(options, answers, form)
    question = Question(
        id="", kind=kind, instructions=_instructions(body, schema, inner, form.path), options=options, path=form.path
    )
    return Asked(question, answers)


def _check_taken(body: ChatCompletionRequest, ask: Ask) -> None:
    surplus = min(ask.given - TAKEN, default=None)
    if surplus is not None:
        raise Unsupported(
            f"`{surplus}` does not go with a decision model, which writes no text: leave it out.", param=surplus
        )
    if body.temperature:
        raise Unsupported(
            "`temperature` is 0 or left out where a decision model answers: the likeliest option is the answer.",
            param="temperature",
        )


def _state(ask: Ask) -> str:
    """What the question is about: the messages line by line, a single one as it stands."""
    talk = ask.source
    assert isinstance(talk, Talk), "a chat request is a conversation"
    if talk.media:
        where = talk.media[0].path
        raise Unsupported(f"{where}: pictures and sounds are not judged here; send the text alone.", param=where)
    (first, *others) = talk.turns
    if not others and first.name is None:
        return first.transcript
    return "\n".join(f"{turn.role}{f' {turn.name}' if turn.name else ''}: {turn.transcript}" for turn in talk.turns)


def _property(schema: Mapping[str, Any], path: str) -> tuple[str | None, Mapping[str, Any]]:
    """The one property of an object and its schema, or no name and the schema itself."""
    properties = schema.get("properties")
    if properties is None:
        return None, schema
    if not isinstance(properties, Mapping) or len(properties) != 1:
        raise BadRequest(f"`{path}.properties` has one property where a decision model answers.", param=path)
    ((name, inner),) = properties.items()
    if not isinstance(inner, Mapping):
        raise BadRequest(f"`{path}.properties.{name[:64]}` is a schema with the options.", param=path)
    return name, inner


def _values(schema: Mapping[str, Any], path: str) -> tuple[QuestionKind, list[tuple[Any, str]]]:
    """The values that the schema allows, each with its description."""
    if isinstance(found := schema.get("enum"), list):
        return "choice", [(value, "") for value in found]
    if isinstance(found := schema.get("oneOf", schema.get("anyOf")), list):
        if all(isinstance(each, Mapping) and "const" in each for each in found):
            return "choice", [(each["const"], str(each.get("description") or "")) for each in found]
    elif schema.get("type") == "boolean":
        return "noul", [(True, ""), (False, "")]
    raise BadRequest(f"`{path}` names no options. {HOW}", param=path)


def _option(kind: QuestionKind, value: Any, words: str) -> Option:
    if kind == "noul":
        return Option(YES if value else NO)
    return Option(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False), words)


def _check_options(options: tuple[Option, ...], answers: tuple[str, ...], form: Form) -> None:
    """There is something to choose, and every choice is an answer that the schema allows. Raises BadRequest."""
    if len(options) < OPTIONS_MIN:
        raise BadRequest(f"`{form.path}` has {len(options)} options; a decision needs two.", param=form.path)
    keys = [option.key for option in options]
    if not all(keys) or len(set(keys)) < len(keys):
        raise BadRequest(f"`{form.path}` has an option without a name, or two of the same name.", param=form.path)
    for answer in answers:
        if (fault := fault_of(answer, form, strict=True)) is not None:
            raise BadRequest(f"`{form.path}` does not allow its own option {answer[:64]} ({fault}).", param=form.path)


def _instructions(body: ChatCompletionRequest, schema: Mapping[str, Any], inner: Mapping[str, Any], path: str) -> str:
    outer = body.response_format.json_schema if body.response_format is not None else None
    asked = (schema.get("description"), outer.description if outer is not None else None, inner.get("description"))
    words = list(dict.fromkeys(each for each in asked if isinstance(each, str) and each))
    if not words:
        raise BadRequest(f"`{path}.description` is missing: it says what is asked.", param=f"{path}.description")
    if len(words) > 1:
        raise BadRequest(
            f"`{path}` has {len(words)} descriptions; one question is asked, so send one.",
            param=f"{path}.description",
            code="conflicting_values",
        )
    return words[0]
