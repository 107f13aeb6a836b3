"""The plain reading of an answer: everything said is text, up to a stop string.

Takes the tokens of one choice, gives the text that is certain. Held back are only the bytes of an
unfinished character and the characters that may still become a stop string; the logprobs of a token
travel with the text that the token began.
"""

from __future__ import annotations

from codecs import utf_8_decode
from collections import deque
from collections.abc import Sequence

from troth.domain import Ask, FinishReason, Interpreter, Piece, Said
from troth.reply.bounds import Bounded
from troth.reply.stops import StopStrings


class TextInterpreter:
    """One choice read as text. Implements `troth.domain.Interpreter`.

    Invalid bytes become U+FFFD exactly as decoding the whole answer at once would make them.
    """

    __slots__ = ("_choice", "_keeps", "_released", "_state", "_stopped", "_stops", "_tail", "_unread", "_waiting")

    def __init__(self, choice: int, stop: Sequence[str] | StopStrings, *, keeps_tokens: bool = False) -> None:
        """`keeps_tokens`: every token travels with its text, not only those with logprobs."""
        self._choice = choice
        self._keeps = keeps_tokens
        self._stops = stop if isinstance(stop, StopStrings) else StopStrings(stop)
        self._state = 0  # of the automaton; 0 when no text is held back
        self._stopped: str | None = None
        self._unread = b""  # the bytes of an unfinished character
        self._tail = ""  # text that may become a stop string
        self._released = 0  # characters given out so far
        self._waiting: deque[tuple[int, Piece]] = deque()  # with the character that each token began

    @property
    def stopped(self) -> str | None:
        """The stop string that was met, or None."""
        return self._stopped

    @property
    def finish(self) -> FinishReason | None:
        """ "stop" once a stop string was met."""
        return None if self._stopped is None else "stop"

    def feed(self, piece: Piece) -> Said | None:
        """Take one token; the text that is now certain, or None while it is held back.

        Costs about 1 µs, and time linear in the token's characters where stop strings may begin.
        """
        if self._stopped is not None:
            return None
        if piece.logprob is not None or self._keeps:
            self._waiting.append((self._released + len(self._tail) + self._completed(piece.piece), piece))
        unread = self._unread + piece.piece if self._unread else piece.piece
        text, used = utf_8_decode(unread, "replace", False)
        self._unread = unread[used:]
        if not text:
            return None
        if self._state == 0 and self._stops.initials.isdisjoint(text):
            return self._release(text) if self._waiting else self._say(text)
        return self._match(text)

    def flush(self) -> Said | None:
        """The text still held back when the sequence ends; nothing is held afterwards."""
        if self._stopped is not None:
            return None
        text, _ = utf_8_decode(self._unread, "replace", True)
        self._unread = b""
        said = self._match(text) if text else None
        if self._stopped is not None:
            return said
        rest = (said.text if said else "") + self._tail
        pieces = (said.pieces if said else ()) + tuple(piece for _, piece in self._waiting)
        self._released += len(self._tail)
        self._tail, self._state = "", 0
        self._waiting.clear()
        return Said(rest, pieces, self._choice) if rest or pieces else None

    def _completed(self, token: bytes) -> int:
        """How many characters (0 or 1) the unread bytes make on their own, before `token` begins."""
        if not self._unread:
            return 0
        return len((self._unread + token[:1]).decode("utf-8", "replace")) - 1

    def _match(self, text: str) -> Said | None:
        """Walk `text` through the stop strings and release what none of them can claim."""
        state, read, met = self._stops.walk(self._state, text)
        seen = self._tail + text[:read]
        if met is not None:
            self._stopped, self._tail, self._state = met, "", 0
            said = self._release(seen[: len(seen) - len(met)])
            self._waiting.clear()
            return said
        certain = len(seen) - self._stops.depth(state)
        self._tail, self._state = seen[certain:], state
        return self._release(seen[:certain])

    def _release(self, text: str) -> Said | None:
        """Say `text`, with the logprobs of the tokens that began inside it."""
        if not text:
            return None
        end = self._released + len(text)
        pieces = []
        while self._waiting and self._waiting[0][0] < end:
            pieces.append(self._waiting.popleft()[1])
        self._released = end
        return Said(text, tuple(pieces), self._choice)

    def _say(self, text: str) -> Said:
        self._released += len(text)
        return Said(text, (), self._choice)


class TextInterpreters:
    """Makes the interpreters of requests; the choices of one request share their stop strings' automaton."""

    def __init__(self) -> None:
        self._latest = StopStrings(())

    def __call__(self, choice: int, ask: Ask) -> Interpreter:
        """The interpreter of one choice. Called on the event loop, choice after choice."""
        if ask.stop != self._latest.stop:
            self._latest = StopStrings(ask.stop)
        text = TextInterpreter(choice, self._latest, keeps_tokens=ask.keeps_tokens)
        return Bounded(text, ask.text_limits) if ask.text_limits.any else text
