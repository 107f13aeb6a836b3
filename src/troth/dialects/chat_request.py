"""A chat completion request as an `Ask`. Pure: the body was checked, the contract was enforced.

Divergences from OpenAI, Create chat completion:
1. `logprobs: true` without `top_logprobs` gives no alternatives, as at OpenAI (llama-server: 20).
2. `n_probs: k` (llama-server) is `logprobs: true` with `top_logprobs: k`.
3. A picture is an `image_url` part or the Responses' `input_image`; its URL may stand there without an object
   around it, and may be base64 alone (llama-server). `detail` changes nothing.
4. Those of all routes: see `fields.py`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from troth._generated.models import ChatCompletionRequest, CreateChatCompletionParameters
from troth.dialects.fields import adapted, bounded, named, reported, sampled
from troth.dialects.forms import form_of
from troth.dialects.functions import arguments_of, calls_of, rules_of
from troth.dialects.parts import Parts, image_at
from troth.dialects.thoughts import thinking_of
from troth.domain import Ask, Medium, Role, Talk, ToolCall, Turn
from troth.errors import BadRequest

_ROLES: Mapping[str, Role] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "assistant",
    "tool": "tool",
    "function": "tool",
}


def read(
    body: ChatCompletionRequest,
    given: frozenset[str],
    parameters: CreateChatCompletionParameters | None = None,
    caller: str = "",
) -> Ask:
    """What the client asked for. Raises BadRequest where fields that are fine alone contradict each other."""
    return Ask(
        source=talk_of(body),
        model=body.model,
        given=given,
        form=form_of(body, body),
        logprobs=_logprobs(body),
        as_drawn=bool(body.post_sampling_probs),
        tag=named(body, parameters, caller),
        **sampled(body),
        **bounded(body),
        **reported(body),
        **adapted(body),
    )


def talk_of(body: ChatCompletionRequest) -> Talk:
    """The conversation."""
    turns = turns_of(body.messages)
    continues = bool(body.continue_final_message)
    if continues and body.add_generation_prompt:
        raise BadRequest(
            "`continue_final_message` goes on with the last message and `add_generation_prompt` opens another: send "
            "one of them.",
            param="continue_final_message",
            code="conflicting_values",
        )
    if continues and (turns[-1].role != "assistant" or turns[-1].calls):
        raise BadRequest(
            "`continue_final_message` needs a last message of the assistant, without calls, to go on with.",
            param="continue_final_message",
        )
    return Talk(
        turns,
        add_generation_prompt=body.add_generation_prompt is not False,
        continues=continues,
        template_kwargs=body.chat_template_kwargs or {},
        tools=rules_of(body),
        thinking=thinking_of(body, body.chat_template_kwargs),
    )


def turns_of(messages: Sequence[Any]) -> tuple[Turn, ...]:  # generated message models, told apart by `role`
    """The messages. A call in the older form has no id: its result is the next message of the role `function`."""
    turns: list[Turn] = []
    for number, message in enumerate(messages):
        turn = turn_of(message, number)
        if message.role == "function":
            latest = turns[-1].calls if turns else ()
            if not latest or message.name not in (None, latest[0].name):
                raise BadRequest(
                    f"messages.{number}: the result of a function follows the message that calls it by that name.",
                    param=f"messages.{number}",
                )
            turn = replace(turn, call_id=latest[0].id)
        turns.append(turn)
    return tuple(turns)


def turn_of(message: Any, number: int = 0) -> Turn:  # one of the generated message models
    """One message."""
    role = message.role
    if role != "assistant":
        call_id = message.tool_call_id if role == "tool" else None
        said = _parts(message.content, f"messages.{number}.content").said()
        return Turn(role=_ROLES[role], name=message.name, call_id=call_id, **said)
    calls = calls_of(message.tool_calls) if message.tool_calls else ()
    if message.function_call is not None:
        if calls:
            raise BadRequest(
                f"messages.{number} has `tool_calls` and the older `function_call`: send one of them.",
                param=f"messages.{number}.function_call",
                code="conflicting_values",
            )
        older = message.function_call
        calls = (ToolCall(f"call_{number}", older.name, arguments_of(older.arguments)),)
    text = _parts(message.content, f"messages.{number}.content").text
    if message.refusal:
        text = f"{text}\n{message.refusal}" if text else message.refusal
    return Turn(
        role="assistant",
        text=text,
        name=message.name,
        reasoning=message.reasoning_content or None,
        calls=calls,
    )


def _parts(content: str | list[Any] | None, path: str) -> Parts:
    """What a message says and shows."""
    parts = Parts()
    if content is None or isinstance(content, str):
        parts.say(content or "")
        return parts
    for number, part in enumerate(content):
        at = f"{path}.{number}"
        match part.type:
            case "text":
                parts.say(part.text)
            case "refusal":
                parts.say(part.refusal)
            case "image_url" | "input_image":
                parts.show(image_at(part.image_url, f"{at}.image_url"))
            case "input_audio":
                data = f"{at}.input_audio.data"
                parts.show(Medium(kind="audio", source=part.input_audio.data, path=data))
            case other:
                raise AssertionError(f"the contract guards parts of the type {other}")
    return parts


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
