"""Where pictures and sound stand in a text while a template writes it, and what is read there.

Each place is held by a mark of Unicode noncharacters that is drawn when the process starts: no client can write
one, so a place comes from a part of a message and never from a text.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from troth.domain import Medium, TokenIds, Turn, View, Views
from troth.errors import BadRequest
from troth.prompt.quotation import NONCHARACTERS

SHOWN = "<__media__>"  # how a place is written where a prompt is shown as text; llama-server's marker
_OPEN, _CLOSE = ("".join(secrets.SystemRandom().choices(NONCHARACTERS, k=8)) for _ in range(2))
PLACE = re.compile(f"{_OPEN}([0-9]+){_CLOSE}")


def with_places(turns: Sequence[Turn]) -> list[Turn]:
    """The turns with a mark in the text for each of their media, counted over all turns."""
    marked: list[Turn] = []
    count = 0
    for turn in turns:
        text, done = "", 0
        for placed in turn.media:
            text += turn.text[done : placed.at] + f"{_OPEN}{count}{_CLOSE}"
            done, count = placed.at, count + 1
        marked.append(replace(turn, text=text + turn.text[done:], media=()) if turn.media else turn)
    return marked


def pieces(text: str) -> Iterator[str | int]:
    """The text between the marks, and the number of each mark, in order; empty texts are left out."""
    for position, piece in enumerate(PLACE.split(text)):
        if position % 2:
            yield int(piece)
        elif piece:
            yield piece


def check_places(text: str, media: Sequence[Medium]) -> None:
    """A rendered text has each place once, in order. Raises BadRequest naming the medium that it has not."""
    found = [piece for piece in pieces(text) if isinstance(piece, int)]
    if found == list(range(len(media))):
        return
    wrong = next((number for number, at in enumerate(found) if at != number), len(found))
    path = media[min(wrong, len(media) - 1)].path
    raise BadRequest(
        f"{path}: this model's chat template does not show it where it stands in the conversation.", param=path
    )


@dataclass(slots=True)
class Splice:
    """Tokens of texts and of media, one after the other."""

    arrays: list[TokenIds] = field(default_factory=list)
    views: list[tuple[int, View]] = field(default_factory=list)  # with the index where each begins
    length: int = 0

    def add(self, tokens: TokenIds) -> None:
        """These tokens follow."""
        self.arrays.append(tokens)
        self.length += len(tokens)

    def add_medium(self, medium: Medium, views: Views) -> None:
        """What is read in the place of the medium follows."""
        view = views[medium]
        self.views.append((self.length, view))
        self.add(view.tokens)

    @property
    def tokens(self) -> TokenIds:
        """All of them, [tokens]."""
        if not self.arrays:
            return np.empty(0, np.int32)
        return self.arrays[0] if len(self.arrays) == 1 else np.concatenate(self.arrays)
