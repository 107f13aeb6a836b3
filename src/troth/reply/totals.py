"""What several answers of one request took together."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from operator import add

from troth.domain import Timings, Usage
from troth.domain.answering import NO_THOUGHTS


def total_usage(usages: Sequence[Usage]) -> Usage:
    """The counts of all answers."""
    return Usage(
        sum(each.prompt_tokens for each in usages),
        sum(each.answer_tokens for each in usages),
        sum(each.cached_tokens for each in usages),
        reduce(add, (each.thoughts for each in usages), NO_THOUGHTS),
    )


def total_timings(timings: Sequence[Timings]) -> Timings:
    """The times of all answers; a budget that was cut is told as the first of them was."""
    cut = next((each for each in timings if each.max_tokens_clamped_from is not None), Timings())
    return Timings(
        cache_n=sum(each.cache_n for each in timings),
        prompt_n=sum(each.prompt_n for each in timings),
        prompt_ms=sum(each.prompt_ms for each in timings),
        predicted_n=sum(each.predicted_n for each in timings),
        predicted_ms=sum(each.predicted_ms for each in timings),
        draft_n=sum(each.draft_n for each in timings),
        draft_n_accepted=sum(each.draft_n_accepted for each in timings),
        max_tokens_clamped_from=cut.max_tokens_clamped_from,
        max_tokens_clamped_to=cut.max_tokens_clamped_to,
    )
