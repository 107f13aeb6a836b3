"""Vectors of a length, and scores in an order."""

from __future__ import annotations

import numpy as np
import pytest

from troth.reply.vectors import as_shares, best_first, scaled

ROWS = np.array([[3, 4, 12], [0, -2, 0]], np.float32)


def test_a_vector_has_length_one() -> None:
    assert np.linalg.norm(scaled(ROWS, None, 2), axis=1) == pytest.approx([1, 1])


def test_fewer_numbers_are_the_first_ones_scaled_anew() -> None:
    assert scaled(ROWS, 2, 2)[0] == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize(
    ("norm", "first"), [(-1, [3, 4, 12]), (0, [8190, 10920, 32760]), (1, [3 / 19, 4 / 19, 12 / 19])]
)
def test_the_other_scalings_are_llama_servers(norm: int, first: list[float]) -> None:
    assert scaled(ROWS, None, norm)[0] == pytest.approx(first)


def test_a_higher_norm_divides_by_the_root_of_the_powers() -> None:
    assert scaled(ROWS, None, 3)[0] == pytest.approx(ROWS[0] / (27 + 64 + 1728) ** (1 / 3))


@pytest.mark.parametrize("norm", [0, 1, 2, 3])
def test_a_vector_of_zeros_stays_one(norm: int) -> None:
    assert scaled(np.zeros((1, 3), np.float32), None, norm).tolist() == [[0, 0, 0]]


def test_scores_become_shares_in_the_same_order() -> None:
    shares = as_shares(np.array([-12, 0, 8], np.float32))

    assert shares[1] == 0.5
    assert 0 < shares[0] < 1e-5
    assert 0.999 < shares[2] < 1


def test_of_equal_scores_the_first_comes_first() -> None:
    scores = np.array([1, 5, 5, 2], np.float32)

    assert best_first(scores, None) == [1, 2, 3, 0]
    assert best_first(scores, 2) == [1, 2]
    assert best_first(scores, 9) == [1, 2, 3, 0]
