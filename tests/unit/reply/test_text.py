"""What a token sequence says, whatever the cuts between its tokens."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from hypothesis import given, settings
from hypothesis import strategies as st

from troth.domain import Ask, Piece, Said, Talk, TokenLogprob
from troth.reply.text import TextInterpreter, TextInterpreters

LETTERS = st.text(alphabet="ab\n€😀", max_size=24)
STOPS = st.lists(st.text(alphabet="ab\n€😀", min_size=0, max_size=5), max_size=6)
ANY_BYTES = st.one_of(LETTERS.map(lambda text: text.encode()), st.binary(max_size=24))


def cut(data: bytes, places: Sequence[int]) -> list[bytes]:
    borders = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[start:end] for start, end in pairwise(borders)]


def token(data: bytes, logprobs: bool = False) -> Piece:
    return Piece(1, data, TokenLogprob(1, data, -0.5) if logprobs else None)


def said(interpreter: TextInterpreter, pieces: Sequence[Piece]) -> list[Said]:
    heard = [interpreter.feed(piece) for piece in pieces]
    heard.append(interpreter.flush())
    return [one for one in heard if one is not None]


def expected(data: bytes, stops: Sequence[str]) -> tuple[str, str | None]:
    """The text up to the stop string that is complete first; of several complete there, the longest."""
    text = data.decode("utf-8", "replace")
    for end in range(1, len(text) + 1):
        met = [stop for stop in stops if stop and text.endswith(stop, 0, end)]
        if met:
            longest = max(met, key=len)
            return text[: end - len(longest)], longest
    return text, None


@given(ANY_BYTES, st.lists(st.integers(0, 40), max_size=12), STOPS)
@settings(max_examples=250, deadline=None)
def test_the_text_does_not_depend_on_how_it_was_cut(data: bytes, places: list[int], stops: list[str]) -> None:
    interpreter = TextInterpreter(0, tuple(stops))

    heard = said(interpreter, [token(part) for part in cut(data, places)])

    text, stopped = expected(data, stops)
    assert "".join(one.text for one in heard) == text
    assert interpreter.stopped == stopped
    assert all(one.text and one.pieces == () for one in heard)


@given(ANY_BYTES, st.lists(st.integers(0, 40), max_size=12), STOPS)
@settings(max_examples=250, deadline=None)
def test_logprobs_travel_with_the_text_their_token_began(data: bytes, places: list[int], stops: list[str]) -> None:
    interpreter = TextInterpreter(0, tuple(stops))
    pieces = [token(part, logprobs=True) for part in cut(data, places) if part]

    heard = said(interpreter, pieces)

    text, stopped = expected(data, stops)
    begun, offset = [], 0
    for piece in pieces:
        begun.append(len(data[: offset + 1].decode("utf-8", "replace")) - 1)
        offset += len(piece.piece)
    kept = [(start, piece) for start, piece in zip(begun, pieces, strict=True) if not stopped or start < len(text)]
    assert [piece for one in heard for piece in one.pieces] == [piece for _, piece in kept]
    released, remaining = 0, list(kept)
    for one in heard:
        for _ in one.pieces:
            start, _piece = remaining.pop(0)
            assert released <= start < released + len(one.text)
        released += len(one.text)


@given(st.lists(st.text(alphabet="ab", min_size=1, max_size=4), min_size=1, max_size=4), st.text("abc", max_size=30))
@settings(deadline=None)
def test_only_what_may_become_a_stop_string_is_held_back(stops: list[str], text: str) -> None:
    interpreter = TextInterpreter(0, stops)
    heard = ""

    for index, character in enumerate(text):
        one = interpreter.feed(token(character.encode()))
        heard += one.text if one else ""
        if interpreter.stopped:
            break
        read = text[: index + 1]
        held = max(n for stop in stops for n in range(len(stop)) if read.endswith(stop[:n]))
        assert heard == read[: len(read) - held]


def test_a_character_cut_in_two_is_said_once_it_is_whole() -> None:
    interpreter = TextInterpreter(3, ())

    assert interpreter.feed(token(b"\xf0\x9f\x98")) is None
    assert interpreter.feed(token(b"\x80!")) == Said("😀!", (), 3)
    assert interpreter.flush() is None


def test_half_a_character_at_the_end_becomes_one_replacement_character() -> None:
    interpreter = TextInterpreter(0, ())
    interpreter.feed(token(b"a\xe2\x82"))

    assert interpreter.flush() == Said("\ufffd")
    assert interpreter.flush() is None


def test_text_after_a_stop_string_in_the_same_token_is_dropped() -> None:
    interpreter = TextInterpreter(0, ("END",))

    assert interpreter.feed(token(b"one E")) == Said("one ")
    assert interpreter.feed(token(b"ND two")) is None
    assert interpreter.stopped == "END"
    assert interpreter.feed(token(b"three")) is None
    assert interpreter.flush() is None


def test_a_partial_stop_string_is_said_when_the_answer_ends() -> None:
    interpreter = TextInterpreter(0, ("END",))
    assert interpreter.feed(token(b"EN")) is None

    assert interpreter.flush() == Said("EN")


def test_logprobs_of_a_dropped_stop_string_are_cut() -> None:
    interpreter = TextInterpreter(0, ("b",))
    first, second = token(b"a ", logprobs=True), token(b"b", logprobs=True)

    assert interpreter.feed(first) == Said("a ", (first,))
    assert interpreter.feed(second) is None
    assert interpreter.stopped == "b"


def test_a_token_without_text_gives_its_logprobs_at_the_end() -> None:
    interpreter = TextInterpreter(0, ())
    silent = token(b"", logprobs=True)
    assert interpreter.feed(silent) is None

    assert interpreter.flush() == Said("", (silent,))


def test_choices_share_their_stop_strings_and_nothing_else() -> None:
    make = TextInterpreters()
    first, second, other = (
        make(index, Ask(source=Talk(()), stop=(stop,))) for index, stop in ((0, "x"), (1, "x"), (0, "y"))
    )

    first.feed(token(b"x"))

    assert (first.stopped, second.stopped) == ("x", None)
    assert other.feed(token(b"x")) == Said("x")
    assert second.feed(token(b"a")) == Said("a", (), 1)


def test_sixty_four_stop_strings_of_sixty_four_characters_are_all_met() -> None:
    stops = tuple("a" * 62 + chr(0x100 + index) + "!" for index in range(64))
    for stop in stops:
        interpreter = TextInterpreter(0, stops)
        heard = said(interpreter, [token(part.encode()) for part in "aaa" + stop])
        assert "".join(one.text for one in heard) == "aaa"
        assert interpreter.stopped == stop
