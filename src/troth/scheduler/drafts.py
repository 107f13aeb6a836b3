"""Drafts: what followed the last time these tokens stood in a row, or else what a smaller model guesses.

Verifying a draft costs less than computing its tokens one by one, but not nothing: on a processor that
is busy with arithmetic a drafted token costs most of a step. So the drafter measures. It learns what a
step costs by its number of rows, what a guess costs, and how often the drafts of each choice come true;
it drafts only what promises to pay, and keeps a purse for either kind, counted in plain steps: drafts that
fail are paid from what others have gained, and beyond that from a small share of all steps. The answer
never changes: a drafted token counts only when it is the one that is picked anyway.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from troth.engines.base import EngineGone, Proposer
from troth.scheduler.counters import Counters
from troth.scheduler.memory import LEARNING, Memory
from troth.scheduler.request import Choice

logger = logging.getLogger(__name__)

SAMPLES_MIN = 4  # steps of a width that are measured before its cost is trusted
GAIN_MIN = 1.05  # a draft must promise this much, or it is not made
LOSS_SHARE_MAX = 0.02  # of the steps, that failed drafts may cost
PURSE_STEPS = 6.0  # to begin with, once in the life of a server
PURSE_STEPS_MAX = 16.0  # past gains are good for this many steps, no more
ROW_COST = 0.6  # of a step, for a drafted token whose cost is not measured yet
GUESS_COST = 0.15  # of a step, for a token of the smaller model whose cost is not measured yet


@dataclass(slots=True)
class Purse:
    """What drafts of one kind may lose, in plain steps."""

    steps: float = PURSE_STEPS

    def settle(self, gained: float) -> None:
        """A step has gained or lost so much."""
        self.steps = min(self.steps + gained + LOSS_SHARE_MAX, PURSE_STEPS_MAX)


class Drafter:
    """Drafts for the speaking choices of one decoder. Off with `tokens_max` 0."""

    def __init__(
        self,
        tokens_max: int,
        *,
        proposer: Proposer | None = None,
        speakers_max: int = 1,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        """`speakers_max`: with more choices speaking, batching uses the processor better than drafts do."""
        self.tokens_max = tokens_max
        self.proposer = proposer
        self._speakers_max = speakers_max
        self._clock = clock
        self._seconds: dict[int, tuple[float, int]] = {}  # rows of a step → seconds (smoothed), samples
        self._guess_seconds = 0.0  # of one guessed token (smoothed); 0 while unknown
        self._repeated, self._guessed = Purse(), Purse()
        self._asked: Purse | None = None  # who drafted for the step under way
        self._spent_seconds = 0.0  # on guesses for the step under way

    def drafts(self, choices: Sequence[Choice], room: int) -> dict[int, list[int]]:
        """A draft by slot, of one length for all: neighbours with uneven counts would split the batch."""
        self._asked, self._spent_seconds = None, 0.0
        if not self.tokens_max:
            return {}
        speaking = [choice for choice in choices if not choice.is_reading]
        if not 0 < len(speaking) <= self._speakers_max:
            return {}
        found = {choice.slot: self._draft(choice, is_alone=len(choices) == 1) for choice in speaking}
        length = min(min(len(draft) for draft in found.values()), room // len(speaking) - 1)
        return {slot: draft[:length] for slot, draft in found.items()} if length > 0 else {}

    def _draft(self, choice: Choice, *, is_alone: bool) -> list[int]:
        if choice.given:
            return list(choice.given[len(choice.said) :][: self.tokens_max])
        memory, prompt = choice.memory, choice.request.job.prompt
        if memory is None:
            memory = choice.memory = Memory(prompt.tokens.tolist())
        memory.extend(choice.said[len(memory.tokens) - len(prompt.tokens) :])
        left = min(self.tokens_max, prompt.answer_tokens - len(choice.said) - 1)
        self._asked, memory.asked = self._repeated, memory.repeated
        draft = self._repeat(memory, left)
        if not draft and is_alone and self.proposer is not None and not prompt.sights:  # it would be blind
            self._asked, memory.asked = self._guessed, memory.guessed
            draft = self._guess(self.proposer, memory, left)
        return draft

    def _repeat(self, memory: Memory, left: int) -> list[int]:
        if memory.repeated.rests():
            return []
        draft = memory.follow(left)
        return draft[: self._length(len(draft), memory.repeated.acceptance, self._repeated, 0.0)]

    def _guess(self, proposer: Proposer, memory: Memory, left: int) -> list[int]:
        if memory.guessed.rests():
            return []
        plain = self._seconds.get(1, (0.0, 0))[0]
        cost = self._guess_seconds / plain if self._guess_seconds and plain else GUESS_COST
        count = self._length(left, memory.guessed.acceptance, self._guessed, cost)
        if not count:
            return []
        started = self._clock()
        try:
            draft = proposer.propose(memory.tokens, count)
        except EngineGone:
            raise
        except Exception:  # the boundary of a helper: the answers go on without it
            logger.exception("event=draft_model_failed")
            self.proposer = None
            return []
        if draft is None:
            return []  # it still reads what it has to continue, a piece with every step
        self._spent_seconds = self._clock() - started
        seconds = self._spent_seconds / max(1, len(draft))
        before = self._guess_seconds or seconds
        self._guess_seconds = before + LEARNING * (seconds - before)
        return draft

    def _length(self, longest: int, acceptance: float, purse: Purse, guess_cost: float) -> int:
        """The length up to `longest` that promises the most tokens per second and can be afforded, or 0."""
        if self._samples(1) < SAMPLES_MIN:
            return 0
        best, best_gain = 0, GAIN_MIN
        for count in range(1, longest + 1):
            cost = self._cost(1 + count) + guess_cost * count
            if cost - 1 > purse.steps:
                break
            gain = sum(acceptance**k for k in range(count + 1)) / cost
            if gain > best_gain:
                best, best_gain = count, gain
        return best

    def _cost(self, rows: int) -> float:
        """Plain steps that a step with so many rows is worth: as measured, else as feared."""
        if self._samples(rows) >= SAMPLES_MIN <= self._samples(1):
            return self._seconds[rows][0] / self._seconds[1][0]
        return 1 + ROW_COST * (rows - 1)

    def _samples(self, rows: int) -> int:
        return self._seconds.get(rows, (0.0, 0))[1]

    def note_step(self, rows: int, seconds: float, heard: int) -> None:
        """A step that only one choice spoke in took this long, drafting aside, and gave `heard` tokens."""
        before, samples = self._seconds.get(rows, (seconds, 0))
        self._seconds[rows] = (before + LEARNING * (seconds - before), samples + 1)
        gained = 0.0
        if rows > 1 or self._spent_seconds:
            plain = self._seconds.get(1, (seconds, 0))[0]
            gained = heard - self._cost(rows) - self._spent_seconds / plain
        for purse in (self._repeated, self._guessed):
            purse.settle(gained if purse is self._asked else 0.0)
        self._asked, self._spent_seconds = None, 0.0

    @staticmethod
    def note_draft(choice: Choice, drafted: int, accepted: int, counters: Counters) -> None:
        """So much of a draft came true."""
        choice.request.draft_tokens += drafted
        choice.request.draft_tokens_accepted += accepted
        counters.drafts += 1
        counters.draft_tokens += drafted
        counters.draft_tokens_accepted += accepted
        if choice.memory is not None and choice.memory.asked is not None:
            choice.memory.asked.learn(drafted, accepted)
