"""hal0's `omni` on a chat request: what it does not go with, and how its calls are told."""

from __future__ import annotations

from typing import Any

from troth.dialects.chat_answer import Heading, aside
from troth.dialects.streams import Chunks
from troth.domain import Event, Finished
from troth.errors import BadRequest
from troth.omni.loop import Looping

# Fields that ask for another course of the conversation than the loop's.
APART = (
    "tools",
    "tool_choice",
    "functions",
    "function_call",
    "parse_tool_calls",
    "n",
    "continue_final_message",
    "add_generation_prompt",
)


def check_alone(given: frozenset[str]) -> None:
    """Nothing beside `omni` contradicts it. Raises BadRequest."""
    clash = next((field for field in APART if field in given), None)
    if clash is not None:
        raise BadRequest(
            f"`omni` runs tools of its own before one answer, and `{clash}` asks for something else: send one of them.",
            param=clash,
            code="conflicting_values",
        )


class OmniChunks:
    """Chunks that tell the calls before the end."""

    def __init__(self, chunks: Chunks, heading: Heading, looping: Looping) -> None:
        self._chunks = chunks
        self._heading = heading
        self._looping = looping

    def open_all(self) -> bytes:
        """What is sent before any token."""
        return self._chunks.open_all()

    def end(self) -> bytes:
        """What is sent after everything."""
        return self._chunks.end()

    def write(self, event: Event) -> bytes:
        """The frames that `event` causes."""
        told = aside(self._heading, report_of(self._looping)) if isinstance(event, Finished) else b""
        return told + self._chunks.write(event)


def report_of(looping: Looping) -> dict[str, Any]:
    """The calls that were made, as the answer tells them."""
    model = looping.prepared.plan.model
    loop = {
        "caller_slot": model.slot or model.id,
        "rounds": looping.rounds,
        "tool_results": [
            {
                "id": each.call.id,
                "name": each.call.name,
                "arguments": each.call.arguments,
                "result": dict(each.result),
                "seconds": round(each.seconds, 3),
            }
            for each in looping.results
        ],
    }
    return {"hal0": {"omni": loop}}
