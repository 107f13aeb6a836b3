"""Token probabilities in OpenAI's shape."""

from __future__ import annotations

import math

from troth.dialects.logprobs import IMPOSSIBLE, logprobs_of
from troth.domain import Piece, TokenLogprob


def piece(data: bytes, logprob: float, *others: TokenLogprob) -> Piece:
    return Piece(7, data, TokenLogprob(7, data, logprob), others)


def test_half_a_character_is_shown_as_replaced_and_its_bytes_are_exact() -> None:
    (entry,) = logprobs_of([piece(b" \xe2\x82", -0.5)])["content"]

    assert entry == {"id": 7, "token": " \ufffd", "bytes": [32, 0xE2, 0x82], "logprob": -0.5, "top_logprobs": []}


def test_a_token_that_cannot_come_has_a_number_too() -> None:
    (entry,) = logprobs_of([piece(b"a", -math.inf, TokenLogprob(8, b"b", -math.inf))])["content"]

    assert entry["logprob"] == entry["top_logprobs"][0]["logprob"] == IMPOSSIBLE


def test_no_probability_is_above_one() -> None:
    assert logprobs_of([piece(b"a", 1e-7)])["content"][0]["logprob"] == 0.0


def test_alternatives_keep_their_order() -> None:
    others = [TokenLogprob(number, b"x", -float(number)) for number in range(1, 4)]

    (entry,) = logprobs_of([piece(b"x", -1.0, *others)])["content"]

    assert [other["id"] for other in entry["top_logprobs"]] == [1, 2, 3]
    assert logprobs_of([]) == {"content": [], "refusal": None}


def test_probabilities_of_a_draw_are_no_logarithms() -> None:
    drawn = Piece(7, b"a", TokenLogprob(7, b"a", math.log(0.25)), (TokenLogprob(8, b"b", 0.0),), as_drawn=True)
    (entry,) = logprobs_of([drawn])["content"]

    assert (entry["prob"], entry["top_probs"][0]["prob"]) == (0.25, 1.0)
    assert not {"logprob", "top_logprobs"} & set(entry)
