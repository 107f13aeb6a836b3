"""Totals of one model of vectors or of relevance since its start. The engine's thread writes, anyone may read."""

from __future__ import annotations

from dataclasses import dataclass, field

BATCH_BOUNDS = (1, 2, 4, 8, 16, 32, 64, 128, 256)  # sequences; a last bucket holds what is above


@dataclass(slots=True)
class VectorCounters:
    """Every number only grows. The names up to `sequence_tokens_max` are those that every engine counts under."""

    prompt_tokens: int = 0
    prompt_tokens_cached: int = 0
    prompt_seconds: float = 0.0
    predicted_tokens: int = 0
    predicted_seconds: float = 0.0
    decode_calls: int = 0  # batches
    busy_slots: int = 0  # sequences of all batches
    sequence_tokens_max: int = 0
    requests: int = 0  # that were answered whole
    dropped_sequences: int = 0  # that nobody waited for any more
    batch_sizes: list[int] = field(default_factory=lambda: [0] * (len(BATCH_BOUNDS) + 1))

    def note_batch(self, lengths: list[int], seconds: float) -> None:
        """A batch of sequences of these lengths, in tokens, was computed."""
        self.prompt_tokens += sum(lengths)
        self.prompt_seconds += seconds
        self.decode_calls += 1
        self.busy_slots += len(lengths)
        self.sequence_tokens_max = max(self.sequence_tokens_max, *lengths)
        self.batch_sizes[sum(len(lengths) > bound for bound in BATCH_BOUNDS)] += 1
