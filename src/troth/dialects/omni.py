"""hal0's `omni` on a chat request: what it does not go with, and how its calls are told."""

from __future__ import annotations

from typing import Any

from troth.errors import BadRequest
from troth.omni.loop import Looped

# Fields that ask for another course of the conversation than the loop's. `stream`: the answer comes when all is done.
APART = (
    "tools",
    "tool_choice",
    "functions",
    "function_call",
    "parse_tool_calls",
    "stream",
    "n",
    "continue_final_message",
    "add_generation_prompt",
)


def check_alone(given: frozenset[str]) -> None:
    """Nothing beside `omni` contradicts it. Raises BadRequest."""
    clash = next((field for field in APART if field in given), None)
    if clash is not None:
        raise BadRequest(
            f"`omni` runs tools of its own before one whole answer, and `{clash}` asks for something else: send one "
            "of them.",
            param=clash,
            code="conflicting_values",
        )


def report_of(looped: Looped) -> dict[str, Any]:
    """The calls that were made, as the answer tells them."""
    model = looped.prepared.plan.model
    return {
        "omni": {
            "caller_slot": model.slot or model.id,
            "rounds": looped.rounds,
            "tool_results": [
                {
                    "id": each.call.id,
                    "name": each.call.name,
                    "arguments": each.call.arguments,
                    "result": dict(each.result),
                    "seconds": round(each.seconds, 3),
                }
                for each in looped.results
            ],
        }
    }
