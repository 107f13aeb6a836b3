"""What the scheduler keeps of one request: its choices, its clock, and the events of this step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from troth.domain import (
    NO_THOUGHTS,
    Ended,
    Event,
    Finished,
    FinishReason,
    Interpreter,
    Job,
    Progress,
    ThoughtCount,
    Timings,
    TokenIds,
    Usage,
)
from troth.engines.base import Guide, Sampler, State
from troth.scheduler.memory import Memory


@dataclass(slots=True, eq=False)
class Choice:
    """One sequence of a request: it reads the prompt, then speaks until it ends.

    `held` counts the tokens of this sequence in the decoder's memory. While it reads, those are prompt
    tokens; afterwards the last token of `said` is always one ahead of the memory.
    """

    request: Request
    index: int
    interpreter: Interpreter
    slot: int = -1
    held: int = 0
    said: list[int] = field(default_factory=list)
    sampler: Sampler | None = None
    parked: State | None = None  # its memory while a more urgent request has its slot
    memory: Memory | None = None  # for drafts, once it speaks

    @property
    def given(self) -> tuple[int, ...]:
        """The tokens that it says, where it has no choice."""
        given = self.request.job.given
        return given[self.index] if given else ()

    @property
    def is_reading(self) -> bool:
        """True while prompt tokens remain that this sequence has not been given."""
        return not self.said

    @property
    def guide(self) -> Guide | None:
        """What holds its tokens, if anything does."""
        return None if self.sampler is None else self.sampler.guide

    def held_tokens(self) -> TokenIds:
        """The tokens in the decoder's memory, [held]."""
        prompt = self.request.job.prompt.tokens
        if self.held <= len(prompt):
            return prompt[: self.held]
        answer = np.array(self.said[: self.held - len(prompt)], dtype=np.int32)
        return np.concatenate([prompt, answer])


@dataclass(slots=True, eq=False)
class Request:
    """A job on its way through the scheduler. Times are seconds of the scheduler's clock."""

    job: Job
    arrival: int = 0
    started_at: float = 0.0
    answering_at: float = 0.0  # when the first token was known
    last_token_at: float = 0.0
    cached_tokens: int = 0
    read_tokens: int = 0
    spoken_tokens: int = 0
    draft_tokens: int = 0
    draft_tokens_accepted: int = 0
    open_choices: int = 0
    thoughts: ThoughtCount = NO_THOUGHTS  # of the choices that have ended
    waiting: list[Choice] = field(default_factory=list)  # choices without a slot
    running: list[Choice] = field(default_factory=list)
    follows: tuple[Choice, int] | None = None  # who reads the beginning that this prompt shares, and its length
    events: list[Event] = field(default_factory=list)  # of this step, not yet delivered
    fault: Exception | None = None
    is_started: bool = False
    is_over: bool = False

    def __post_init__(self) -> None:
        self.waiting = [Choice(self, index, each) for index, each in enumerate(self.job.interpreters)]
        self.open_choices = len(self.waiting)
        assert self.open_choices > 0

    @property
    def order(self) -> tuple[int, int]:
        """The place in line: lower priority numbers first, then first come, first served."""
        return (self.job.priority, self.arrival)

    @property
    def prompt_tokens(self) -> int:
        """Length of the prompt."""
        return len(self.job.prompt.tokens)

    def timings(self) -> Timings:
        """The timings so far, in llama-server's terms."""
        answering = self.answering_at
        return Timings(
            cache_n=self.cached_tokens,
            prompt_n=self.prompt_tokens - self.cached_tokens if answering else self.read_tokens,
            prompt_ms=(answering - self.started_at) * 1e3 if answering else 0.0,
            predicted_n=self.spoken_tokens,
            predicted_ms=(self.last_token_at - answering) * 1e3 if answering else 0.0,
            draft_n=self.draft_tokens,
            draft_n_accepted=self.draft_tokens_accepted,
        )

    def progress(self, now: float) -> Progress:
        """How far the prompt has been read."""
        timings = self.timings() if self.job.token_timings else None
        done = self.cached_tokens + self.read_tokens
        return Progress(self.prompt_tokens, self.cached_tokens, done, int((now - self.started_at) * 1e3), timings)

    def end(self, choice: Choice, finish: FinishReason, thoughts: ThoughtCount = NO_THOUGHTS) -> None:
        """The choice is complete: its held-back text is said, and with the last choice the request ends."""
        stop_text = choice.interpreter.stopped
        if choice.interpreter.finish is None:
            rest = choice.interpreter.flush()
            if rest is not None:
                self.events.append(rest)
        self.thoughts = self.thoughts + thoughts
        self.events.append(Ended(choice.index, finish, stop_text, len(choice.said), thoughts))
        self.open_choices -= 1
        if self.open_choices == 0:
            usage = Usage(self.prompt_tokens, self.spoken_tokens, self.cached_tokens, self.thoughts)
            self.events.append(Finished(usage, self.timings()))
            self.is_over = True


@dataclass(frozen=True, slots=True)
class Delivery:
    """What a step has to say about one request: its new events, and the fault that ended it, if one did."""

    request: Request
    events: list[Event]
    fault: Exception | None


def in_line(requests: Sequence[Request]) -> list[Request]:
    """The requests in the order in which they are to be served."""
    return sorted(requests, key=lambda request: request.order)
