"""Drafts by prompt lookup: what followed the last time these tokens stood in a row.

Verifying a draft costs less than computing its tokens one by one, but not nothing: on a processor that
is busy with arithmetic a drafted token costs most of a step. So the drafter measures. It learns what a
step costs by its number of rows, how often its drafts come true for each choice, and drafts only what
pays; a choice whose drafts fail is left alone for longer and longer. The answer never changes: a drafted
token counts only when it is the one that is picked anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from troth.scheduler.counters import Counters
from troth.scheduler.memory import LEARNING, Memory
from troth.scheduler.request import Choice

SAMPLES_MIN = 3  # steps of a width that are measured before its cost is trusted
GAIN_MIN = 1.05  # a draft must promise this much, or it is not made


class Drafter:
    """Drafts for the speaking choices of one decoder. Off with `tokens_max` 0."""

    def __init__(self, tokens_max: int, *, speakers_max: int = 1) -> None:
        """`speakers_max`: with more choices speaking, batching uses the processor better than drafts do."""
        self.tokens_max = tokens_max
        self._speakers_max = speakers_max
        self._seconds: dict[int, tuple[float, int]] = {}  # rows of a step → seconds (smoothed), samples

    def drafts(self, choices: Sequence[Choice], room: int) -> dict[int, list[int]]:
        """A draft by slot, of one length for all: neighbours with uneven counts would split the batch."""
        if not self.tokens_max:
            return {}
        speaking = [choice for choice in choices if not choice.is_reading]
        if not 0 < len(speaking) <= self._speakers_max:
            return {}
        found = {choice.slot: self._draft(choice) for choice in speaking}
        length = min(min(len(draft) for draft in found.values()), room // len(speaking) - 1)
        return {slot: draft[:length] for slot, draft in found.items()} if length > 0 else {}

    def _draft(self, choice: Choice) -> list[int]:
        memory, prompt = choice.memory, choice.request.job.prompt
        if memory is None:
            memory = choice.memory = Memory(prompt.tokens.tolist())
        memory.extend(choice.said[len(memory.tokens) - len(prompt.tokens) :])
        if memory.pause > 0:
            memory.pause -= 1
            return []
        left = prompt.answer_tokens - len(choice.said) - 1
        draft = memory.follow(min(self.tokens_max, left))
        return draft[: self._worthwhile(len(draft), memory.acceptance)]

    def _worthwhile(self, length: int, acceptance: float) -> int:
        """The length up to `length` whose tokens per second are best, or 0 when none pays."""
        single = self._cost(1)
        best, best_gain = 0, GAIN_MIN
        for count in range(1, length + 1):
            cost = self._cost(1 + count)
            if single is None or cost is None:
                continue
            gain = sum(acceptance**k for k in range(count + 1)) * single / cost
            if gain > best_gain:
                best, best_gain = count, gain
        if best == 0 and length and self._cost(1 + length) is None:
            return length  # not measured yet: try, and learn
        return best

    def _cost(self, rows: int) -> float | None:
        known = self._seconds.get(rows)
        return known[0] if known is not None and known[1] >= SAMPLES_MIN else None

    def note_step(self, rows: int, seconds: float) -> None:
        """A step that only one choice spoke in took this long."""
        before, samples = self._seconds.get(rows, (seconds, 0))
        self._seconds[rows] = (before + LEARNING * (seconds - before), samples + 1)

    @staticmethod
    def note_draft(choice: Choice, drafted: int, accepted: int, counters: Counters) -> None:
        """So much of a draft came true."""
        choice.request.draft_tokens += drafted
        choice.request.draft_tokens_accepted += accepted
        counters.drafts += 1
        counters.draft_tokens += drafted
        counters.draft_tokens_accepted += accepted
        if choice.memory is not None:
            choice.memory.learn(drafted, accepted)
