"""How likely a text is that the model was made to say: the sum of what its tokens were worth."""

from __future__ import annotations

import math
from collections.abc import Sequence

from troth.domain import FinishReason, Piece, Said


class Scorer:
    """Adds up the log probabilities of one choice's tokens. Implements `troth.domain.Interpreter`."""

    def __init__(self) -> None:
        self.logprob = 0.0
        self.tokens = 0
        self.stopped: str | None = None
        self.finish: FinishReason | None = None

    def feed(self, piece: Piece) -> Said | None:
        """The token counts."""
        assert piece.logprob is not None, "a score needs log probabilities"
        self.logprob += piece.logprob.logprob
        self.tokens += 1
        return None

    def flush(self) -> Said | None:
        """Nothing is said."""
        return None


def shares(logprobs: Sequence[float], temperature: float) -> tuple[float, ...]:
    """The probabilities of options that exclude each other: the softmax at this temperature; they add up to 1."""
    top = max(logprobs)
    weights = [math.exp((each - top) / temperature) for each in logprobs]
    total = sum(weights)
    return tuple(weight / total for weight in weights)
