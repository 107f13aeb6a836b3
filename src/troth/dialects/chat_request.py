"""A chat completion request as an `Ask`. Pure: the body was checked, the contract was enforced.

Divergences from OpenAI, Create chat completion:
1. `logprobs: true` without `top_logprobs` gives no alternatives, as at OpenAI (llama-server: 20).
2. `n_probs: k` (llama-server) is `logprobs: true` with `top_logprobs: k`.
3. Those of all routes: see `fields.py`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from troth._generated.models import ChatCompletionRequest, CreateChatCompletionParameters
from troth.dialects.fields import bounded, named, reported, sampled
from troth.domain import Ask, Role, Talk, Turn
from troth.errors import BadRequest

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
}


def read(
    body: ChatCompletionRequest,
    given: frozenset[str],
    parameters: CreateChatCompletionParameters | None = None,
    caller: str = "",
) -> Ask:
    """What the client asked for. Raises BadRequest where fields that are fine alone contradict each other."""
    return Ask(
        source=Talk(
            tuple(turn_of(message) for message in body.messages),
            add_generation_prompt=body.add_generation_prompt is not False,
            template_kwargs=_template_kwargs(body),
        ),
        model=body.model,
        given=given,
        logprobs=_logprobs(body),
        tag=named(body, parameters, caller),
        **sampled(body),
        **bounded(body),
        **reported(body),
    )


def _template_kwargs(body: ChatCompletionRequest) -> dict[str, Any]:
    """The client's template variables. "No thinking", in whatever spelling, is told to the template too."""
    kwargs = dict(body.chat_template_kwargs or {})
    off = (
        body.enable_thinking is False
        or body.reasoning_effort is not None
        or body.thinking is not None
        or bool(body.reasoning)
    )  # the contract let only their neutral values through, and those all mean off
    if off and kwargs.setdefault("enable_thinking", False) is not False:
        raise BadRequest(
            "`chat_template_kwargs.enable_thinking` is true while another field switches thinking off.",
            param="chat_template_kwargs",
            code="conflicting_values",
        )
    return kwargs


def turn_of(message: Any) -> Turn:  # one of the generated message models, told apart by `role`
    """One message."""
    return Turn(role=_ROLES[message.role], text=_text(message.content), name=message.name)


def _text(content: str | list[Any] | None) -> str:
    """The text of a message; parts stand on lines of their own, as llama-server joins them."""
    if content is None or isinstance(content, str):
        return content or ""
    assert all(part.type == "text" for part in content), "the contract guards every other part"
    return "\n".join(part.text for part in content)


def _logprobs(body: ChatCompletionRequest) -> int | None:
    """How many alternatives each token carries; None for no logprobs at all."""
    asked, several = body.top_logprobs, body.n_probs or 0
    if several and asked is not None and asked != several:
        raise BadRequest(
            f"'n_probs' is {several} and 'top_logprobs' is {asked}: they are one field, send one of them.",
            param="n_probs",
        )
    if several:
        return several
    if body.logprobs:
        return asked or 0
    if asked:
        raise BadRequest("'top_logprobs' needs 'logprobs' to be true.", param="top_logprobs")
    return None
