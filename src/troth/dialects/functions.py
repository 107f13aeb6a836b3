"""Functions that the model may call, and the calls of earlier turns, in OpenAI's chat spelling. Pure.

`functions` and `function_call` are the older form of `tools` and `tool_choice`, with one call in an answer.
"""

from __future__ import annotations

import json
from typing import Any

from troth._generated.models import CalledTool, FunctionDefinition, ToolFields
from troth.domain import Tool, ToolCall, ToolRules
from troth.errors import BadRequest


def rules_of(body: ToolFields) -> ToolRules:
    """Which functions there are, and how they may be called. Raises BadRequest for both forms at once."""
    if body.functions:
        return _older(body)
    if body.function_call not in (None, "auto") and (body.tools or body.function_call != "none"):
        raise BadRequest(
            "`function_call` is about `functions`, and there are none: with `tools`, send `tool_choice`.",
            param="function_call",
            code="conflicting_values",
        )
    tools = [tool_of(tool.function, f"tools.{number}.function") for number, tool in enumerate(body.tools or ())]
    reads, parallel = body.parse_tool_calls is not False, body.parallel_tool_calls is not False
    match body.tool_choice:
        case None | "auto":
            return ToolRules(tools=tuple(tools), parallel=parallel, reads_calls=reads)
        case "none":
            return ToolRules(tools=tuple(tools), mode="none", parallel=parallel, reads_calls=reads)
        case "required":
            return ToolRules(tools=tuple(tools), mode="required", parallel=parallel, reads_calls=reads)
        case named:
            name = named.function.name
            return ToolRules(tools=tuple(tools), mode="required", only=name, parallel=False, reads_calls=reads)


def _older(body: ToolFields) -> ToolRules:
    if body.tools:
        raise BadRequest(
            "`functions` is the older form of `tools`: send one of them.", param="functions", code="conflicting_values"
        )
    if body.tool_choice not in (None, "auto"):
        raise BadRequest(
            "`tool_choice` is about `tools`, and there are none: with `functions`, send `function_call`.",
            param="tool_choice",
            code="conflicting_values",
        )
    tools = tuple(tool_of(each, f"functions.{number}") for number, each in enumerate(body.functions or ()))
    reads = body.parse_tool_calls is not False
    match body.function_call:
        case None | "auto":
            return ToolRules(tools=tools, parallel=False, reads_calls=reads)
        case "none":
            return ToolRules(tools=tools, mode="none", parallel=False, reads_calls=reads)
        case named:
            return ToolRules(tools=tools, mode="required", only=named.name, parallel=False, reads_calls=reads)


def tool_of(function: FunctionDefinition, path: str) -> Tool:
    """One function."""
    return Tool(
        name=function.name,
        description=function.description or "",
        parameters=function.parameters or {},
        strict=bool(function.strict),
        path=path,
    )


def calls_of(calls: list[CalledTool] | None) -> tuple[ToolCall, ...]:
    """The calls of an earlier turn. Arguments that are no JSON stay the text that they are."""
    return tuple(ToolCall(call.id, call.function.name, arguments_of(call.function.arguments)) for call in calls or ())


def arguments_of(arguments: Any) -> str:  # a text, or a JSON object
    """The arguments of a call as text."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
