"""A request of OpenAI's Responses API as an `Ask`. Pure: the body was checked, the contract was enforced.

Divergences from OpenAI:
1. `instructions`, then system and developer messages wherever they stand, become one system message.
2. llama-server's and vLLM's sampling fields are taken too.
3. Reasoning, a message and calls that follow each other are one turn of the assistant.
4. Pictures stand in messages of the user and in outputs of calls; `detail` changes nothing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from troth._generated.models import CreateResponseParameters, ResponsesItem, ResponsesRequest
from troth.dialects.fields import adapted, bounded, missing, named, needed, reported, sampled
from troth.dialects.forms import schema_form
from troth.dialects.parts import Parts, image_at, refused_picture
from troth.dialects.responses_tools import Toolbox, flat_name
from troth.dialects.thoughts import Spoken
from troth.domain import Ask, Form, Role, Talk, Thinking, ToolCall, Turn
from troth.errors import BadRequest, Unsupported

_ROLES: dict[str, Role] = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}


def read(
    body: ResponsesRequest,
    given: frozenset[str],
    parameters: CreateResponseParameters | None,
    caller: str,
    toolbox: Toolbox,
) -> Ask:
    """What the client asked for. Raises BadRequest for items that lack something, Unsupported for several answers."""
    if (body.n or 1) != 1:
        raise Unsupported("n is not supported here: leave it out or send 1.", param="n")
    turns = _turns(body.input)
    if body.instructions:
        turns.insert(0, Turn(role="system", text=body.instructions))
    return Ask(
        source=Talk(
            tuple(turns),
            template_kwargs=body.chat_template_kwargs or {},
            tools=toolbox.rules,
            thinking=_thinking(body),
        ),
        model=body.model,
        given=given,
        form=_form(body),
        tag=named(body, parameters, caller),
        **sampled(body),
        **bounded(body),
        **reported(body),
        **adapted(body),
    )


def _thinking(body: ResponsesRequest) -> Thinking:
    spoken = Spoken()
    if body.reasoning is not None:
        spoken.say_effort(body.reasoning.effort, "reasoning.effort")
    told = (body.chat_template_kwargs or {}).get("enable_thinking")
    if isinstance(told, bool):
        spoken.enabled.say(told, "chat_template_kwargs.enable_thinking")
    return spoken.thinking()


def _form(body: ResponsesRequest) -> Form | None:
    asked = body.text.format if body.text is not None else None
    if asked is None or asked.type == "text":
        if asked is not None and asked.schema_:
            raise BadRequest(
                "`text.format.schema` goes with the type json_schema, and the type is text.",
                param="text.format.schema",
                code="conflicting_values",
            )
        return None
    if asked.schema_ is not None:
        return schema_form(asked.schema_, "text.format.schema")
    if asked.type == "json_schema":
        raise missing("text.format.schema")
    return Form(kind="json_object", path="text.format")


def _turns(sent: str | list[ResponsesItem]) -> list[Turn]:
    if isinstance(sent, str):
        return [Turn(role="user", text=sent)]
    turns: list[Turn] = []
    thought: str | None = None  # reasoning that belongs to the turn of the assistant that comes next
    for number, item in enumerate(sent):
        path = f"input.{number}"
        match item.type:
            case "reasoning":
                thought = "\n".join(filter(None, (thought, _thought(item, path)))) or None
            case "function_call":
                call = ToolCall(
                    needed(item.call_id, f"{path}.call_id"),
                    flat_name(needed(item.name, f"{path}.name"), item.namespace),
                    needed(item.arguments, f"{path}.arguments"),
                )
                if not (turns and turns[-1].role == "assistant" and thought is None):
                    turns.append(Turn(role="assistant", text="", reasoning=thought))
                turns[-1] = replace(turns[-1], calls=(*turns[-1].calls, call))
                thought = None
            case "function_call_output":
                said = _parts(item.output, f"{path}.output").said()
                turns.append(Turn(role="tool", call_id=needed(item.call_id, f"{path}.call_id"), **said))
            case _:
                role = _ROLES[needed(item.role, f"{path}.role")]
                parts = _parts(item.content, f"{path}.content")
                if parts.media and role != "user":
                    raise refused_picture(parts.media[0].medium.path, role)
                if role != "assistant":
                    turns += _unspoken(thought)
                turns.append(Turn(role=role, reasoning=thought if role == "assistant" else None, **parts.said()))
                thought = None
    turns += _unspoken(thought)
    if not turns:
        raise BadRequest("`input` has no message: send at least one.", param="input")
    if turns[-1].role == "assistant":
        path = f"input.{len(sent) - 1}"
        raise Unsupported(
            f"{path}: the last item is the assistant's, and this API does not continue it; end with a message of the "
            "user, or with the output of a call.",
            param=path,
        )
    return turns


def _unspoken(thought: str | None) -> list[Turn]:
    """Reasoning that nothing followed, as a turn of its own: an answer that was broken off leaves such."""
    return [] if thought is None else [Turn(role="assistant", text="", reasoning=thought)]


def _thought(item: ResponsesItem, path: str) -> str | None:
    """The reasoning of an item, or what it was summed up to; None when it says neither."""
    if item.content:
        return _text(item.content, f"{path}.content") or None
    return _text(item.summary or (), f"{path}.summary") or None


def _text(content: Any, path: str) -> str:  # a text, parts, or None
    parts = _parts(content, path)
    if parts.media:
        raise refused_picture(parts.media[0].medium.path, "assistant")
    return parts.text


def _parts(content: Any, path: str) -> Parts:  # a text, parts, or None
    parts = Parts()
    if isinstance(needed(content, path), str):
        parts.say(str(content))
        return parts
    for number, part in enumerate(content):
        if part.type == "input_image":
            parts.show(image_at(part.image_url, f"{path}.{number}.image_url"))
        else:
            field = "refusal" if part.type == "refusal" else "text"
            parts.say(needed(getattr(part, field), f"{path}.{number}.{field}"))
    return parts
