"""Limits of a text that editors ask for: indentation and time. Semantics are llama-server's (README, /completion)."""

from __future__ import annotations

import time
from collections.abc import Callable

from troth.domain import FinishReason, Interpreter, Piece, Said, TextLimits

BLANK = " \t"


class Bounded:
    """An interpreter whose answer ends at a line that is indented less, or when its time is up.

    The check begins with the second line; a line that is indented less is cut after its indentation. Time ends an
    answer once it has a line break. Both are a `length`, as llama-server's `limit`.
    """

    def __init__(self, inner: Interpreter, limits: TextLimits, clock: Callable[[], float] = time.perf_counter) -> None:
        self._inner = inner
        self._limits = limits
        self._clock = clock
        self._began = 0.0
        self._has_line = False
        self._indent: int | None = None  # blanks so far of a line whose text has not begun; None: it has
        self._is_over = False

    @property
    def stopped(self) -> str | None:
        """The stop string that was met, or None."""
        return None if self._is_over else self._inner.stopped

    @property
    def finish(self) -> FinishReason | None:
        """ "length" once a limit was reached, else why the text itself ends."""
        return "length" if self._is_over else self._inner.finish

    def feed(self, piece: Piece) -> Said | None:
        """Take one token; the text that is now certain, or None while it is held back."""
        if self._is_over:
            return None
        self._began = self._began or self._clock()
        said = self._cut(self._inner.feed(piece))
        limit = self._limits.milliseconds
        if limit is not None and self._has_line and (self._clock() - self._began) * 1e3 > limit:
            self._is_over = True
        return said

    def flush(self) -> Said | None:
        """The text still held back when the sequence ends; nothing is held afterwards."""
        return None if self._is_over else self._cut(self._inner.flush())

    def _cut(self, said: Said | None) -> Said | None:
        if said is None:
            return None
        for place, letter in enumerate(said.text):
            if letter == "\n":
                self._has_line, self._indent = True, 0
            elif self._indent is not None:
                if letter in BLANK:
                    self._indent += 1
                elif self._indent < self._limits.indent:
                    self._is_over = True
                    return Said(said.text[:place], said.pieces, said.choice) if place or said.pieces else None
                else:
                    self._indent = None
        return said
