"""Reasoning is told from the answer however the text is cut, and only where it may stand."""

from __future__ import annotations

import pytest

from tests.support.formats import Folded, same_however_cut
from troth.formats.reading import WordsReader
from troth.formats.registry import FORMATS
from troth.formats.thoughts import SYNTAXES, THOUGHTS, ThoughtReader, ThoughtSyntax, thought_syntax

EVERY = pytest.mark.parametrize("syntax", SYNTAXES, ids=lambda syntax: syntax.name)
THINK = THOUGHTS["think"]


def read(text: str, *, is_open: bool = False, syntax: ThoughtSyntax = THINK) -> Folded:
    return same_however_cut(lambda: ThoughtReader(syntax, WordsReader(), is_open=is_open), text)


@EVERY
@pytest.mark.parametrize("is_open", [False, True])
def test_a_block_at_the_beginning_is_thoughts(syntax: ThoughtSyntax, is_open: bool) -> None:
    block = f"\nSo {syntax.end[:-1]} a < b.\n{syntax.end}\n\nYes {syntax.end[:-1]}."
    folded = read(block if is_open else f" {syntax.begin}{block}", syntax=syntax, is_open=is_open)
    assert folded.thoughts == f"So {syntax.end[:-1]} a < b."
    assert folded.words == f"Yes {syntax.end[:-1]}."


def test_an_open_block_may_be_opened_once_more() -> None:
    assert read("<think>\nHm</think>x", is_open=True) == Folded("x", "Hm", (), False)


def test_a_block_that_is_opened_again_behind_a_close_is_thoughts() -> None:
    assert read("<think>a</think>\n<think>b</think> \n</think>c") == Folded("c", "ab", (), False)


def test_markers_within_words_are_words() -> None:
    assert read("A <think>b</think>").words == "A <think>b</think>"
    assert read("<think>a</think>b <think>c").words == "b <think>c"


def test_text_without_a_block_is_given_as_it_is() -> None:
    for text in ("", " ", " \n<", "<thi", "\n Hi <think", "<thinking>x"):
        assert read(text) == Folded(text, "", (), False)


def test_a_block_that_is_cut_is_thoughts() -> None:
    assert read("<think>a b</th") == Folded("", "a b</th", (), False)
    assert read("a ", is_open=True) == Folded("", "a", (), False)


def test_an_empty_block_leaves_no_trace() -> None:
    assert read("<think>\n\n</think>\n\nHi") == Folded("Hi", "", (), False)


def test_calls_are_read_behind_a_block() -> None:
    text = '<think>I call <tool_call>.</think>\n<tool_call>\n{"name": "f", "arguments": {}}\n</tool_call>'
    folded = same_however_cut(lambda: ThoughtReader(THINK, FORMATS["hermes"].reader(()), is_open=False), text)
    assert folded == Folded("", "I call <tool_call>.", (("f", "{}"),), False)


def test_a_call_that_is_cut_behind_a_block_is_told() -> None:
    text = '<think>x</think><tool_call>{"name": "f", "arguments": {"a": '
    folded = same_however_cut(lambda: ThoughtReader(THINK, FORMATS["hermes"].reader(()), is_open=False), text)
    assert folded == Folded("", "x", (("f", '{"a": '),), True)


def test_a_template_tells_its_markers() -> None:
    assert thought_syntax("{{ '<think>' }}{{ '</think>' }}") is THINK
    assert thought_syntax("{{ content.split('</think>') }}") is THINK
    assert thought_syntax("[THINK]{{ thinking }}[/THINK]") is THOUGHTS["mistral"]
    assert thought_syntax("<seed:think> </think>") is THOUGHTS["seed"]
    assert thought_syntax("{{ messages }}") is None
