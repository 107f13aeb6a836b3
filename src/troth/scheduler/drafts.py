"""Drafts by prompt lookup: what followed the last time these tokens stood in a row.

Verifying a draft costs less than computing its tokens one by one, but not nothing: on a processor that
is busy with arithmetic a drafted token costs most of a step. So the drafter measures. It learns what a
step costs by its number of rows and how often the drafts of each choice come true, drafts only what
promises to pay, and keeps a purse, counted in plain steps: drafts that fail are paid from what others
have gained, and beyond that from a small share of all steps. The answer never changes: a drafted token
counts only when it is the one that is picked anyway.
"""

from __future__ import annotations

from collections.abc import Sequence

from troth.scheduler.counters import Counters
from troth.scheduler.memory import LEARNING, Memory
from troth.scheduler.request import Choice

SAMPLES_MIN = 4  # steps of a width that are measured before its cost is trusted
GAIN_MIN = 1.05  # a draft must promise this much, or it is not made
LOSS_SHARE_MAX = 0.02  # of the steps, that failed drafts may cost
PURSE_STEPS = 6.0  # to begin with, once in the life of a server
PURSE_STEPS_MAX = 16.0  # past gains are good for this many steps, no more
ROW_COST = 0.6  # of a step, for a drafted token whose cost is not measured yet
HOPE = 0.9  # the acceptance that every choice begins with: one that is never tried is never learnt


class Drafter:
    """Drafts for the speaking choices of one decoder. Off with `tokens_max` 0."""

    def __init__(self, tokens_max: int, *, speakers_max: int = 1) -> None:
        """`speakers_max`: with more choices speaking, batching uses the processor better than drafts do."""
        self.tokens_max = tokens_max
        self._speakers_max = speakers_max
        self._seconds: dict[int, tuple[float, int]] = {}  # rows of a step → seconds (smoothed), samples
        self._purse = PURSE_STEPS

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
            memory = choice.memory = Memory(prompt.tokens.tolist(), HOPE)
        memory.extend(choice.said[len(memory.tokens) - len(prompt.tokens) :])
        if memory.pause > 0:
            memory.pause -= 1
            return []
        left = prompt.answer_tokens - len(choice.said) - 1
        draft = memory.follow(min(self.tokens_max, left))
        return draft[: self._length(len(draft), memory.acceptance)]

    def _length(self, longest: int, acceptance: float) -> int:
        """The length up to `longest` that promises the most tokens per second and can be afforded, or 0."""
        if self._samples(1) < SAMPLES_MIN:
            return 0
        best, best_gain = 0, GAIN_MIN
        for count in range(1, longest + 1):
            cost = self._cost(1 + count)
            if cost - 1 > self._purse:
                break
            gain = sum(acceptance**k for k in range(count + 1)) / cost
            if gain > best_gain:
                best, best_gain = count, gain
        return best

    def _cost(self, rows: int) -> float:
        """Plain steps that a step with so many rows is worth: as measured, else as feared."""
        if self._samples(rows) >= SAMPLES_MIN:
            return self._seconds[rows][0] / self._seconds[1][0]
        return 1 + ROW_COST * (rows - 1)

    def _samples(self, rows: int) -> int:
        return self._seconds.get(rows, (0.0, 0))[1]

    def note_step(self, rows: int, seconds: float, heard: int) -> None:
        """A step that only one choice spoke in took this long and gave `heard` tokens."""
        before, samples = self._seconds.get(rows, (seconds, 0))
        self._seconds[rows] = (before + LEARNING * (seconds - before), samples + 1)
        gained = heard - self._cost(rows) if rows > 1 else 0.0
        self._purse = min(self._purse + gained + LOSS_SHARE_MAX, PURSE_STEPS_MAX)

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
