"""One answer for each format, as its models write it: words, then two calls."""

from __future__ import annotations

import json

from tests.support.formats import CITY, FIRST_JSON, SECOND, SECOND_JSON

WORDS = "I look.\n"
TAGS = '["a", "b\\"}"]'  # of the second call, as JSON


def objects(arguments: str = "arguments", extra: str = "") -> tuple[str, str]:
    return (
        f'{{{extra}"name": "get_weather", "{arguments}": {FIRST_JSON}}}',
        f'{{{extra}"name": "take_note", "{arguments}": {SECOND_JSON}}}',
    )


def function_calls(begin: str, end: str, padding: str) -> str:
    def parameter(key: str, value: str) -> str:
        return f"<parameter={key}>{padding}{value}{padding}</parameter>\n"

    first = parameter("city", CITY) + parameter("days", "3")
    second = parameter("text", SECOND["text"]) + parameter("tags", TAGS) + parameter("done", "true")
    return (
        f"{begin}\n<function=get_weather>\n{first}</function>\n{end}\n"
        f"{begin}\n<function=take_note>\n{second}</function>\n{end}"
    )


def key_calls(gap: str) -> str:
    def pair(key: str, value: str) -> str:
        return f"<arg_key>{key}</arg_key>{gap}<arg_value>{value}</arg_value>{gap}"

    first = pair("city", CITY) + pair("days", "3")
    second = pair("text", SECOND["text"]) + pair("tags", TAGS) + pair("done", "true")
    return f"<tool_call>get_weather{gap}{first}</tool_call>{gap}<tool_call>take_note{gap}{second}</tool_call>"


