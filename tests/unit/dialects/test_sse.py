"""Frames that every client splits in the same places."""

from __future__ import annotations

import json

from hypothesis import given
from hypothesis import strategies as st

from troth.dialects.sse import data_frame, quoted

TEXT = st.text(alphabet=st.characters(exclude_categories=["Cs"]))


@given(TEXT)
def test_a_quoted_text_is_one_line_of_json_that_says_the_text(text: str) -> None:
    assert json.loads(quoted(text)) == text
    assert len(quoted(text).splitlines()) == 1


@given(TEXT)
def test_a_frame_is_two_lines_for_clients_that_split_at_every_unicode_line_end(text: str) -> None:
    frame = data_frame({"text": text}).decode()

    assert frame.splitlines() == [frame.rstrip("\n"), ""]
    assert json.loads(frame.removeprefix("data: ")) == {"text": text}


def test_text_of_other_scripts_goes_out_as_utf_8() -> None:
    assert data_frame({"text": "é😀"}) == 'data: {"text":"é😀"}\n\n'.encode()
