"""Every format reads what its models write, however it is cut, and its grammar allows just that."""

from __future__ import annotations

import pytest
from hypothesis import given
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
from troth.formats.registry import FORMATS, NAMES

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
    if name in THINKING:
        return
    for text in ("Hello.", " 3 < 4 {not} [a] call\n", "a <tool", "<", "[", "\n\n x", ""):
        assert same_however_cut(lambda: FORMATS[name].reader(TOOLS), text).words == text


@EVERY
@VOCABULARIES
def test_the_grammar_takes_what_the_reader_reads(name: str, has_control_tokens: bool) -> None:
    pytest.importorskip("llguidance")
    its = vocabulary(name, has_control_tokens)
    grammar = FORMATS[name].grammar(TOOLS, its.mark, parallel=True)
    calls = SAMPLES[name][SAMPLES[name].index(CALLS[name]) :]
    assert rejection(forced(grammar, its.mark), its, calls) is None
    assert rejection(free(grammar, its), its, SAMPLES[name]) is None
    before = SAMPLES[name][: SAMPLES[name].index(CALLS[name])].removesuffix(">>>")
    assert rejection(free(grammar, its), its, before or "Hello.") is None


@EVERY
@VOCABULARIES
def test_the_grammar_refuses_other_names_other_arguments_and_a_second_call(name: str, has_control_tokens: bool) -> None:
    pytest.importorskip("llguidance")
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
    pytest.importorskip("llguidance")
    from troth.domain import Tool

    its = Vocabulary()
    grammar = FORMATS[name].grammar((Tool(name="now"),), its.mark, parallel=True)
    assert rejection(forced(grammar, its.mark), its, "") == "not complete"
