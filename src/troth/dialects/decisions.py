"""System One decisions (halogen's and Radiance's `/v1/systemone`): named questions about a state, as probabilities.

A question that cannot be answered as asked is a 422 whose message begins with `questions.ID:`, as that API has it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

from troth._generated.models import SystemOneRequest
from troth.deciding import Decisions
from troth.domain import Answer, Call, Whole
from troth.domain.deciding import DecideAsk, Decision, Option, Question, QuestionKind
from troth.errors import Unprocessable

KINDS = ("choice", "score", "noul")
LEVELS_MIN, LEVELS_MAX = 2, 10
YES, NO = "yes", "no"
MEDIA = frozenset(
    {"image", "image_url", "input_image", "audio", "input_audio", "video", "video_url", "file", "input_file"}
)
DIGITS = 6


class SystemOne:
    """Answers the route of decisions."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions

    async def decide(self, call: Call) -> Answer:
        """The probabilities of every question's options. Raises Unprocessable and what a conversation raises."""
        decided = await self._decisions.decide(read(call.body, call.given, call.caller), call.account)
        return Whole(
            {
                "model": call.account.model,
                "answers": {each.question.id: _answer(each) for each in decided},
                "usage": {
                    "input_tokens": sum(each.prompt_tokens for each in decided),
                    "output_tokens": 0,
                    "input_tokens_details": {"cached_tokens": sum(each.cached_tokens for each in decided)},
                },
            }
        )


# ---- the request ----------------------------------------------------------------------------------


def read(body: SystemOneRequest, given: frozenset[str], caller: str = "") -> DecideAsk:
    """What the client wants decided. Raises Unprocessable."""
    if body.state is None:
        raise Unprocessable(
            "state: send what the questions are about, as a text, an object or messages.", param="state"
        )
    if not isinstance(body.questions, dict) or not body.questions:
        raise Unprocessable("questions: send an object of at least one question, by its id.", param="questions")
    questions = [_question(name, asked) for name, asked in body.questions.items()]
    return DecideAsk(state=_state(body.state), questions=questions, model=body.model, given=given, owner=caller)


def _state(state: Any) -> str:
    """The state as text: messages line by line, other JSON as it is written, with everything that is in it."""
    is_wrapped = isinstance(state, dict) and isinstance(state.get("messages"), list)
    messages = state["messages"] if is_wrapped else state
    if isinstance(messages, list):
        _check_media(messages, "state.messages" if is_wrapped else "state")
        said = [_said(each) for each in messages]
        if said and None not in said and not (is_wrapped and len(state) > 1):
            return "\n".join(f"{each['role']}: {words}" for each, words in zip(messages, said, strict=True))
    return _text(state)


def _said(message: Any) -> str | None:
    """What a message says, if it is one and says nothing else than text."""
    if not isinstance(message, dict) or set(message) != {"role", "content"} or not isinstance(message["role"], str):
        return None
    content = message["content"]
    if not isinstance(content, list):
        return content if isinstance(content, str) else None
    texts = [part.get("text") for part in content if isinstance(part, dict) and part.get("type") == "text"]
    said = [text for text in texts if isinstance(text, str)]
    return "\n".join(said) if len(said) == len(content) else None


def _check_media(messages: Sequence[Any], path: str) -> None:
    """No message shows anything. Raises Unprocessable naming the part."""
    for number, message in enumerate(messages):
        content = message.get("content") if isinstance(message, dict) else None
        for at, part in enumerate(content if isinstance(content, list) else ()):
            if isinstance(part, dict) and part.get("type") in MEDIA:
                where = f"{path}.{number}.content.{at}"
                raise Unprocessable(f"{where}: pictures, sounds and films are not judged here.", param=where)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _question(name: str, asked: Any) -> Question:
    if not isinstance(asked, dict):
        raise _bad(name, "a question is an object with type, instructions and criteria.")
    kind, instructions = asked.get("type"), asked.get("instructions")
    if kind not in KINDS:
        raise _bad(name, f"type is one of {', '.join(KINDS)}.")
    if not instructions or isinstance(instructions, bool | int | float):
        raise _bad(name, "instructions say what is asked, as a text or as JSON.")
    readers = {"choice": _choices, "score": _levels, "noul": _truths}
    options = readers[kind](name, asked.get("criteria"))
    return Question(
        id=name,
        kind=cast(QuestionKind, kind),
        instructions=_text(instructions),
        options=options,
        path=f"questions.{name}",
    )


