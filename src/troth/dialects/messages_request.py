"""A request of Anthropic's Messages API as an `Ask`. Pure: the body was checked, the contract was enforced.

Divergences from Anthropic:
1. `max_tokens` may be left out; OpenAI's and llama-server's sampling fields are taken too.
2. A system message in the middle of a conversation joins the instructions before it, as on chat.
3. `thinking` of the type `adaptive` leaves it to the model, which does not reason yet.
"""

from __future__ import annotations

from typing import Any

from troth._generated.models import AnthropicBlock, MessagesRequest
from troth.dialects.fields import bounded, named, sampled
from troth.domain import Ask, Role, Talk, Turn
from troth.errors import BadRequest, Unsupported

BILLING = "x-anthropic-billing-header:"  # Claude Code's first system block: another one for every first prompt


def read(body: MessagesRequest, given: frozenset[str], caller: str, *, strip_billing_header: bool) -> Ask:
    """What the client asked for. Raises Unsupported for what this API's answers have no form for."""
    if (body.n or 1) != 1:
        raise Unsupported("n is not supported here: leave it out or send 1.", param="n")
    if body.messages[-1].role == "assistant":
        path = f"messages.{len(body.messages) - 1}.role"
        raise Unsupported(
            f"{path}: the last message is the assistant's, and continuing it is not supported here yet; end with a "
            "message of the user.",
            param=path,
        )
    turns = [_turn(message, f"messages.{number}") for number, message in enumerate(body.messages)]
    system = _system(body, strip_billing_header=strip_billing_header)
    if system:
        turns.insert(0, Turn(role="system", text=system))
    return Ask(
        source=Talk(tuple(turns), template_kwargs=dict(body.chat_template_kwargs or {})),
        model=body.model,
        given=given,
        tag=named(body, None, caller),
        **sampled(body),
        **bounded(body),
    )


def _system(body: MessagesRequest, *, strip_billing_header: bool) -> str:
    if body.system is None or isinstance(body.system, str):
        return body.system or ""
    texts = [_text_of(block, f"system.{number}") for number, block in enumerate(body.system)]
    if strip_billing_header:
        texts = [text for text in texts if not text.startswith(BILLING)]
    return "\n\n".join(text for text in texts if text)


def _turn(message: Any, path: str) -> Turn:
    role: Role = message.role
    if isinstance(message.content, str):
        return Turn(role=role, text=message.content)
    texts = [_text_of(block, f"{path}.content.{number}") for number, block in enumerate(message.content)]
    return Turn(role=role, text="\n".join(texts))


def _text_of(block: AnthropicBlock, path: str) -> str:
    if block.text is None:
        raise BadRequest(f"{path}.text: Field required.", param=f"{path}.text", code="missing_required_parameter")
    return block.text
