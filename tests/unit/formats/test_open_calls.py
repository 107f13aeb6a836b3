"""Calls without markers are calls only when they name a function that there is."""

from __future__ import annotations

import pytest

from tests.support.formats import TOOLS, Folded, Vocabulary, free, rejection, same_however_cut
from troth.formats.registry import FORMATS

CALL = '{"name": "get_weather", "arguments": {"city": "Rome"}}'
READ = (("get_weather", '{"city": "Rome"}'),)


def read(text: str, name: str = "json") -> Folded:
    return same_however_cut(lambda: FORMATS[name].reader(TOOLS), text)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (CALL, ""),
        (f" \n[{CALL}]\n", ""),
        (f"```json\n{CALL}\n```", ""),
        (f"I look.\n```json\n[{CALL}]\n```\nDone", "I look.\nDone"),
        (f"```\n{CALL}\n```", ""),
        (f"So: <tool_call>{CALL}</tool_call>", "So:"),
        (f'{{"type": "function", "function": {CALL}}}', ""),
    ],
)
def test_the_fall_back_reads_bare_fenced_and_tagged_calls(text: str, words: str) -> None:
    assert read(text) == Folded(words, "", READ, False)


@pytest.mark.parametrize(
    "text",
    [
        '{"city": "Rome"}',
        '{"name": "Anna", "arguments": {}}',
        '{"name": 3}',
        "[1, 2, 3]",
        f"It is {CALL}",
        '```json\n{"a": 1}\n```\n',
        '```python\nprint({"name": "get_weather"})\n```',
        "{",
        '{"name": "get_wea',
    ],
)
@pytest.mark.parametrize("name", ["json", "llama3"])
def test_other_json_stays_an_answer(text: str, name: str) -> None:
    assert read(text, name) == Folded(text, "", (), False)


def test_llama_calls_behind_its_tag_anywhere() -> None:
    text = '<|python_tag|>{"name": "get_weather", "parameters": {"city": "Rome"}}'
    assert read(text, "llama3") == Folded("", "", READ, False)
    assert read(f"I look. {text}", "llama3") == Folded("I look.", "", READ, False)
    assert read(f"{CALL}; {CALL.replace('Rome', 'Oslo')}", "llama3").calls[1][1] == '{"city": "Oslo"}'


def test_free_text_of_a_bare_format_does_not_begin_like_a_call() -> None:
    its = Vocabulary()
    for name in ("json", "llama3"):
        grammar = FORMATS[name].grammar(TOOLS, its.mark, parallel=True)
        assert grammar.opens
        assert rejection(free(grammar, its), its, "Hello {") is None
        assert rejection(free(grammar, its), its, '{"a": 1}')


def test_functionary_tells_recipients() -> None:
    call = 'get_weather\n{"city": "Rome"}'
    assert read(f"all\nHi.\n>>>{call}", "functionary_v32") == Folded("Hi.", "", READ, False)
    assert read(f">>>{call}>>>all\nDone >> it", "functionary_v32") == Folded("Done >> it", "", READ, False)
    assert read("nobody\nHi", "functionary_v32").words == "nobody\nHi"
