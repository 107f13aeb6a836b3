"""OpenAI's moderation, with the guard's own label and its probabilities beside (halogen's `/v1/moderations`).

OpenAI's own model names mean the default guard, where no model has them: clients send them unasked.
"""

from __future__ import annotations

import secrets
from typing import Any

from troth._generated.models import ModerationRequest
from troth.dialects.chat_request import turns_of
from troth.dialects.parts import Parts
from troth.domain import Answer, Call, Medium, Turn, Whole
from troth.domain.moderating import Judgement, ModerateAsk, Subject
from troth.errors import BadRequest
from troth.moderating import Moderations

OPENAI_MODELS = ("omni-moderation", "text-moderation")
DIGITS = 6


class ModerationRoutes:
    """Answers the route of moderation."""

    def __init__(self, moderations: Moderations, names: frozenset[str]) -> None:
        """`names`: all by which a model that moderates is called."""
        self._moderations = moderations
        self._names = names

    async def moderate(self, call: Call) -> Answer:
        """One result for each input. Raises BadRequest and what a conversation raises."""
        verdicts = await self._moderations.moderate(read(call.body, call.given, call.caller, self._names), call.account)
        return Whole(
            {
                "id": f"modr-{secrets.token_hex(12)}",
                "model": call.account.model,
                **({"image_model": verdicts.image_model} if verdicts.image_model is not None else {}),
                "results": [_result(each) for each in verdicts.judgements],
                "usage": {
                    "prompt_tokens": call.account.prompt_tokens,
                    "total_tokens": call.account.prompt_tokens,
                },
            }
        )


def read(
    body: ModerationRequest, given: frozenset[str], caller: str = "", names: frozenset[str] = frozenset()
) -> ModerateAsk:
    """What the client wants judged. Raises BadRequest."""
    model = body.model
    if model is not None and model.startswith(OPENAI_MODELS) and model not in names:
        model = None
    if body.messages is not None:
        if body.input is not None:
            raise BadRequest(
                "`input` and `messages` are two forms of what is judged: send one of them.",
                param="messages",
                code="conflicting_values",
            )
        subjects = [_something(Subject(turns=turns_of(body.messages), path="messages"))]
    else:
        subjects = _subjects(body.input)
    return ModerateAsk(subjects=subjects, model=model, given=given, owner=caller, strict=bool(body.strict))


def _subjects(value: Any) -> list[Subject]:
    if isinstance(value, str):
        return [_text(value, "input")]
    if not isinstance(value, list) or not value:
        raise BadRequest("`input` is a text, a list of texts, or a list of parts.", param="input")
    if all(isinstance(each, str) for each in value):
        return [_text(each, f"input.{index}") for index, each in enumerate(value)]
    parts = Parts()
    for index, each in enumerate(value):
        _add(parts, each, f"input.{index}")
    return [_something(Subject(turns=(Turn(role="user", **parts.said()),), path="input"))]


def _something(subject: Subject) -> Subject:
    if not subject.has_text and not subject.media:
        raise BadRequest(f"{subject.path}: there is nothing to judge.", param=subject.path)
    return subject


def _add(parts: Parts, value: Any, path: str) -> None:
    """One part of OpenAI's: {type: text, text} or {type: image_url, image_url: {url}}."""
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "text" and isinstance(value.get("text"), str):
        parts.say(value["text"])
        return
    shown = value.get("image_url") if kind == "image_url" else None
    url = shown.get("url") if isinstance(shown, dict) else shown
    if isinstance(url, str):
        where = f"{path}.image_url.url" if isinstance(shown, dict) else f"{path}.image_url"
        parts.show(Medium(kind="image", source=url, path=where))
        return
    raise BadRequest(
        f"{path}: a part is {{type: text, text: …}} or {{type: image_url, image_url: {{url: …}}}}, "
        "or all of `input` is texts.",
        param=path,
    )


def _text(text: str, path: str) -> Subject:
    if not text.strip():
        raise BadRequest(f"{path}: there is no text to judge.", param=path)
    return Subject(turns=(Turn(role="user", text=text),), path=path)


def _result(judgement: Judgement) -> dict[str, Any]:
    names = judgement.categories
    return {
        "flagged": judgement.flagged,
        "categories": {name: name in judgement.wrong for name in names},
        "category_scores": {name: round(share, DIGITS) for name, share in names.items()},
        "category_applied_input_types": {name: list(judgement.applied.get(name, ())) for name in names},
        "label": judgement.label,
        "label_scores": {name: round(share, DIGITS) for name, share in judgement.labels.items()},
    }
