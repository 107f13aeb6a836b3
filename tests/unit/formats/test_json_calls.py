"""Calls as JSON objects: the small variations that models make, and what is no call after all."""

from __future__ import annotations

import json

import pytest

from tests.support.formats import Folded, same_however_cut
from troth.formats.registry import FORMATS


def read(text: str, name: str = "hermes") -> Folded:
    return same_however_cut(lambda: FORMATS[name].reader(()), text)


@pytest.mark.parametrize(
    "inside",
    [
        '{"name":"f","arguments":{"a":1}}',
        ' \n{ "name" : "f" ,\n "arguments" : {"a":1} }\n ',
        '{"arguments":{"a":1},"name":"f"}',
        '{"name":"f","parameters":{"a":1}}',
        '{"id":"x","name":"f","arguments":{"a":1},"type":["function",{"b":"}"}],"index":0}',
        '{"name":"f","arguments":"{\\"a\\":1}"}',
        '{"arguments":"{\\"a\\":1}","name":"f"}',
        '{"type":"function","function":{"name":"f","arguments":{"a":1}}}',
        '{"type":"function","function":"f","parameters":{"a":1}}',
        '{"name":"\\u0066","arguments":{"a":1}}}',
        '[{"name":"f","arguments":{"a":1}}]',
    ],
)
def test_variations_of_one_call(inside: str) -> None:
    assert read(f"<tool_call>{inside}</tool_call>") == Folded("", "", (("f", '{"a":1}'),), False)


@pytest.mark.parametrize("arguments", ["", ', "arguments": null', ', "arguments": ""', ', "arguments": {}'])
def test_a_call_without_arguments_has_an_empty_object(arguments: str) -> None:
    assert read(f'<tool_call>{{"name": "f"{arguments}}}</tool_call>').calls == (("f", "{}"),)


@pytest.mark.parametrize(
    "inside",
    [
        "",
        "hello",
        '{"a": 1}',
        '{"name": 3}',
        '{"name": ""}',
        "{}",
        "{name: 1}",
        '{"name": "f", "arguments": [1]}',
        '{"name": "f", "arguments": "x"}',
        '{"name" "f"}',
        "[]",
        '{"name": "' + "f" * 2000 + '"}',
    ],
)
def test_what_is_no_call_is_given_back_as_words(inside: str) -> None:
    text = f"A <tool_call>{inside}</tool_call> b"
    assert read(text) == Folded(text, "", (), False)


def test_a_call_behind_what_is_none_is_still_one() -> None:
    folded = read('<tool_call> no <tool_call>{"name": "f"}</tool_call> yes </tool_call>')
    assert folded == Folded("<tool_call> no yes ", "", (("f", "{}"),), False)


def test_words_may_follow_a_call() -> None:
    assert read('<tool_call>{"name": "f"}</tool_call>\nDone. \n').words == "\nDone. \n"


def test_white_space_before_and_behind_calls_belongs_to_nobody() -> None:
    assert read('\n \n<tool_call>{"name": "f"}</tool_call>\n\n').words == ""


def test_unicode_and_escapes_stay_as_they_were_written() -> None:
    arguments = '{"a": "\\u00e9 é \\ud83d\\ude00 😀 \\\\\\" }]", "b": {"c": [[], {}]}}'
    assert read(f'<tool_call>{{"name": "f", "arguments": {arguments}}}</tool_call>').calls == (("f", arguments),)


def test_control_characters_in_strings_become_escapes() -> None:
    text = '<tool_call>{"name": "f", "arguments": {"a": "1\n2\t3\x00\x1f\x7f"}}</tool_call>'
    assert read(text).arguments == [("f", {"a": "1\n2\t3\x00\x1f\x7f"})]


def test_surrogates_in_quoted_arguments_are_characters_or_replaced() -> None:
    quoted = json.dumps('{"a": "😀"}') + "}"
    assert read('<tool_call>{"name": "f", "arguments": ' + quoted + "</tool_call>").arguments == [("f", {"a": "😀"})]
    lone = '"{\\"a\\": \\"\\ud83d \\udc00 \\ud83d\\u0041 \\u12\\"}"'
    folded = read('<tool_call>{"name": "f", "arguments": ' + lone + "}</tool_call>")
    assert folded.arguments == [("f", {"a": "\ufffd \ufffd \ufffdA \ufffd"})]


def test_arguments_stream_as_they_are_written() -> None:
    from troth.formats.base import CallArguments, CallName

    reader = FORMATS["hermes"].reader(())
    assert list(reader.feed('<tool_call>{"name": "f", "arguments": ')) == []
    assert list(reader.feed('{"a": "b')) == [CallName("f"), CallArguments('{"a": "b')]
    assert list(reader.feed("c")) == [CallArguments("c")]
    assert list(reader.feed('"}}</tool')) == [CallArguments('"}')]
    assert list(reader.end()) == []
    assert not reader.is_broken_off


def test_time_is_linear_in_the_text() -> None:
    import time

    def seconds(count: int) -> float:
        reader = FORMATS["hermes"].reader(())
        pieces = ['<tool_call>{"arguments": {"a": "', *["<tool" for _ in range(count)], '"}, "name": "f"}']
        began = time.process_time()
        for piece in pieces:
            reader.feed(piece)
        reader.end()
        return time.process_time() - began

    seconds(1000)
    assert seconds(40_000) < 20 * max(seconds(4_000), 0.01)
