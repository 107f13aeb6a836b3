"""Channels and recipients: what is reasoning, what is said, and what is a call."""

from __future__ import annotations

import pytest

from tests.support.formats import Folded, same_however_cut
from troth.formats.registry import FORMATS

CALL = '<|channel|>commentary to=functions.f <|constrain|>json<|message|>{"a": 1}<|call|>'
READ = (("f", '{"a": 1}'),)


def read(text: str) -> Folded:
    return same_however_cut(lambda: FORMATS["harmony"].reader(()), text)


@pytest.mark.parametrize(
    "call",
    [
        CALL,
        f"<|start|>assistant{CALL}",
        ' to=functions.f<|channel|>commentary json<|message|>{"a": 1}<|call|>',
        '<|start|>assistant to=functions.f<|channel|>commentary<|message|>{"a": 1}',
        '<|channel|>analysis to=functions.f code<|message|>{"a": 1}<|end|>',
    ],
)
def test_a_call_is_told_by_its_recipient(call: str) -> None:
    assert read(call) == Folded("", "", READ, False)


def test_analysis_is_reasoning_and_final_is_words() -> None:
    text = "<|channel|>analysis<|message|>Hm <|.<|end|><|start|>assistant<|channel|>final<|message|>Yes.<|return|>"
    assert read(text) == Folded("Yes.", "Hm <|.", (), False)


def test_commentary_to_nobody_is_words() -> None:
    text = f"<|channel|>commentary<|message|>I look.<|end|><|start|>assistant{CALL}"
    assert read(text) == Folded("I look.", "", READ, False)


def test_a_message_to_a_tool_that_is_no_function_is_reasoning() -> None:
    assert read("<|channel|>commentary to=browser.search code<|message|>x<|call|>") == Folded("", "x", (), False)


def test_an_answer_without_a_header_is_words() -> None:
    assert read("Yes.<|return|>") == Folded("Yes.", "", (), False)
    assert read("a < b <| c") == Folded("a < b <| c", "", (), False)


def test_a_header_without_an_end_shows_no_marker() -> None:
    assert read("<|channel|>anal").words == ""
    assert read("<|channel|>" + "x" * 2000).words == "<|channel|>" + "x" * 2000


def test_what_is_no_call_is_words() -> None:
    text = "<|channel|>commentary to=functions.f<|message|>no json<|call|>"
    assert read(text).calls == ()
    assert "no json" in read(text).words
