"""A name between markers, then JSON: the small variations that models make, and what is no call after all."""

from __future__ import annotations

import pytest

from tests.support.formats import Folded, same_however_cut
from troth.formats.registry import FORMATS

READ = (("f", '{"a": 1}'),)


def read(name: str, text: str) -> Folded:
    return same_however_cut(lambda: FORMATS[name].reader(()), text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mistral", '[TOOL_CALLS]f[CALL_ID]abc123xyz[ARGS]{"a": 1}'),
        ("mistral", '[TOOL_CALLS] f [ARGS] {"a": 1}\n'),
        ("mistral", '[TOOL_CALLS][{"name": "f", "arguments": {"a": 1}}]'),
        ("mistral", '[TOOL_CALLS]f[ARGS]"{\\"a\\": 1}"'),
        ("deepseek_v3", '<｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": 1}\n```<｜tool▁call▁end｜>'),
        ("deepseek_v3", '<｜tool_calls_begin｜>\n<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1}<｜tool▁call▁end｜>'),
        ("deepseek_v31", '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>f\n```json\n{"a": 1}\n```'),
        ("kimi_k2", '<|tool_call_begin|>f<|tool_call_argument_begin|>{"a": 1}<|tool_call_end|>'),
        ("kimi_k2", '<|tool_call_begin|> functions.f:12 <|tool_call_argument_begin|> {"a": 1}'),
        ("functionary_v31", '<function=f>\n{"a": 1}\n</function>\n'),
        ("solar", '<|tool_call:begin|>x<|tool_call:name|>f<|tool_call:args|>{"a": 1}<|tool_call:end|>'),
    ],
)
def test_variations_of_one_call(name: str, text: str) -> None:
    assert read(name, text) == Folded("", "", READ, False)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("mistral", "[TOOL_CALLS]f[ARGS]no"),
        ("mistral", "[TOOL_CALLS]two words[ARGS]{}"),
        ("mistral", "[TOOL_CALLS]" + "f" * 1000),
        ("deepseek_v31", "<｜tool▁calls▁begin｜> nothing"),
        ("kimi_k2", "<|tool_calls_section_begin|>\n\nnothing"),
        ("functionary_v31", "<function=>{}"),
    ],
)
def test_what_is_no_call_is_given_back_as_words(name: str, text: str) -> None:
    assert read(name, f"A {text} b") == Folded(f"A {text} b", "", (), False)


def test_a_broken_second_call_is_words_behind_the_first() -> None:
    folded = read("mistral", '[TOOL_CALLS]f[ARGS]{"a": 1}[TOOL_CALLS]g[ARGS]oops')
    assert folded == Folded("[TOOL_CALLS]g[ARGS]oops", "", READ, False)


def test_a_head_that_is_cut_shows_no_marker() -> None:
    folded = read("kimi_k2", "Hi <|tool_calls_section_begin|><|tool_call_begin|>functions.f")
    assert folded.words.strip() == "Hi"
    assert folded.is_broken_off
