"""What the numbers of a model mean: vectors of a length, and scores in an order. Pure arithmetic."""

from __future__ import annotations

import numpy as np

from troth.domain.vectors import Values

LARGEST = 32760.0  # of llama-server's scaling 0, for numbers that are to be stored in 16 bits


def scaled(vectors: Values, dimensions: int | None, norm: int) -> Values:
    """The first `dimensions` numbers of each vector, divided by its norm; a vector of zeros stays as it is.

    `norm` is -1 for none, 0 so that the largest number is LARGEST, otherwise the p of the p-norm.
    """
    kept = vectors if dimensions is None else vectors[:, :dimensions]
    if norm < 0:
        return np.ascontiguousarray(kept)
    sizes = np.abs(kept.astype(np.float64))
    if norm == 0:
        lengths = sizes.max(axis=1) / LARGEST
    elif norm == 2:
        lengths = np.sqrt((sizes**2).sum(axis=1))
    else:
        lengths = (sizes**norm).sum(axis=1) ** (1 / norm)
    lengths[lengths == 0] = 1
    vectors = np.divide(kept, lengths[:, None], dtype=np.float64)
    return vectors.astype(np.float32)


def as_shares(scores: Values) -> Values:
    """Scores without bounds as numbers from 0 to 1, in the same order: the logistic function."""
    return (1 / (1 + np.exp(-scores.astype(np.float64)))).astype(np.float64)


def best_first(scores: Values, count: int | None) -> list[int]:
    """The places of the highest scores, the highest first; of equal ones the first. None: all of them."""
    return [int(index) for index in np.argsort(-scores, kind="stable")[:count]]