def _choices(name: str, criteria: Any) -> tuple[Option, ...]:
    if not isinstance(criteria, dict) or not criteria:
        raise _bad(name, "criteria of a choice is an object of options, each with a description or null.")
    if not all(criteria):
        raise _bad(name, "an option has no name.")
    return tuple(Option(key, _description(name, key, value)) for key, value in criteria.items())


def _levels(name: str, criteria: Any) -> tuple[Option, ...]:
    if not isinstance(criteria, list) or not LEVELS_MIN <= len(criteria) <= LEVELS_MAX:
        raise _bad(name, f"criteria of a score is a list of {LEVELS_MIN} to {LEVELS_MAX} levels, the lowest first.")
    return tuple(Option(str(level), _description(name, str(level), value)) for level, value in enumerate(criteria))


def _truths(name: str, criteria: Any) -> tuple[Option, ...]:
    if criteria is None:
        criteria = {}
    if not isinstance(criteria, dict) or not set(criteria) <= {"true", "false", YES, NO}:
        raise _bad(name, "criteria of a noul is null, or an object that describes true and false.")
    meant = {key: _description(name, key, value) for key, value in criteria.items()}
    for one, other in (("true", YES), ("false", NO)):
        if meant.get(one) and meant.get(other):
            raise _bad(name, f"criteria has {one} and {other}, two names of one answer: send one of them.")
    return (
        Option(YES, meant.get("true") or meant.get(YES) or ""),
        Option(NO, meant.get("false") or meant.get(NO) or ""),
    )


def _description(name: str, key: str, value: Any) -> str:
    if value is not None and not isinstance(value, str):
        raise _bad(name, "descriptions in criteria are texts or null.")
    return value or ""


def _bad(name: str, words: str) -> Unprocessable:
    return Unprocessable(f"questions.{name[:64]}: {words}", param=f"questions.{name[:64]}")


# ---- the answer -----------------------------------------------------------------------------------


def _answer(decision: Decision) -> Mapping[str, Any]:
    question, likely = decision.question, decision.probabilities
    named = {option.key: round(share, DIGITS) for option, share in zip(question.options, likely, strict=True)}
    if question.kind == "noul":
        return {"type": "noul", "noul": named[YES]}
    if question.kind == "choice":
        best = max(range(len(likely)), key=likely.__getitem__)
        return {
            "type": "choice",
            "choice": question.options[best].key,
            "probabilities": named,
            "confidence": round(choice_confidence(likely), DIGITS),
        }
    return {
        "type": "score",
        "score": round(sum(level * share for level, share in enumerate(likely)), DIGITS),
        "legend": {option.key: option.description for option in question.options},
        "probabilities": named,
        "confidence": round(score_confidence(likely), DIGITS),
    }


def choice_confidence(likely: Sequence[float]) -> float:
    """0 when all options are as likely as each other, 1 when one is certain."""
    even = 1 / len(likely)
    return 1.0 if len(likely) == 1 else (max(likely) - even) / (1 - even)


def score_confidence(likely: Sequence[float]) -> float:
    """1 when one level is certain, 0 when levels are as far from the likeliest as even ones are from the middle."""
    count = len(likely)
    mode = max(range(count), key=likely.__getitem__)
    spread = sum(share * abs(level - mode) for level, share in enumerate(likely))
    even = sum(abs(level - (count - 1) / 2) for level in range(count)) / count
    return max(0.0, 1 - spread / even)
