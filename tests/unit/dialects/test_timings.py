"""The `timings` object, by llama-server's rules."""

from __future__ import annotations

import json
import math

from hypothesis import given
from hypothesis import strategies as st

from troth.dialects.timings import timings_of
from troth.domain import Timings

MILLISECONDS = st.floats(0, 1e9, allow_nan=False)


@given(st.integers(0, 10**6), MILLISECONDS, st.integers(0, 10**6), MILLISECONDS)
def test_rates_are_finite_and_follow_from_the_times(prompt_n: int, prompt: float, said_n: int, said: float) -> None:
    sent = json.loads(
        json.dumps(timings_of(Timings(prompt_n=prompt_n, prompt_ms=prompt, predicted_n=said_n, predicted_ms=said)))
    )

    assert all(math.isfinite(value) and value >= 0 for value in sent.values())
    if said_n:
        assert sent["predicted_ms"] >= 0.001
        assert abs(sent["predicted_per_second"] - 1000 / sent["predicted_ms"] * (said_n - 1)) <= 1e-6
    if sent["prompt_ms"]:
        assert abs(sent["prompt_per_second"] - 1000 / sent["prompt_ms"] * prompt_n) <= 1e-6


def test_one_token_is_no_decode_step() -> None:
    sent = timings_of(Timings(predicted_n=1, predicted_ms=0.0))

    assert sent["predicted_ms"] == 0.001
    assert (sent["predicted_per_second"], sent["predicted_per_token_ms"]) == (0.0, 0.0)


def test_nothing_generated_took_no_time() -> None:
    assert timings_of(Timings(prompt_n=3, prompt_ms=2.0))["predicted_ms"] == 0.0


def test_drafts_and_clamps_are_absent_unless_there_were_any() -> None:
    assert not {"draft_n", "draft_n_accepted", "max_tokens_clamped_from", "max_tokens_clamped_to"} & set(
        timings_of(Timings())
    )


def test_drafts_and_clamps_are_reported_when_there_were_any() -> None:
    sent = timings_of(Timings(draft_n=4, draft_n_accepted=0, max_tokens_clamped_from=9000, max_tokens_clamped_to=0))

    assert (sent["draft_n"], sent["draft_n_accepted"]) == (4, 0)
    assert (sent["max_tokens_clamped_from"], sent["max_tokens_clamped_to"]) == (9000, 0)
