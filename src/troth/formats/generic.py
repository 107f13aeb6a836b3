"""How does a model call functions whose template has no word for it? As the generic format says.

The prompt room puts the instructions into the system message, and writes calls and results of earlier turns
as these functions do; `json_calls.GENERIC` reads the answers.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from troth.domain import Tool, ToolCall


def generic_instructions(tools: Sequence[Tool], *, parallel: bool, required: bool) -> str:
    """What a model is told: which functions there are, and how to call them."""
    count = "one or more functions" if parallel else "one function"
    need = f"You must call {count} to answer." if required else f"You may call {count} to help you answer."
    example = '<tool_call>\n{"name": FUNCTION NAME, "arguments": OBJECT OF ARGUMENTS}\n</tool_call>'
    several = " For several calls, write one such block after the other." if parallel else ""
    return (
        f"You have access to functions. {need} These are the functions, one JSON object on each line:\n"
        "<tools>\n"
        + "\n".join(_signature(tool) for tool in tools)
        + "\n</tools>\n\n"
        + f"To call a function, write a JSON object with its name and its arguments like this:\n{example}\n"
        + f"Write nothing behind it.{several} The results are then given to you within <tool_response></tool_response>."
    )


def _signature(tool: Tool) -> str:
    signature = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return json.dumps({key: value for key, value in signature.items() if value}, ensure_ascii=False)


def generic_call(call: ToolCall) -> str:
    """A call of an earlier turn, as the model wrote it."""
    name = json.dumps(call.name, ensure_ascii=False)
    return f'<tool_call>\n{{"name": {name}, "arguments": {call.arguments.strip() or "{}"}}}\n</tool_call>'


def generic_result(text: str, name: str) -> str:
    """The result of a call of the function `name`, as the model is given it."""
    named = f' name="{name}"' if name else ""
    return f"<tool_response{named}>\n{text}\n</tool_response>"
