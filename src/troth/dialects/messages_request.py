"""A request of Anthropic's Messages API as an `Ask`. Pure: the body was checked, the contract was enforced.

Divergences from Anthropic:
1. `max_tokens` may be left out; OpenAI's and llama-server's sampling fields are taken too.
2. A system message in the middle of a conversation joins the instructions before it, as on chat.
3. `thinking` of the types `adaptive` and `between-tools` leaves it to the model's chat template.
4. A last message of the assistant is gone on with, as at Anthropic; blanks at its end stay.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from troth._generated.models import AnthropicBlock, MessagesRequest
from troth.dialects.fields import adapted, bounded, missing, named, needed, sampled
from troth.dialects.forms import schema_form
from troth.dialects.parts import Parts, anthropic_image, refused_picture
from troth.dialects.thoughts import Spoken
from troth.domain import Ask, Role, Talk, Thinking, Tool, ToolCall, ToolRules, Turn
from troth.errors import BadRequest, Unsupported

BILLING = "x-anthropic-billing-header:"  # Claude Code's first system block: another one for every first prompt
FAILED = "Error: "  # what the model reads before the result of a call that failed
SPEAKERS = {
    "thinking": "assistant",
    "redacted_thinking": "assistant",
    "tool_use": "assistant",
    "tool_result": "user",
    "image": "user",
}


def read(body: MessagesRequest, given: frozenset[str], caller: str, *, strip_billing_header: bool) -> Ask:
    """What the client asked for. Raises BadRequest for blocks that lack something or stand with the wrong speaker."""
    if (body.n or 1) != 1:
        raise Unsupported("n is not supported here: leave it out or send 1.", param="n")
    turns = [turn for number, message in enumerate(body.messages) for turn in _turns(message, f"messages.{number}")]
    system = _system(body, strip_billing_header=strip_billing_header)
    if system:
        turns.insert(0, Turn(role="system", text=system))
    form = body.output_config.format if body.output_config is not None else None
    return Ask(
        source=Talk(
            tuple(turns),
            continues=bool(turns) and turns[-1].role == "assistant" and not turns[-1].calls,
            template_kwargs=dict(body.chat_template_kwargs or {}),
            tools=_rules(body),
            thinking=_thinking(body),
        ),
        model=body.model,
        given=given,
        form=None if form is None else schema_form(form.schema_, "output_config.format.schema"),
        tag=named(body, None, caller),
        **sampled(body),
        **adapted(body),
        **bounded(body),
    )


def _system(body: MessagesRequest, *, strip_billing_header: bool) -> str:
    if body.system is None or isinstance(body.system, str):
        return body.system or ""
    for number, block in enumerate(body.system):
        if block.type == "image":
            raise refused_picture(f"system.{number}", "system")
    texts = [_text_of(block, f"system.{number}") for number, block in enumerate(body.system)]
    if strip_billing_header:
        texts = [text for text in texts if not text.startswith(BILLING)]
    return "\n\n".join(text for text in texts if text)


def _turns(message: Any, path: str) -> Iterator[Turn]:
    """The turns of one message: results of calls are turns of their own, before and between what is said."""
    role: Role = message.role
    if isinstance(message.content, str):
        yield Turn(role=role, text=message.content)
        return
    parts = Parts()
    thoughts: list[str] = []
    calls: list[ToolCall] = []
    has_results = False
    for number, block in enumerate(message.content):
        at = f"{path}.content.{number}"
        if SPEAKERS.get(block.type, role) != role:
            raise BadRequest(f"{at}: a {block.type} block is the {SPEAKERS[block.type]}'s, not the {role}'s.", param=at)
        match block.type:
            case "thinking":
                thoughts.append(needed(block.thinking, f"{at}.thinking"))
            case "tool_use":
                calls.append(_call(block, at))
            case "tool_result":
                if parts.count:
                    yield Turn(role=role, **parts.said())
                    parts = Parts()
                has_results = True
                yield _result(block, at)
            case "image":
                parts.show(anthropic_image(block.source, at))
            case "text":
                parts.say(_text_of(block, at))
    if parts.count or not has_results:
        reasoning = "\n".join(thoughts) or None
        yield Turn(role=role, reasoning=reasoning, calls=tuple(calls), **parts.said())


def _call(block: AnthropicBlock, at: str) -> ToolCall:
    arguments = needed(block.input, f"{at}.input")
    return ToolCall(
        needed(block.id, f"{at}.id"),
        needed(block.name, f"{at}.name"),
        json.dumps(arguments, ensure_ascii=False),
    )


def _result(block: AnthropicBlock, at: str) -> Turn:
    parts = Parts(FAILED if block.is_error else "")
    if isinstance(block.content, str):
        parts.say(block.content)
    else:
        for number, part in enumerate(block.content or ()):
            if part.type == "image":
                parts.show(anthropic_image(part.source, f"{at}.content.{number}"))
            else:
                parts.say(needed(part.text, f"{at}.content.{number}.text"))
    return Turn(role="tool", call_id=needed(block.tool_use_id, f"{at}.tool_use_id"), **parts.said())


def _text_of(block: AnthropicBlock, path: str) -> str:
    return str(needed(block.text, f"{path}.text"))


def _rules(body: MessagesRequest) -> ToolRules:
    tools = tuple(
        Tool(
            name=tool.name,
            description=tool.description or "",
            parameters=tool.input_schema or {},
            strict=bool(tool.strict),
            path=f"tools.{number}",
        )
        for number, tool in enumerate(body.tools or ())
    )
    choice = body.tool_choice
    if choice is None:
        return ToolRules(tools=tools)
    if choice.type is None and (choice.name is not None or choice.disable_parallel_tool_use):
        raise missing("tool_choice.type")
    if choice.type != "tool" and choice.name is not None:
        raise BadRequest(
            f"`tool_choice.name` goes with the type tool, and the type is {choice.type}.",
            param="tool_choice.name",
            code="conflicting_values",
        )
    parallel = not choice.disable_parallel_tool_use
    match choice.type:
        case "any":
            return ToolRules(tools=tools, mode="required", parallel=parallel)
        case "tool":
            only = needed(choice.name, "tool_choice.name")
            return ToolRules(tools=tools, mode="required", only=only, parallel=False)
        case "none":
            return ToolRules(tools=tools, mode="none")
        case _:
            return ToolRules(tools=tools, parallel=parallel)


def _thinking(body: MessagesRequest) -> Thinking:
    spoken = Spoken()
    if body.thinking is not None:
        if body.thinking.type in ("enabled", "disabled"):
            spoken.enabled.say(body.thinking.type == "enabled", "thinking.type")
        if body.thinking.type != "disabled":
            spoken.budget.say(body.thinking.budget_tokens, "thinking.budget_tokens")
    if spoken.enabled.value is not False and body.output_config is not None:
        spoken.effort.say(body.output_config.effort, "output_config.effort")
    told = (body.chat_template_kwargs or {}).get("enable_thinking")
    if isinstance(told, bool):
        spoken.enabled.say(told, "chat_template_kwargs.enable_thinking")
    return spoken.thinking(effort_is_wish=True)
