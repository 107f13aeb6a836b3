"""Limits of a text: indentation and time."""

from __future__ import annotations

from itertools import count

import pytest

from troth.domain import Piece, TextLimits
from troth.reply.bounds import Bounded
from troth.reply.text import TextInterpreter


def read(pieces: list[str], limits: TextLimits, stop: tuple[str, ...] = ()) -> tuple[str, Bounded]:
    """The text of an answer that comes in these pieces, one a second."""
    bounded = Bounded(TextInterpreter(0, stop), limits, clock=count(1.0).__next__)
    text = ""
    for piece in pieces:
        said = bounded.feed(Piece(1, piece.encode()))
        text += said.text if said else ""
        if bounded.finish is not None:
            break
    else:
        rest = bounded.flush()
        text += rest.text if rest else ""
    return text, bounded


@pytest.mark.parametrize(
    ("pieces", "text"),
    [
        (["a\n", "    b\n", "    c"], "a\n    b\n    c"),
        (["a\n    b\ndef c"], "a\n    b\n"),
        (["a\n", "  ", "b"], "a\n  "),
        (["a\n", "\n", "\t\t\t\tb", "\nc"], "a\n\n\t\t\t\tb\n"),
        (["first line is free\n", "x"], "first line is free\n"),
        (["a\n    ", "\n", "    b"], "a\n    \n    b"),
    ],
)
def test_a_line_that_is_indented_less_is_cut(pieces: list[str], text: str) -> None:
    said, bounded = read(pieces, TextLimits(indent=4))

    assert said == text
    assert bounded.finish == ("length" if text != "".join(pieces) else None)
    assert bounded.stopped is None


def test_time_ends_an_answer_once_it_has_a_line_break() -> None:
    said, bounded = read(["a"] * 10 + ["\n"] + ["b"] * 10, TextLimits(milliseconds=500))

    assert said == "a" * 10 + "\n"
    assert bounded.finish == "length"


def test_a_stop_string_ends_a_bounded_answer_too() -> None:
    said, bounded = read(["ab", "END", "c"], TextLimits(indent=1), stop=("END",))

    assert (said, bounded.stopped, bounded.finish) == ("ab", "END", "stop")


def test_nothing_is_said_after_the_end() -> None:
    _, bounded = read(["a\n", "b"], TextLimits(indent=2))

    assert bounded.feed(Piece(1, b"c")) is None
    assert bounded.flush() is None
