"""What is told of reasoning."""

from __future__ import annotations

import pytest

from troth.dialects.abilities import answer_room
from troth.dialects.served import ServerFacts


@pytest.mark.parametrize(
    ("thinking", "told"),
    [
        ({}, 0),
        ({"answer_room_tokens": 512, "answer_room_share": 0.0}, 512),
        ({"answer_room_tokens": 1024, "answer_room_share": 0.15}, "max(1024, 15% of max_tokens)"),
    ],
)
def test_the_room_of_an_answer_is_told_in_tokens_or_in_words(thinking: dict[str, float], told: int | str) -> None:
    assert answer_room(ServerFacts(thinking=thinking)) == told
