"""The bounds of the histograms, as vLLM documents them for its dashboards."""

from __future__ import annotations

FIRST_TOKEN_SECONDS = (
    *(0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0),
    *(2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0),
)
TOKEN_SECONDS = (
    *(0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75),
    *(1.0, 2.5, 5.0, 7.5, 10.0, 20.0, 40.0, 80.0),
)
REQUEST_SECONDS = (
    *(0.3, 0.5, 0.8, 1.0, 1.5, 2.0, 2.5, 5.0, 10.0, 15.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    *(120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0),
)
CHOICES = (1, 2, 5, 10, 20)


def token_counts(tokens_max: int) -> tuple[int, ...]:
    """1, 2, 5, 10, 20, 50 … up to `tokens_max`."""
    counts: list[int] = []
    scale = 1
    while scale <= tokens_max:
        counts.extend(scale * step for step in (1, 2, 5) if scale * step <= tokens_max)
        scale *= 10
    return tuple(counts)
