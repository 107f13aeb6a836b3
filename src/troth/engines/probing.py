"""Whether the numbers of a text depend on what is computed beside it: measured at load, not assumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from troth.domain.vectors import Reading, Values

SAME = 1e-4  # of a row's length: above it the difference is no rounding
TOKENS = 11  # of the shorter text; the other has three times as many
SEED = 1


def batch_difference(encode: Callable[[Sequence[Reading]], Values], vocabulary_size: int, tokens_max: int) -> float:
    """How far a row moves when another sequence is computed beside its own, as a share of its length."""
    chance = np.random.default_rng(SEED)
    lengths = [min(TOKENS, tokens_max), min(3 * TOKENS, tokens_max)]
    readings = [Reading(chance.integers(0, vocabulary_size, length, dtype=np.int32)) for length in lengths]
    alone = np.vstack([encode([reading]) for reading in readings]).astype(np.float64)
    beside = encode(readings).astype(np.float64)
    lengths_of_rows = np.maximum(np.linalg.norm(alone, axis=1), np.finfo(np.float32).tiny)
    return float((np.linalg.norm(alone - beside, axis=1) / lengths_of_rows).max())
