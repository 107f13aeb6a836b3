"""Which ways of writing calls are there, and which one does a chat template teach?"""

from __future__ import annotations

from collections.abc import Mapping

from troth.formats.base import CallFormat
from troth.formats.harmony import Harmony
from troth.formats.json_calls import JSON_FORMATS
from troth.formats.named_calls import NAMED_FORMATS
from troth.formats.open_calls import OPEN_FORMATS
from troth.formats.relaxed_calls import RELAXED_FORMATS
from troth.formats.xml_calls import XML_FORMATS

_ALL: tuple[CallFormat, ...] = (
    *(*JSON_FORMATS, *NAMED_FORMATS, *XML_FORMATS),
    *(*OPEN_FORMATS, *RELAXED_FORMATS, Harmony()),
)
FORMATS: Mapping[str, CallFormat] = {each.name: each for each in _ALL}
NAMES: tuple[str, ...] = tuple(FORMATS)
UNKNOWN = "json"  # of a template that speaks of tools in a way that no sign tells
GENERIC = "generic"  # where the template has no place for tools, and the prompt room writes them as text

# Signs that must all stand in a template's source → the format. The first row that fits is the answer, so that
# a row for markers that several formats share stands behind those that need more.
SIGNS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("<|channel|>", "<|message|>", "functions."), "harmony"),
    (("<|tool_call>", "call:", '<|"|>'), "gemma4"),
    (("]<]minimax[>[",), UNKNOWN),
    (("<|tools_prefix|>",), "apertus"),
    (("<|START_ACTION|>",), "command_r7b"),
    (("Action:", "```json", "tool_name"), "command_r_plus"),
    (("<|tool_calls_section_begin|>",), "kimi_k2"),
    (("<|tool_call:begin|>",), "solar"),
    (("｜DSML｜", "function_calls>"), "deepseek_v32"),
    (("｜DSML｜",), "deepseek_v4"),
    (("tool▁calls▁begin", "```json"), "deepseek_v3"),
    (("tool▁calls▁begin",), "deepseek_v31"),
    (("<seed:tool_call>",), "seed_oss"),
    (("<minimax:tool_call>",), "minimax_m2"),
    (("<function name=", "<param name="), "minicpm5"),
    (("<tool_sep", ":opensource"), "hunyuan"),
    (("<tool_call>", "<function=", "<parameter="), "qwen3_coder"),
    (("<tool_call>", "</arg_key><arg_value>"), "glm47"),
    (("<tool_call>", "<arg_key>"), "glm45"),
    (("<|tool_call_start|>",), "lfm2"),
    (("<|tool_list_start|>",), "lfm2"),
    (("List of tools: [", "keep_past_thinking"), "lfm2"),
    (("<TOOLCALL>",), "nemotron"),
    (("functools[",), "functools"),
    (("<|function_call|>",), "gigachat"),
    (("<tool_calls>[",), "tool_calls_list"),
    (("<tool_calls>",), "minimax_m1"),
    (("[TOOL_CALLS]", "[ARGS]"), "mistral"),
    (("[TOOL_CALLS]",), "mistral_list"),
    ((">>>", "recipient"), "functionary_v32"),
    (("<function=", "</function>"), "functionary_v31"),
    (("<|/tool_call|>",), "phi4"),
    (("<|tool_call|>",), "granite"),
    (("<tool_call>",), "hermes"),
    (("<|python_tag|>",), "llama3"),
    (('{"name": function name, "parameters":',), "llama3"),
    (("tool_call",), UNKNOWN),
    (("function_call",), UNKNOWN),
    (("tools",), UNKNOWN),
)


def detect(template_source: str) -> str | None:
    """The name of the format of calls that a chat template teaches.

    `json` when it speaks of tools in a way that is not known; None when it has no word for them.
    """
    for signs, name in SIGNS:
        if all(sign in template_source for sign in signs):
            return name
    return None
