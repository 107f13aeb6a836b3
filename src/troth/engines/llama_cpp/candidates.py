"""The tokens that a draw is made of, as llama.cpp's samplers take them, without those that are ruled out.

Half a megabyte for a vocabulary of 49 000: one array serves every draw of a decoder, since asking the system for such
a piece each time takes longer than filling it.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Logits = npt.NDArray[np.float32]
Allowed = npt.NDArray[np.bool_]

CANDIDATE = np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)])  # llama_token_data
BLOCKS_MAX = 64  # beyond so many tokens that are ruled out, picking the others one by one is faster


class Candidates:
    """Belongs to one decoder and its thread: what `of` gives is good until it is called again."""

    def __init__(self, size: int) -> None:
        """`size`: tokens of the vocabulary."""
        self._all = np.zeros(size, CANDIDATE)
        self._id, self._logit = self._all["id"], self._all["logit"]
        self._ids = np.arange(size, dtype=np.int32)

    def of(self, logits: Logits, allowed: Allowed | None = None) -> npt.NDArray[np.void]:
        """The allowed tokens with their logits, in the order of their ids; None: all of them. Shape [tokens]."""
        if allowed is None:
            self._id[:], self._logit[:] = self._ids, logits
            return self._all
        barred = np.flatnonzero(~allowed)
        if len(barred) > BLOCKS_MAX:
            ids = self._ids[allowed]
            self._id[: len(ids)], self._logit[: len(ids)] = ids, logits[allowed]
            return self._all[: len(ids)]
        start = size = 0
        for stop in (*barred.tolist(), len(logits)):
            end = size + stop - start
            self._id[size:end], self._logit[size:end] = self._ids[start:stop], logits[start:stop]
            start, size = stop + 1, end
        return self._all[:size]
