"""A request of OpenAI's Responses API as an `Ask`. Pure: the body was checked, the contract was enforced.

Divergences from OpenAI:
1. `instructions`, then system and developer messages wherever they stand, become one system message.
2. llama-server's and vLLM's sampling fields are taken too.
"""

from __future__ import annotations

from typing import Any

from troth._generated.models import CreateResponseParameters, ResponsesItem, ResponsesRequest
from troth.dialects.fields import bounded, named, reported, sampled
from troth.domain import Ask, Role, Talk, Turn
from troth.errors import BadRequest, Unsupported

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def read(
    body: ResponsesRequest, given: frozenset[str], parameters: CreateResponseParameters | None, caller: str
) -> Ask:
    """What the client asked for. Raises BadRequest for items that lack something, Unsupported for several answers."""
    if (body.n or 1) != 1:
        raise Unsupported("n is not supported here: leave it out or send 1.", param="n")
    turns = _turns(body.input)
    if body.instructions:
        turns.insert(0, Turn(role="system", text=body.instructions))
    return Ask(
        source=Talk(tuple(turns), template_kwargs=_template_kwargs(body)),
        model=body.model,
        given=given,
        tag=named(body, parameters, caller),
        **sampled(body),
        **bounded(body),
        **reported(body),
    )


def _template_kwargs(body: ResponsesRequest) -> dict[str, Any]:
    kwargs = dict(body.chat_template_kwargs or {})
    if body.reasoning is not None and body.reasoning.effort is not None:
        kwargs.setdefault("enable_thinking", False)  # the contract let only "no reasoning" through
    return kwargs


def _turns(sent: str | list[ResponsesItem]) -> list[Turn]:
    if isinstance(sent, str):
        return [Turn(role="user", text=sent)]
    turns = []
    for number, item in enumerate(sent):
        if item.type == "reasoning":
            _check_silent(item, f"input.{number}")
            continue
        if item.role is None:
            raise _missing(f"input.{number}.role")
        turns.append(Turn(role=_ROLES[item.role], text=_text(item.content, f"input.{number}.content")))
    if not turns:
        raise BadRequest("`input` has no message: send at least one.", param="input")
    if turns[-1].role == "assistant":
        path = f"input.{len(sent) - 1}.role"
        raise Unsupported(
            f"{path}: the last item is the assistant's, and continuing it is not supported here yet; end with a "
            "message of the user.",
            param=path,
        )
    return turns


def _check_silent(item: ResponsesItem, path: str) -> None:
    if item.content:
        raise Unsupported(
            f"{path}.content is not supported here: reasoning of earlier turns is not read yet; leave the item out.",
            param=f"{path}.content",
        )


def _text(content: Any, path: str) -> str:  # a text, parts, or None
    if content is None:
        raise _missing(path)
    if isinstance(content, str):
        return content
    texts = []
    for number, part in enumerate(content):
        if part.text is None:
            raise _missing(f"{path}.{number}.text")
        texts.append(part.text)
    return "\n".join(texts)


def _missing(path: str) -> BadRequest:
    return BadRequest(f"{path}: Field required.", param=path, code="missing_required_parameter")
