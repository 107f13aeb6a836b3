"""What a sequence has read and said, indexed so that the continuation of a repeated run is found at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

GRAM = 3  # tokens that must repeat before anything is drafted
LEARNING = 0.25  # weight of the newest observation
HOPE = 0.9  # the acceptance that every sequence begins with: what is never tried is never learnt
PAUSE_TOKENS_MIN, PAUSE_TOKENS_MAX = 4, 256


@dataclass(slots=True)
class Trust:
    """How the drafts of one kind fared in one sequence, and when to try the next."""

    acceptance: float = HOPE  # the share of drafted tokens that came true, smoothed
    pause: int = 0  # tokens to be said before the next draft
    _pause_next: int = PAUSE_TOKENS_MIN

    def rests(self) -> bool:
        """True while a pause lasts, which is one token shorter afterwards."""
        if self.pause > 0:
            self.pause -= 1
            return True
        return False

    def learn(self, drafted: int, accepted: int) -> None:
        """So much of a draft came true; a draft that failed entirely is paid for with a growing pause."""
        self.acceptance += LEARNING * (accepted / drafted - self.acceptance)
        if accepted:
            self._pause_next = PAUSE_TOKENS_MIN
        else:
            self.pause = self._pause_next
            self._pause_next = min(PAUSE_TOKENS_MAX, self._pause_next * 2)


@dataclass(slots=True)
class Memory:
    """The tokens of one sequence, by their runs of GRAM, and what is known of its drafts.

    Ids below 0 stand for pictures: nothing that they are part of is ever drafted.
    """

    tokens: list[int]
    repeated: Trust = field(default_factory=Trust)  # drafts from repetitions
    guessed: Trust = field(default_factory=Trust)  # drafts of a smaller model
    asked: Trust | None = None  # the kind of the latest draft
    _places: dict[tuple[int, ...], int] = field(default_factory=dict)  # run → index of the token after it
    _indexed: int = 0

    def extend(self, tokens: Sequence[int]) -> None:
        """The tokens are remembered. Constant cost for each."""
        self.tokens.extend(tokens)
        for end in range(max(self._indexed, GRAM), len(self.tokens)):
            self._places[tuple(self.tokens[end - GRAM : end])] = end
        self._indexed = len(self.tokens)

    def follow(self, count: int) -> list[int]:
        """Up to `count` tokens that followed the last time the final run occurred."""
        if len(self.tokens) < GRAM or count < 1:
            return []
        place = self._places.get(tuple(self.tokens[-GRAM:]))
        if place is None:
            return []
        following = self.tokens[place : place + count]
        return following[: next((at for at, token in enumerate(following) if token < 0), count)]
