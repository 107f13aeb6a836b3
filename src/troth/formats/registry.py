"""Which ways of writing calls are there, and which one does a chat template teach?"""

from __future__ import annotations

from collections.abc import Mapping

from troth.formats.base import CallFormat
from troth.formats.json_calls import JSON_FORMATS
from troth.formats.named_calls import NAMED_FORMATS
from troth.formats.open_calls import OPEN_FORMATS
from troth.formats.xml_calls import XML_FORMATS

_ALL: tuple[CallFormat, ...] = (*JSON_FORMATS, *NAMED_FORMATS, *XML_FORMATS, *OPEN_FORMATS)
FORMATS: Mapping[str, CallFormat] = {each.name: each for each in _ALL}
NAMES: tuple[str, ...] = tuple(FORMATS)
UNKNOWN = "generic"


# Signs that must all stand in a template's source → the format. The first row that fits is the answer.
SIGNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("<|tools_prefix|>",), "apertus"),
    (("<|START_ACTION|>",), "command_r7b"),
    (("<TOOLCALL>",), "nemotron"),
    (("functools[",), "functools"),
    (("<|function_call|>",), "gigachat"),
    (("<tool_calls>[",), "tool_calls_list"),
    (("<tool_calls>",), "minimax_m1"),
    (("[TOOL_CALLS]",), "mistral_list"),
    (("<|/tool_call|>",), "phi4"),
    (("<|tool_call|>",), "granite"),
    (("<tool_call>",), "hermes"),
)


def detect(template_source: str) -> str | None:
    """The name of the format of calls that a chat template teaches; None when it has no word for tools."""
    for signs, name in SIGNS:
        if all(sign in template_source for sign in signs):
            return name
    return None
