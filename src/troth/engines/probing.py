"""Whether the numbers of a text depend on what is computed beside it: measured at load, not assumed."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from troth.domain.vectors import Reading, Values

SAME = 1e-4  # of a row's length: what is below is rounding
DIGITS = 9
SEQUENCES = 16  # enough that whatever is done for many rows at once is done
LENGTHS = (11, 34, 17)  # tokens, in turn
SEED = 1


def batch_difference(
    encode: Callable[[Sequence[Reading]], Values], vocabulary_size: int, tokens_max: int, sequences_max: int = SEQUENCES
) -> float:
    """How far a row moves when other sequences are computed beside its own, as a share of its length."""
    chance = np.random.default_rng(SEED)
    lengths = [min(LENGTHS[number % len(LENGTHS)], tokens_max) for number in range(min(sequences_max, SEQUENCES))]
    batch: list[Reading] = []
    for length in lengths:
        if batch and sum(len(each.tokens) for each in batch) + length > tokens_max:
            break  # a batch of this many tokens always fits
        batch.append(Reading(chance.integers(0, vocabulary_size, length, dtype=np.int32)))
    return difference(encode, batch)


def difference(encode: Callable[[Sequence[Reading]], Values], batch: Sequence[Reading]) -> float:
    """How far the first two rows of this batch are from those of the same sequences computed alone."""
    alone = np.vstack([encode([reading]) for reading in batch[:2]]).astype(np.float64)
    beside = encode(batch)[:2].astype(np.float64)
    sizes = np.maximum(np.linalg.norm(alone, axis=1), np.finfo(np.float32).tiny)
    return round(float((np.linalg.norm(alone - beside, axis=1) / sizes).max()), DIGITS)
