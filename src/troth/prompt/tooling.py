"""How tools, calls and results get into a prompt: through the template, or as text where it has no place for them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from troth.domain import Tool, ToolRules, Turn
from troth.formats.generic import generic_call, generic_instructions, generic_result
from troth.prompt.messages import called_names


def template_tools(rules: ToolRules) -> list[dict[str, Any]]:
    """The tools as chat templates read them."""
    return [_as_function(tool) for tool in rules.tools]


def as_text(turns: Sequence[Turn], rules: ToolRules) -> list[Turn]:
    """The turns with the tools in the system's words, calls in the assistant's and results in the user's.

    The turns have been brought to normal form. Results in a row are one turn.
    """
    names = called_names(turns)
    told: list[Turn] = []
    for before, turn in zip([None, *turns], turns, strict=False):
        if turn.role == "tool" and before is not None and before.role == "tool":
            told[-1] = replace(told[-1], text=f"{told[-1].text}\n{_without_calls(turn, names).text}")
        else:
            told.append(_without_calls(turn, names))
    if not rules.callable:
        return told
    words = generic_instructions(rules.callable, parallel=rules.parallel, required=rules.mode == "required")
    if told and told[0].role == "system":
        return [replace(told[0], text=f"{told[0].text}\n\n{words}"), *told[1:]]
    return [Turn(role="system", text=words), *told]


def _without_calls(turn: Turn, names: Mapping[str, str]) -> Turn:
    if turn.role == "tool":
        return Turn(role="user", text=generic_result(turn.text, turn.name or names.get(turn.call_id or "", "")))
    if turn.calls:
        calls = [generic_call(call) for call in turn.calls]
        return replace(turn, text="\n".join(([turn.text] if turn.text else []) + calls), calls=())
    return turn


def _as_function(tool: Tool) -> dict[str, Any]:
    function: dict[str, Any] = {"name": tool.name, "description": tool.description}
    function["parameters"] = dict(tool.parameters) if tool.parameters else {"type": "object", "properties": {}}
    return {"type": "function", "function": function}
