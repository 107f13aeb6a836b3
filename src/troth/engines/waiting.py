"""When does a grammar begin that waits? With the first of its triggers, wherever in a token that stands.

The compiler knows tokens alone, and a trigger may begin and end inside of them: what has been said from there on is
given to the matcher byte by byte, which every vocabulary has tokens for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar

from troth.domain import Triggers


class Consumes(Protocol):
    """A matcher, as far as it is asked here."""

    def consume_token(self, token: int, /) -> bool:
        """True when the token could follow, and has."""


M = TypeVar("M", bound=Consumes)


class Letters:
    """The bytes of tokens, and tokens for single bytes."""

    def __init__(self, pieces: Sequence[bytes], controls: frozenset[int]) -> None:
        """`pieces`: the bytes of every token, [vocabulary]; `controls`: those that are no text."""
        self.pieces = pieces
        self._controls = controls
        plain = ((token, piece) for token, piece in enumerate(pieces) if token not in controls)
        self._tokens = {piece[0]: token for token, piece in plain if len(piece) == 1}

    def text(self, token: int) -> bytes:
        """What the token adds to a text: nothing, for a control token."""
        return b"" if token in self._controls else self.pieces[token]

    def read(self, text: bytes, matcher: Consumes) -> bool:
        """True when the matcher took the whole text."""
        tokens = [self._tokens.get(letter) for letter in text]
        return all(token is not None and matcher.consume_token(token) for token in tokens)


class Waiting(Generic[M]):
    """One answer whose grammar has not begun."""

    def __init__(self, triggers: Triggers, letters: Letters, start: Callable[[], M]) -> None:
        """`start` gives a matcher at the beginning of the grammar."""
        self._triggers = triggers
        self._letters = letters
        self._start = start
        self._tail = b""  # of the text so far, as much as a trigger may begin in
        self._tail_bytes = max((len(word) for word in triggers.words), default=1) - 1
        self._latest: tuple[int, M | None, bool] | None = None

    def begins(self, token: int) -> tuple[M | None, bool]:
        """What the token would begin: the matcher behind it, or None; and whether it may come at all.

        It may not where it goes on behind a trigger with what the grammar does not take.
        """
        if self._latest is None or self._latest[0] != token:
            self._latest = (token, *self._begun(token))
        return self._latest[1:]

    def pass_by(self, token: int) -> None:
        """The token was said, and began nothing."""
        self._latest = None
        if self._tail_bytes:
            self._tail = (self._tail + self._letters.text(token))[-self._tail_bytes :]

    def _begun(self, token: int) -> tuple[M | None, bool]:
        if token in self._triggers.tokens:
            return self._read(self._letters.pieces[token])
        text = self._tail + self._letters.text(token)
        places = [place for place in (text.find(word) for word in self._triggers.words) if place >= 0]
        return self._read(text[min(places) :]) if places else (None, True)

    def _read(self, text: bytes) -> tuple[M | None, bool]:
        matcher = self._start()
        return (matcher, True) if self._letters.read(text, matcher) else (None, False)
