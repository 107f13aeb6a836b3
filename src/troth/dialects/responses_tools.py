"""Tools of a request of OpenAI's Responses API: functions, and namespaces of functions. Pure.

The model sees a function of a namespace as `namespace__name`; on the wire the two are apart. Built-in and freeform
tools have no form here: they are left out, and the answer says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from troth._generated.models import ResponsesFunction, ResponsesRequest, ResponsesTool, ResponsesToolChoice
from troth.dialects.fields import needed
from troth.domain import Tool, ToolRules

JOINT = "__"


@dataclass(frozen=True, slots=True)
class Toolbox:
    """The tools of one request: the rules for the model, what is shown of them, and how names come apart again."""

    rules: ToolRules
    shown: list[dict[str, Any]] = field(default_factory=list)  # the tools that the model sees, as they were sent
    left_out: list[str] = field(default_factory=list)  # kinds
    names: Mapping[str, tuple[str, str]] = field(default_factory=dict)  # as the model sees it → namespace, name
    choice: Any = "auto"  # as it was sent


def toolbox_of(body: ResponsesRequest) -> Toolbox:
    """The tools of the request. Raises BadRequest for tools without a name."""
    tools: list[Tool] = []
    shown: list[dict[str, Any]] = []
    left_out: list[str] = []
    names: dict[str, tuple[str, str]] = {}
    for number, tool in enumerate(body.tools or ()):
        path = f"tools.{number}"
        if tool.type == "function":
            tools.append(_function(tool, needed(tool.name, f"{path}.name"), path))
        elif tool.type == "namespace":
            for flat, pair, each in _namespace(tool, path, left_out):
                names[flat] = pair
                tools.append(each)
        else:
            left_out.append(tool.type)
            continue
        shown.append(tool.model_dump(mode="json", exclude_none=True))
    rules = _rules(body, tuple(tools))
    choice: Any = body.tool_choice or "auto"
    if isinstance(choice, ResponsesToolChoice):
        choice = choice.model_dump(mode="json", exclude_none=True)
    return Toolbox(rules, shown, sorted(set(left_out)), names, choice)


def flat_name(name: str, namespace: str | None) -> str:
    """The name that the model sees."""
    return f"{namespace}{JOINT}{name}" if namespace else name


def _namespace(tool: ResponsesTool, path: str, left_out: list[str]) -> list[tuple[str, tuple[str, str], Tool]]:
    space = str(needed(tool.name, f"{path}.name"))
    found = []
    for number, each in enumerate(tool.tools or ()):
        at = f"{path}.tools.{number}"
        if each.type != "function":
            left_out.append(each.type)
            continue
        name = str(needed(each.name, f"{at}.name"))
        flat = flat_name(name, space)
        found.append((flat, (space, name), _function(each, flat, at)))
    return found


def _function(tool: ResponsesTool | ResponsesFunction, name: str, path: str) -> Tool:
    return Tool(
        name=name,
        description=tool.description or "",
        parameters=tool.parameters or {},
        strict=bool(tool.strict),
        path=path,
    )


def _rules(body: ResponsesRequest, tools: tuple[Tool, ...]) -> ToolRules:
    parallel = body.parallel_tool_calls is not False
    match body.tool_choice:
        case None | "auto":
            return ToolRules(tools=tools, parallel=parallel)
        case "none":
            return ToolRules(tools=tools, mode="none")
        case "required":
            return ToolRules(tools=tools, mode="required", parallel=parallel)
        case named:
            name = str(needed(named.name, "tool_choice.name"))
            return ToolRules(tools=tools, mode="required", only=flat_name(name, named.namespace), parallel=False)
