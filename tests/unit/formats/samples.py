"""One answer for each format, as its models write it: words, then two calls."""

from __future__ import annotations

from tests.support.formats import FIRST_JSON, SECOND_JSON

WORDS = "I look.\n"


def objects(arguments: str = "arguments", extra: str = "") -> tuple[str, str]:
    return (
        f'{{{extra}"name": "get_weather", "{arguments}": {FIRST_JSON}}}',
        f'{{{extra}"name": "take_note", "{arguments}": {SECOND_JSON}}}',
    )


ONE, TWO = objects()
TAGGED = f"{WORDS}<tool_call>\n{ONE}\n</tool_call>\n<tool_call>\n{TWO}\n</tool_call>"

SAMPLES: dict[str, str] = {
    "hermes": TAGGED,
    "generic": TAGGED,
    "granite": f"{WORDS}<|tool_call|>[{ONE}, {TWO}]",
    "phi4": f"{WORDS}<|tool_call|>[{ONE}, {TWO}]<|/tool_call|>",
    "mistral_list": f"{WORDS}[TOOL_CALLS][{ONE}, {TWO}]",
    "nemotron": f"{WORDS}<TOOLCALL>[{ONE}, {TWO}]</TOOLCALL>",
    "tool_calls_list": f"{WORDS}<tool_calls>[{ONE}, {TWO}]</tool_calls>",
    "minimax_m1": f"{WORDS}<tool_calls>\n{ONE}\n{TWO}\n</tool_calls>",
    "functools": f"{WORDS}functools[{ONE}, {TWO}]",
    "gigachat": f"{WORDS}<|function_call|>{ONE}<|function_call|>{TWO}",
    "apertus": (
        f'{WORDS}<|tools_prefix|>[{{"get_weather": {FIRST_JSON}}}, {{"take_note": {SECOND_JSON}}}]<|tools_suffix|>'
    ),
    "command_r7b": (
        f"{WORDS}<|START_ACTION|>[\n"
        f'    {{"tool_call_id": "0", "tool_name": "get_weather", "parameters": {FIRST_JSON}}},\n'
        f'    {{"tool_call_id": "1", "tool_name": "take_note", "parameters": {SECOND_JSON}}}\n]<|END_ACTION|>'
    ),
}

# Where the calls begin: what stands before it is words, or reasoning.
CALLS: dict[str, str] = {
    "hermes": "<tool_call>",
    "generic": "<tool_call>",
    "granite": "<|tool_call|>",
    "phi4": "<|tool_call|>",
    "mistral_list": "[TOOL_CALLS]",
    "nemotron": "<TOOLCALL>",
    "tool_calls_list": "<tool_calls>",
    "minimax_m1": "<tool_calls>",
    "functools": "functools",
    "gigachat": "<|function_call|>",
    "apertus": "<|tools_prefix|>",
    "command_r7b": "<|START_ACTION|>",
}
THINKING: set[str] = set()  # formats that tell reasoning apart by themselves
