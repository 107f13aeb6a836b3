"""A grammar that waits: where it begins, in tokens that know nothing of triggers."""

from __future__ import annotations

import pytest

from troth.domain import Triggers
from troth.engines.waiting import Letters, Waiting

PIECES = [bytes([letter]) for letter in range(256)] + [b"<go>", b"say <g", b"o>1", b"o>x"]
CONTROL, BEFORE, BEHIND, WRONG = 256, 257, 258, 259
LETTERS = Letters(PIECES, frozenset({CONTROL}))


class Digits:
    """Takes `<go>` and digits."""

    def __init__(self) -> None:
        self.text = b""

    def consume_token(self, token: int, /) -> bool:
        """True when the byte could follow, and has."""
        fits = b"<go>".startswith(self.text + bytes([token])) if len(self.text) < 4 else token in b"0123456789"
        self.text += bytes([token]) if fits else b""
        return fits


def waiting(*words: str, tokens: tuple[int, ...] = ()) -> Waiting[Digits]:
    return Waiting(Triggers(words=tuple(each.encode() for each in words), tokens=frozenset(tokens)), LETTERS, Digits)


def begun(said: Waiting[Digits], *tokens: int) -> bytes | None:
    """What the grammar has read behind these tokens; None while it waits."""
    matcher = None
    for token in tokens:
        matcher, may_come = said.begins(token)
        assert may_come
        said.pass_by(token)
    return None if matcher is None else matcher.text


def test_a_trigger_in_pieces_of_several_tokens_begins_the_grammar_with_what_stands_behind_it() -> None:
    assert begun(waiting("<go>"), BEFORE, BEHIND) == b"<go>1"


def test_letters_that_are_no_trigger_begin_nothing() -> None:
    assert begun(waiting("<go>"), BEFORE, *b" go>o>", BEFORE) is None


def test_the_first_of_several_triggers_counts() -> None:
    assert begun(waiting("no", "<go>", "o>"), BEFORE, BEHIND) == b"<go>1"


def test_a_token_may_be_the_trigger_and_is_read_as_its_text() -> None:
    assert begun(waiting(tokens=(CONTROL,)), *b"say ", CONTROL) == b"<go>"


def test_a_control_token_is_no_text() -> None:
    assert begun(waiting("<go>"), CONTROL) is None


def test_a_token_that_goes_on_behind_the_trigger_against_the_grammar_may_not_come() -> None:
    said = waiting("<go>")
    said.pass_by(BEFORE)
    assert said.begins(WRONG) == (None, False)
    assert said.begins(BEHIND)[1]


@pytest.mark.parametrize("text", ["<go>12", "<go>"])
def test_a_text_is_read_byte_by_byte(text: str) -> None:
    assert LETTERS.read(text.encode(), Digits())
    assert not LETTERS.read(text.encode() + b"x", Digits())
