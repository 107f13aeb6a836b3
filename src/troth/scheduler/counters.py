"""What the scheduler counts. Written by its thread alone, read by anyone: every field only grows."""

from __future__ import annotations

from dataclasses import asdict, dataclass


@dataclass(slots=True)
class Counters:
    """Totals since the start, in the units of their names; the sources of the `llamacpp:` metrics."""

    prompt_tokens: int = 0  # computed; cached ones are not in it
    prompt_tokens_cached: int = 0
    prompt_seconds: float = 0.0
    predicted_tokens: int = 0
    predicted_seconds: float = 0.0
    decode_calls: int = 0
    busy_slots: int = 0  # summed over decode calls
    sequence_tokens_max: int = 0  # the longest sequence seen
    draft_tokens: int = 0
    draft_tokens_accepted: int = 0
    drafts: int = 0
    preemptions: int = 0
    moves: int = 0  # running sequences that went to a lower slot
    requests_finished: int = 0
    requests_cancelled: int = 0
    requests_failed: int = 0
    draft_seconds: float = 0.0
    build_seconds: float = 0.0
    decode_seconds: float = 0.0
    sample_seconds: float = 0.0
    emit_seconds: float = 0.0

    def __add__(self, other: Counters) -> Counters:
        """The totals of two lives of one model; of lengths the longer."""
        mine, theirs = asdict(self), asdict(other)
        total = Counters(**{name: mine[name] + theirs[name] for name in mine})
        total.sequence_tokens_max = max(self.sequence_tokens_max, other.sequence_tokens_max)
        return total
