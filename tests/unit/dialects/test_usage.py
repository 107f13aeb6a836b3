"""The `usage` object of the OpenAI routes."""

from __future__ import annotations

from troth.dialects.usage import usage_of
from troth.domain import Usage


def test_the_total_is_the_sum_and_cached_tokens_are_part_of_the_prompt() -> None:
    sent = usage_of(Usage(prompt_tokens=10, answer_tokens=4, cached_tokens=7))

    assert (sent["prompt_tokens"], sent["completion_tokens"], sent["total_tokens"]) == (10, 4, 14)
    assert sent["prompt_tokens_details"] == {"cached_tokens": 7}
