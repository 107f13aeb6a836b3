"""A second, smaller model beside the first: it guesses ahead, greedily, and stops where it is not sure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from troth.engines.base import DecodeInterrupted, LoadProgress, Vocabulary
from troth.engines.llama_cpp.decoder import LlamaDecoder
from troth.engines.llama_cpp.options import LlamaCppOptions
from troth.errors import EngineFault

PIECE_TOKENS = 128  # read in one call, so that a long prompt does not hold up its own answer
BEHIND_TOKENS_MAX = 16  # what may be read and continued in one call
CONFIDENCE_MIN = 0.6  # a less likely token is not worth the main model's time


class DraftModel:
    """See `Proposer` in `engines/base.py`. It holds one sequence; another one takes over what both begin with."""

    def __init__(self, path: Path, options: LlamaCppOptions, main: LlamaDecoder, progress: LoadProgress) -> None:
        """Raises EngineFault when the model cannot be loaded or writes text in other tokens than `main`."""
        alone = options.model_copy(update={"slots": 1, "context_tokens": main.context_tokens})
        self._decoder = LlamaDecoder(path, alone, progress)
        self._held: list[int] = []
        difference = vocabulary_difference(self._decoder.vocabulary, main.vocabulary)
        if difference is None and not self._decoder.can_cut:
            difference = "its memory cannot be cut back"
        if difference is not None:
            self._decoder.close()
            raise EngineFault(f"{path.name} cannot draft for this model: {difference}.")

    @property
    def file(self) -> str:
        """The name of its file."""
        return str(self._decoder.describe()["file"])

    def propose(self, tokens: Sequence[int], count: int) -> list[int] | None:
        """Up to `count` tokens that follow, each the likeliest; None while more of `tokens` must be read first."""
        try:
            behind = self._read(tokens)
            return self._guess(count) if not behind else None
        except DecodeInterrupted:
            return None

    def _read(self, tokens: Sequence[int]) -> int:
        """As much of the sequence is held as one call may read; returns how many tokens are still missing."""
        same = min(common_beginning(self._held, tokens), len(tokens) - 1)  # the last gives the row to guess from
        if same < len(self._held):
            self._decoder.forget(0, same)
            del self._held[same:]
        behind = len(tokens) - same
        piece = list(tokens[same : same + min(PIECE_TOKENS, self._decoder.batch_tokens)])
        self._feed(piece)
        return 0 if behind <= BEHIND_TOKENS_MAX else max(1, behind - len(piece))

    def _guess(self, count: int) -> list[int]:
        draft: list[int] = []
        while True:
            logits = self._decoder.logits(0)
            token = int(logits.argmax())
            if CONFIDENCE_MIN * float(np.exp(logits - logits[token], dtype=np.float32).sum()) > 1.0:
                return draft
            draft.append(token)
            if len(draft) == count or len(self._held) == self._decoder.context_tokens:
                return draft
            self._feed([token])

    def _feed(self, tokens: list[int]) -> None:
        self._decoder.begin()
        self._decoder.add(0, tokens, len(self._held), rows=1)
        self._decoder.decode()
        self._held += tokens

    def interrupt(self) -> None:
        """A running `propose` ends within some milliseconds. Called from any thread."""
        self._decoder.interrupt()

    def close(self) -> None:
        """Its memory is given back."""
        self._decoder.close()


def vocabulary_difference(draft: Vocabulary, main: Vocabulary) -> str | None:
    """In words, why tokens of the one are not tokens of the other; None when they are."""
    if draft.size > main.size:
        return f"it has {draft.size} tokens, the model {main.size}"
    for token in range(draft.size):
        if draft.piece(token) != main.piece(token):
            return f"token {token} is {draft.piece(token)!r} there and {main.piece(token)!r} here"
    return None


def common_beginning(held: Sequence[int], tokens: Sequence[int]) -> int:
    """How many tokens both begin with. Compares slices: almost always all but the last few are the same."""
    low, high = 0, min(len(held), len(tokens))
    if held[:high] == tokens[:high]:
        return high
    while high - low > 1:  # held[:low] is the same, held[:high] is not
        middle = (low + high) // 2
        low, high = (middle, high) if held[low:middle] == tokens[low:middle] else (low, middle)
    return low
