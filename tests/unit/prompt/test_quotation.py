"""Client text never spells a control text once it is cut at the breaks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.errors import BadRequest
from troth.prompt.quotation import NONCHARACTERS, Quotation, each_text

CONTROLS = ("<s>", "<|im_end|>", "aa", "aaa", "§", "s")
quotation = Quotation(CONTROLS)

FRAGMENTS = st.sampled_from([*CONTROLS, *NONCHARACTERS, "<", "<|", "a", "b", "im_end", "|>", "\n", "é"])
TEXTS = st.lists(FRAGMENTS, max_size=12).map("".join) | st.text(max_size=20)


@given(TEXTS)
def test_no_part_of_quoted_text_holds_a_control_text(text: str) -> None:
    parts = list(quotation.parts(quotation.quote(text)))

    assert "".join(part for part, _ in parts) == text
    assert not any(control in part for part, special in parts if special for control in CONTROLS)


@given(TEXTS.filter(bool))
def test_enclosed_text_spells_nothing_with_its_neighbours(text: str) -> None:
    assert quotation.control_count(f"<|im_{quotation.enclose(text)}|>") == 0
    assert quotation.control_count(f"<|im_end|>a{quotation.enclose(text)}a<|im_end|>") == 2


@given(st.text(alphabet="bcxyz <|>\n"))
def test_text_without_control_texts_is_left_alone(text: str) -> None:
    assert quotation.quote(text) is text
    assert list(quotation.parts(text)) == ([(text, True)] if text else [])


def test_overlapping_control_texts_are_all_broken() -> None:
    assert [part for part, _ in quotation.parts(quotation.quote("aaaa"))] == ["a", "a", "a", "a"]


def test_a_one_character_control_text_is_made_literal() -> None:
    assert list(quotation.parts("§" + quotation.quote("x§y"))) == [("§x", True), ("§", False), ("y", True)]


def test_a_vocabulary_without_control_texts_breaks_nothing() -> None:
    plain = Quotation(())

    assert plain.quote("<s>") == "<s>"
    assert plain.control_count("<s>") == 0
    assert not plain.may_complete("<s>")


@pytest.mark.parametrize("text", ["im_end", " im_end\n", "hi <|im", "hi <", "end|> hi", "> quoted"])
def test_text_that_a_template_could_complete_is_noticed(text: str) -> None:
    assert quotation.may_complete(text)


@pytest.mark.parametrize("text", ["", "  ", "hello", "im_end of story", "1 < 2", "x > y"])
def test_ordinary_text_completes_nothing(text: str) -> None:
    assert not quotation.may_complete(text)


def test_every_text_of_a_variable_is_changed_and_the_copy_is_fresh() -> None:
    value = {"a": ["x", 1, None, {"b": "y"}], "c": True}

    changed = each_text(value, str.upper, str)

    assert changed == {"a": ["X", 1, None, {"b": "Y"}], "c": True}
    assert value == {"a": ["x", 1, None, {"b": "y"}], "c": True}


def test_bottomless_variables_are_refused() -> None:
    value: list[object] = []
    for _ in range(5000):
        value = [value]

    with pytest.raises(BadRequest, match="chat_template_kwargs"):
        each_text(value, str, str)
