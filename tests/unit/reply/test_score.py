"""How likely given texts are."""

from __future__ import annotations

import math

import pytest

from troth.domain import Piece, TokenLogprob
from troth.reply.score import Scorer, shares


def test_a_score_is_the_sum_of_its_tokens_log_probabilities() -> None:
    scorer = Scorer()
    for logprob in (-1.0, -0.5):
        assert scorer.feed(Piece(7, b"a", TokenLogprob(7, b"a", logprob))) is None

    assert (scorer.logprob, scorer.tokens) == (-1.5, 2)
    assert scorer.flush() is None


def test_shares_add_up_to_one_and_keep_the_order() -> None:
    found = shares([-1.0, -2.0, -700.0], 1.0)

    assert sum(found) == pytest.approx(1)
    assert found[0] / found[1] == pytest.approx(math.e)
    assert found[2] >= 0


def test_a_temperature_flattens_and_sharpens() -> None:
    flat, plain, sharp = (shares([-1.0, -2.0], temperature)[0] for temperature in (10.0, 1.0, 0.1))

    assert 0.5 < flat < plain < sharp < 1