def invocations(section: str, prefix: str, string: str = "", other: str = "") -> str:
    def parameter(key: str, value: str, kind: str) -> str:
        return f'<{prefix}parameter name="{key}"{kind}>{value}</{prefix}parameter>\n'

    first = parameter("city", CITY, string) + parameter("days", "3", other)
    second = parameter("text", SECOND["text"], string) + parameter("tags", TAGS, other)
    second += parameter("done", "true", other)
    return (
        f'<{section}>\n<{prefix}invoke name="get_weather">\n{first}</{prefix}invoke>\n'
        f'<{prefix}invoke name="take_note">\n{second}</{prefix}invoke>\n</{section}>'
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
    "mistral": f"{WORDS}[TOOL_CALLS]get_weather[ARGS]{FIRST_JSON}[TOOL_CALLS]take_note[ARGS]{SECOND_JSON}",
    "deepseek_v3": (
        f"{WORDS}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>get_weather\n```json\n{FIRST_JSON}\n```"
        f"<｜tool▁call▁end｜>\n<｜tool▁call▁begin｜>function<｜tool▁sep｜>take_note\n```json\n{SECOND_JSON}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "deepseek_v31": (
        f"{WORDS}<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather<｜tool▁sep｜>{FIRST_JSON}<｜tool▁call▁end｜>"
        f"<｜tool▁call▁begin｜>take_note<｜tool▁sep｜>{SECOND_JSON}<｜tool▁call▁end｜><｜tool▁calls▁end｜>"
    ),
    "kimi_k2": (
        f"{WORDS}<|tool_calls_section_begin|>"
        f"<|tool_call_begin|>functions.get_weather:0<|tool_call_argument_begin|>{FIRST_JSON}<|tool_call_end|>"
        f"<|tool_call_begin|>functions.take_note:1<|tool_call_argument_begin|>{SECOND_JSON}<|tool_call_end|>"
        "<|tool_calls_section_end|>"
    ),
    "functionary_v31": (
        f"{WORDS}<function=get_weather>{FIRST_JSON}</function><function=take_note>{SECOND_JSON}</function>"
    ),
    "solar": (
        f"{WORDS}<|tool_calls|><|tool_call:begin|>call_0<|tool_call:name|>get_weather<|tool_call:args|>{FIRST_JSON}"
        f"<|tool_call:end|><|tool_call:begin|>call_1<|tool_call:name|>take_note<|tool_call:args|>{SECOND_JSON}"
        "<|tool_call:end|><|calls|>"
    ),
    "llama3": (
        f'{{"name": "get_weather", "parameters": {FIRST_JSON}}}\n{{"name": "take_note", "parameters": {SECOND_JSON}}}'
    ),
    "json": f"{ONE}\n{TWO}",
    "command_r_plus": (
        f'{WORDS}Action:\n```json\n[\n    {{\n        "tool_name": "get_weather",\n        "parameters": {FIRST_JSON}\n'
        f'    }},\n    {{\n        "tool_name": "take_note",\n        "parameters": {SECOND_JSON}\n    }}\n]```'
    ),
    "functionary_v32": f"all\n{WORDS}>>>get_weather\n{FIRST_JSON}>>>take_note\n{SECOND_JSON}",
    "qwen3_coder": WORDS + function_calls("<tool_call>", "</tool_call>", "\n"),
    "seed_oss": WORDS + function_calls("<seed:tool_call>", "</seed:tool_call>", ""),
    "glm45": WORDS + key_calls("\n"),
    "glm47": WORDS + key_calls(""),
    "minimax_m2": WORDS + invocations("minimax:tool_call", ""),
    "deepseek_v32": WORDS + invocations("｜DSML｜function_calls", "｜DSML｜", ' string="true"', ' string="false"'),
    "deepseek_v4": WORDS + invocations("｜DSML｜tool_calls", "｜DSML｜", ' string="true"', ' string="false"'),
    "minicpm5": (
        f'{WORDS}<function name="get_weather"><param name="city">{CITY}</param><param name="days">3</param></function>'
        f'\n<function name="take_note"><param name="text">{SECOND["text"]}</param><param name="tags">{TAGS}</param>'
        '<param name="done">true</param></function>'
    ),
    "hunyuan": WORDS
    + key_calls("\n")
    .replace("<tool_call>get_weather", "<tool_calls:opensource>\n<tool_call>get_weather<tool_sep:opensource>")
    .replace("<tool_call>take_note", "<tool_call>take_note<tool_sep:opensource>")
    .replace("_call>", "_call:opensource>")
    .replace("_key>", "_key:opensource>")
    .replace("_value>", "_value:opensource>")
    + "\n</tool_calls:opensource>",
    "gemma4": (
        f'{WORDS}<|tool_call>call:get_weather{{city:<|"|>{CITY}<|"|>,days:3}}<tool_call|>'
        f'<|tool_call>call:take_note{{done:true,tags:[<|"|>a<|"|>,<|"|>b"}}<|"|>],text:<|"|>{SECOND["text"]}<|"|>}}'
        "<tool_call|>"
    ),
    "lfm2": (
        f"{WORDS}<|tool_call_start|>[get_weather(city={json.dumps(CITY, ensure_ascii=False)}, days=3), "
        f"take_note(text={json.dumps(SECOND['text'])}, tags={TAGS}, done=true)]<|tool_call_end|>"
    ),
    "harmony": (
        "<|channel|>analysis<|message|>Hm.<|end|>"
        f"<|start|>assistant<|channel|>commentary<|message|>{WORDS}<|end|><|start|>assistant"
        f"<|channel|>commentary to=functions.get_weather <|constrain|>json<|message|>{FIRST_JSON}<|call|>"
        "<|start|>assistant"
        f"<|channel|>commentary to=functions.take_note <|constrain|>json<|message|>{SECOND_JSON}"
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
    "mistral": "[TOOL_CALLS]",
    "deepseek_v3": "<｜tool▁calls▁begin｜>",
    "deepseek_v31": "<｜tool▁calls▁begin｜>",
    "kimi_k2": "<|tool_calls_section_begin|>",
    "functionary_v31": "<function=",
    "solar": "<|tool_calls|>",
    "llama3": '{"name": "get_weather", "parameters": {',
    "json": '{"name": "get_weather", "arguments": {',
    "command_r_plus": "Action:\n```json",
    "functionary_v32": "get_weather",
    "qwen3_coder": "<tool_call>",
    "seed_oss": "<seed:tool_call>",
    "glm45": "<tool_call>",
    "glm47": "<tool_call>",
    "minimax_m2": "<minimax:tool_call>",
    "deepseek_v32": "<｜DSML｜function_calls>",
    "deepseek_v4": "<｜DSML｜tool_calls>",
    "minicpm5": "<function name=",
    "hunyuan": "<tool_calls:opensource>",
    "gemma4": "<|tool_call>",
    "lfm2": "<|tool_call_start|>",
    "harmony": "<|channel|>commentary to=",
}
THINKING = {"harmony"}  # formats that tell reasoning apart by themselves
