"""Messages in parts as one text with places in it."""

from __future__ import annotations

import base64

import pytest

from troth.dialects.parts import MARKER, Parts, pieces_with_media
from troth.domain import Medium
from troth.errors import BadRequest

WAV = base64.b64encode(b"RIFF\0\0\0\0WAVEfmt ").decode()
PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n body").decode()


def medium(number: int = 0) -> Medium:
    return Medium(kind="image", source="data:,", path=f"messages.0.content.{number}")


def test_neighbouring_texts_stand_on_lines_of_their_own_and_texts_beside_pictures_do_not() -> None:
    parts = Parts()
    parts.say("one")
    parts.say("two")
    parts.show(medium(2))
    parts.say("three")
    parts.show(medium(4))
    parts.show(medium(5))
    parts.say("four")

    assert parts.text == "one\ntwothreefour"
    assert [placed.at for placed in parts.media] == [7, 12, 12]
    assert parts.count == 7


def test_a_failed_result_with_a_picture_says_so_first() -> None:
    parts = Parts("Error: ")
    parts.show(medium())
    parts.say("no more")
    assert (parts.text, parts.media[0].at) == ("Error: no more", 7)


def test_each_entry_stands_where_its_marker_stands() -> None:
    pieces = pieces_with_media(f"{MARKER}a{MARKER}", [PNG, WAV], "prompt")

    assert [piece if isinstance(piece, str) else getattr(piece, "kind", None) for piece in pieces] == [
        "image",
        "a",
        "audio",
    ]
    assert [piece.path for piece in pieces if isinstance(piece, Medium)] == [
        "prompt.multimodal_data.0",
        "prompt.multimodal_data.1",
    ]


def test_a_text_without_entries_is_text_whatever_it_says() -> None:
    assert pieces_with_media(f"a{MARKER}", [], "prompt") == (f"a{MARKER}",)


@pytest.mark.parametrize("text", ["a", MARKER * 3])
def test_other_counts_are_refused(text: str) -> None:
    with pytest.raises(BadRequest, match="places for them") as refused:
        pieces_with_media(text, [PNG, PNG], "prompt.1")
    assert refused.value.param == "prompt.1.multimodal_data"
