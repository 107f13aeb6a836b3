"""The tokens of a draw: those that are allowed, in order, with their own logits, whatever was there before."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from troth.engines.llama_cpp.candidates import BLOCKS_MAX, Candidates

SIZE = 3 * BLOCKS_MAX
LOGITS = np.random.default_rng(1).normal(0, 4, SIZE).astype(np.float32)
BARRED = st.sets(st.integers(0, SIZE - 1), max_size=SIZE)


@given(st.lists(BARRED, min_size=1, max_size=3))
def test_they_are_the_allowed_tokens_in_order_with_their_logits(draws: list[set[int]]) -> None:
    candidates = Candidates(SIZE)
    for barred in draws:
        allowed = np.ones(SIZE, np.bool_)
        allowed[list(barred)] = False

        found = candidates.of(LOGITS, allowed)

        assert found["id"].tolist() == np.flatnonzero(allowed).tolist()
        assert found["logit"].tolist() == LOGITS[allowed].tolist()


def test_without_a_rule_they_are_all_tokens() -> None:
    candidates = Candidates(SIZE)
    candidates.of(LOGITS, LOGITS > 0)

    found = candidates.of(LOGITS)

    assert found["id"].tolist() == list(range(SIZE))
    assert found["logit"].tolist() == LOGITS.tolist()
