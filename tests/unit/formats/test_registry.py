"""Every format reads what its models write, however it is cut, and its grammar allows just that."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.formats import (
    FIRST,
    SECOND,
    TOOLS,
    WEATHER,
    Folded,
    Vocabulary,
    fold,
    forced,
    free,
    rejection,
    same_however_cut,
)
from tests.unit.formats.samples import CALLS, SAMPLES, THINKING, WORDS
from troth.formats.registry import FORMATS, NAMES, detect
from troth.formats.thoughts import thought_syntax

EVERY = pytest.mark.parametrize("name", NAMES)
VOCABULARIES = pytest.mark.parametrize("has_control_tokens", [False, True], ids=["bytes", "control"])


def read(name: str, *pieces: str) -> Folded:
    return fold(FORMATS[name].reader(TOOLS), pieces)


def vocabulary(name: str, has_control_tokens: bool) -> Vocabulary:
    return Vocabulary(FORMATS[name].markers if has_control_tokens else ())


@EVERY
def test_words_and_two_calls_are_read_however_the_text_is_cut(name: str) -> None:
    folded = same_however_cut(lambda: FORMATS[name].reader(TOOLS), SAMPLES[name])
    assert folded.arguments == [("get_weather", FIRST), ("take_note", SECOND)]
    assert folded.words == (WORDS.strip() if WORDS in SAMPLES[name] else "")
    assert folded.thoughts == ("Hm." if name in THINKING else "")
    assert not folded.is_broken_off


@EVERY
@settings(deadline=None, max_examples=30)
@given(data=st.data())
def test_random_cuts_change_nothing(name: str, data: st.DataObject) -> None:
    text = SAMPLES[name]
    places = sorted(data.draw(st.sets(st.integers(0, len(text)))))
    pieces = [text[start:stop] for start, stop in zip([0, *places], [*places, len(text)], strict=True)]
    assert read(name, *pieces) == read(name, text)


@EVERY
def test_a_cut_answer_stays_as_far_as_it_came_and_shows_no_marker(name: str) -> None:
    whole = read(name, SAMPLES[name])
    begins_call = SAMPLES[name].index(CALLS[name])
    for place in range(len(SAMPLES[name])):
        folded = read(name, SAMPLES[name][:place])
        came = len(folded.calls)
        assert [each for each, _ in folded.calls] == [each for each, _ in whole.calls][:came]
        for (_, text), (_, all_of_it) in zip(folded.calls, whole.calls, strict=False):
            assert all_of_it.startswith(text)
        is_whole = all(text == whole.calls[index][1] for index, (_, text) in enumerate(folded.calls))
        assert is_whole or folded.is_broken_off, SAMPLES[name][:place]
        if place >= begins_call + len(CALLS[name]):
            assert folded.words.strip() == whole.words, SAMPLES[name][:place]


@EVERY
def test_plain_text_is_words(name: str) -> None:
    for text in ("Hello.", " 3 < 4 {not} [a] call\n", "a <tool", "<", "[", "\n\n x", ""):
        assert same_however_cut(lambda: FORMATS[name].reader(TOOLS), text).words == text


@EVERY
@VOCABULARIES
def test_the_grammar_takes_what_the_reader_reads(name: str, has_control_tokens: bool) -> None:
    its = vocabulary(name, has_control_tokens)
    grammar = FORMATS[name].grammar(TOOLS, its.mark, parallel=True)
    calls = SAMPLES[name][SAMPLES[name].index(CALLS[name]) :]
    assert rejection(forced(grammar, its.mark), its, calls) is None
    assert rejection(free(grammar, its), its, SAMPLES[name]) is None
    before = SAMPLES[name][: SAMPLES[name].index(CALLS[name])].removesuffix(">>>")
    if name in THINKING:
        before += "<|channel|>final<|message|>Hello."
    assert rejection(free(grammar, its), its, before or "Hello.") is None


@EVERY
@VOCABULARIES
def test_the_grammar_refuses_other_names_other_arguments_and_a_second_call(name: str, has_control_tokens: bool) -> None:
    its = vocabulary(name, has_control_tokens)
    calls = SAMPLES[name][SAMPLES[name].index(CALLS[name]) :]
    grammar = forced(FORMATS[name].grammar(TOOLS, its.mark, parallel=True), its.mark)
    assert rejection(grammar, its, calls.replace("get_weather", "get_whether"))
    assert rejection(grammar, its, calls.replace("3", "true"))
    assert rejection(grammar, its, calls.replace("days", "daze"))
    single = forced(FORMATS[name].grammar(TOOLS, its.mark, parallel=False), its.mark)
    assert rejection(single, its, calls)
    only = forced(FORMATS[name].grammar((WEATHER,), its.mark, parallel=True), its.mark)
    assert rejection(only, its, calls)


@EVERY
def test_a_tool_without_parameters_can_be_called(name: str) -> None:
    from troth.domain import Tool

    its = Vocabulary()
    grammar = FORMATS[name].grammar((Tool(name="now"),), its.mark, parallel=True)
    assert rejection(forced(grammar, its.mark), its, "") == "not complete"


# ---- detection ----------------------------------------------------------------------------------

TAUGHT = {
    "<tool_call>\\n{'name': ...}\\n</tool_call>": "hermes",
    "<tool_call>\\n<function=x>\\n<parameter=y>": "qwen3_coder",
    "<tool_call>{name}\n<arg_key>{k}</arg_key>\n<arg_value>": "glm45",
    "<tool_call>{name}<arg_key>{k}</arg_key><arg_value>": "glm47",
    "<seed:tool_call>\\n<function=x>\\n<parameter=y>": "seed_oss",
    "<minimax:tool_call>": "minimax_m2",
    "[TOOL_CALLS]{{ name }}[ARGS]": "mistral",
    "[TOOL_CALLS][{{ calls }}]": "mistral_list",
    "<｜tool▁calls▁begin｜>…<｜tool▁sep｜>…```json": "deepseek_v3",
    "<｜tool▁calls▁begin｜>…<｜tool▁sep｜>": "deepseek_v31",
    "'｜DSML｜' + 'function_calls>'": "deepseek_v32",
    "<｜DSML｜tool_calls>": "deepseek_v4",
    "<|channel|>analysis<|message|> functions.": "harmony",
    '<|tool_call>call: <|"|>': "gemma4",
    "<|tool_call|> [": "granite",
    "<|tool_call|> <|/tool_call|>": "phi4",
    "<|python_tag|>": "llama3",
    "tools_in_user_message tools": "json",
    "tool_calls": "json",
    "{{ messages }}": None,
    "": None,
}


@pytest.mark.parametrize("source", TAUGHT)
def test_a_template_tells_its_format_by_its_markers(source: str) -> None:
    assert detect(source) == TAUGHT[source]


# The file names of templates that llama.cpp carries → (the format of calls, the syntax of reasoning).
TEMPLATES: dict[str, tuple[str | None, str | None]] = {
    "Apertus-8B-Instruct": ("apertus", "apertus"),
    "Apriel-1.6-15b-Thinker-fixed": ("tool_calls_list", "apriel"),
    "Bielik-11B-v3.0-Instruct": ("hermes", "think"),
    "ByteDance-Seed-OSS": ("seed_oss", "seed"),
    "Cohere2MoE": ("command_r7b", "command_r7b"),
    "CohereForAI-c4ai-command-r-plus-tool_use": ("command_r_plus", None),
    "CohereForAI-c4ai-command-r7b-12-2024-tool_use": ("command_r7b", "command_r7b"),
    "GLM-4.6": ("glm45", "think"),
    "GLM-4.7-Flash": ("glm47", "think"),
    "GigaChat3-10B-A1.8B": ("json", None),
    "GigaChat3.1-10B-A1.8B": ("gigachat", None),
    "HuggingFaceTB-SmolLM3-3B": (None, "think"),
    "Kimi-K2-Instruct": ("kimi_k2", None),
    "Kimi-K2-Thinking": ("kimi_k2", "think"),
    "Kimi-K3": ("json", "kimi_k3"),
    "LFM2-8B-A1B": ("lfm2", None),
    "LFM2.5-8B-A1B": ("lfm2", "think"),
    "LFM2.5-Instruct": ("lfm2", "think"),
    "MiMo-VL": ("hermes", None),
    "MiniMax-M1": ("minimax_m1", None),
    "MiniMax-M2": ("minimax_m2", "think"),
    "MiniMax-M3": ("json", "minimax_m3"),
    "Mistral-Small-3.2-24B-Instruct-2506": ("mistral", None),
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16": ("qwen3_coder", "think"),
    "NVIDIA-Nemotron-Nano-v2": ("nemotron", "think"),
    "NousResearch-Hermes-2-Pro-Llama-3-8B-tool_use": ("hermes", None),
    "NousResearch-Hermes-3-Llama-3.1-8B-tool_use": ("hermes", None),
    "Qwen-QwQ-32B": ("hermes", "think"),
    "Qwen-Qwen2.5-7B-Instruct": ("hermes", None),
    "Qwen-Qwen3-0.6B": ("hermes", "think"),
    "Qwen3-Coder": ("qwen3_coder", None),
    "Qwen3.5-4B": ("qwen3_coder", "think"),
    "Reka-Edge": ("hermes", "think"),
    "Spark2.5": ("glm47", "think"),
    "StepFun3.5-Flash": ("qwen3_coder", "think"),
    "deepseek-ai-DeepSeek-R1-Distill-Llama-8B": ("deepseek_v3", "think"),
    "deepseek-ai-DeepSeek-R1-Distill-Qwen-32B": ("deepseek_v3", "think"),
    "deepseek-ai-DeepSeek-V3.1": ("deepseek_v31", "think"),
    "deepseek-ai-DeepSeek-V3.2": ("deepseek_v32", "think"),
    "deepseek-ai-DeepSeek-V4-Flash-0731": ("deepseek_v4", "think"),
    "deepseek-ai-DeepSeek-V4": ("deepseek_v4", "think"),
    "fireworks-ai-llama-3-firefunction-v2": ("functools", None),
    "google-gemma-2-2b-it": (None, None),
    "google-gemma-4-31B-it-interleaved": ("gemma4", "gemma4"),
    "google-gemma-4-31B-it": ("gemma4", "gemma4"),
    "ibm-granite-granite-3.3-2B-Instruct": ("granite", "think"),
    "ibm-granite-granite-4.0": ("hermes", None),
    "ibm-granite-granite-4.1": ("hermes", None),
    "inclusionai-ling-3.0-flash": ("glm45", "think"),
    "llama-cpp-deepseek-r1": ("deepseek_v3", "think"),
    "llama-cpp-rwkv-world": (None, "think"),
    "meetkai-functionary-medium-v3.1": ("functionary_v31", None),
    "meetkai-functionary-medium-v3.2": ("functionary_v32", None),
    "meta-llama-Llama-3.1-8B-Instruct": ("llama3", None),
    "meta-llama-Llama-3.2-3B-Instruct": ("llama3", None),
    "meta-llama-Llama-3.3-70B-Instruct": ("llama3", None),
    "microsoft-Phi-3.5-mini-instruct": (None, None),
    "mistralai-Ministral-3-14B-Reasoning-2512": ("mistral", "mistral"),
    "mistralai-Mistral-Nemo-Instruct-2407": ("mistral_list", None),
    "moonshotai-Kimi-K2": ("kimi_k2", None),
    "muse-glimmer": ("json", None),
    "openai-gpt-oss-120b": ("harmony", "harmony"),
    "openbmb-MiniCPM5-1B": ("minicpm5", "think"),
    "poolside-Laguna-S-2.1": ("glm45", "think"),
    "poolside-Laguna-XS-2.1": ("glm45", "think"),
    "poolside-Laguna-XS.2": ("glm45", "think"),
    "tencent-Hy3": ("hunyuan", "hunyuan"),
    "unsloth-Apriel-1.5": ("tool_calls_list", "apriel"),
    "unsloth-mistral-Devstral-Small-2507": ("mistral", None),
    "upstage-Solar-Open-100B": ("solar", "solar"),
}


def test_real_templates_are_known() -> None:
    folder = os.environ.get("TROTH_TEMPLATES_DIR")
    if not folder:
        pytest.skip("TROTH_TEMPLATES_DIR names no folder with the templates of llama.cpp (models/templates)")
    for file, known in TEMPLATES.items():
        source = (Path(folder) / f"{file}.jinja").read_text("utf-8")
        syntax = thought_syntax(source)
        assert (detect(source), syntax.name if syntax else None) == known, file
