"""What is heard: the tokens of every sequence that speaks, what is told of each, and where answers end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import replace

from troth.domain import NO_THOUGHTS, Began, FinishReason, Piece
from troth.engines.base import Decoder, EngineGone
from troth.errors import BadRequest, EngineFault, Refusal
from troth.scheduler.batch import Batch, Turn
from troth.scheduler.counters import Counters
from troth.scheduler.drafts import Drafter
from troth.scheduler.outbox import Outbox
from troth.scheduler.request import Choice, Request
from troth.scheduler.slots import Slots

logger = logging.getLogger(__name__)

Ready = Sequence[tuple[Choice, int]]  # who speaks, and from which row


class Hearing:
    """What becomes of the rows of a batch: every speaker's tokens, and with them the ends of answers."""

    def __init__(
        self,
        slots: Slots,
        drafter: Drafter,
        counters: Counters,
        outbox: Outbox,
        clock: Callable[[], float],
        abandon: Callable[[Sequence[Request], Exception], None],
    ) -> None:
        """`abandon` ends requests with a fault."""
        self._decoder = slots.decoder
        self._slots = slots
        self._drafter = drafter
        self._counters = counters
        self._outbox = outbox
        self._clock = clock
        self._abandon = abandon

    def take(self, batch: Batch) -> None:
        """Every speaker of the batch has its next tokens; siblings that can fork from a reader do so now."""
        firsts = [each for turn in batch.speakers if turn.choice.is_reading for each in self._fork(turn)]
        turns = [turn for turn in batch.speakers if not turn.choice.is_reading]
        ready = [(turn.choice, turn.row, turn.draft) for turn in turns]
        ready += [(choice, row, ()) for choice, row in firsts if self._opens(choice)]
        tokens = picked(self._decoder, [(choice, row) for choice, row, _ in ready])
        for (choice, row, draft), token in zip(ready, tokens, strict=True):
            if choice.request.is_over:
                continue  # a sibling failed in this very step and took the request with it
            try:
                self._hear_all(choice, row, token, draft)
            except EngineGone:
                raise
            except Exception as error:  # one answer's fault must not end the others: the boundary of the step
                logger.exception("event=answer_failed")
                fault = EngineFault(f"The answer could not be read: {type(error).__name__}.")
                self._abandon([choice.request], fault)
            self._outbox.touch(choice.request)

    def _fork(self, turn: Turn) -> list[tuple[Choice, int]]:
        """The choice has read its prompt; it and the siblings that find a slot pick from the same row."""
        choice, request = turn.choice, turn.choice.request
        if not request.answering_at:
            request.answering_at = request.last_token_at = self._clock()
            self._counters.prompt_seconds += request.answering_at - request.started_at
        group = [(choice, turn.row)]
        fresh = [each for each in request.waiting if each.parked is None]  # a parked one has spoken already
        state = self._slots.prompt_read(choice, forks=bool(fresh) and not self._slots.is_full)
        while fresh and not self._slots.is_full:
            sibling = fresh.pop(0)
            request.waiting.remove(sibling)
            self._slots.seat(sibling, state)
            group.append((sibling, turn.row))
        return group

    def _opens(self, choice: Choice) -> bool:
        """True when the choice may speak: it has its sampler. A budget of zero tokens ends it here."""
        if choice.request.job.prompt.answer_tokens == 0:
            self._end(choice, "length")
            return False
        give_sampler(self._decoder, choice)
        return True

    def _hear_all(self, choice: Choice, row: int, token: int, draft: Sequence[int]) -> None:
        """The token is heard, and after it every further one for as long as the draft foresaw it."""
        choice.held += 1 if choice.said else 0
        accepted = 0
        while self._hear(choice, row + accepted, token) and accepted < len(draft) and draft[accepted] == token:
            choice.held += 1
            accepted += 1
            (token,) = picked(self._decoder, [(choice, row + accepted)])
        if draft:
            self._drafter.note_draft(choice, len(draft), accepted, self._counters)
            if choice.slot >= 0 and accepted < len(draft):
                self._decoder.forget(choice.slot, choice.held)

    def _hear(self, choice: Choice, row: int, token: int) -> bool:
        """The token is part of the answer, or its end. True while the choice goes on."""
        request, job, now = choice.request, choice.request.job, self._clock()
        choice.said.append(token)
        self._counters.predicted_seconds += now - request.last_token_at if request.spoken_tokens else 0.0
        request.last_token_at = now
        request.spoken_tokens += 1
        self._counters.predicted_tokens += 1
        if len(choice.said) == 1:
            request.events.append(Began(choice.index))
        guide = choice.guide
        if guide is not None and guide.fault is not None:
            self._abandon([request], form_fault(guide.fault, guide.fault_field))
            return False
        if token in self._decoder.vocabulary.end_ids and not choice.given:
            self._end(choice, "stop")
            return False
        said = choice.interpreter.feed(piece_of(self._decoder, choice, token, row))
        if said is not None:
            request.events.append(replace(said, timings=request.timings()) if job.token_timings else said)
        if choice.interpreter.finish is not None:
            self._end(choice, choice.interpreter.finish)
            return False
        if guide is not None and guide.is_complete:
            self._end(choice, "stop")
            return False
        if len(choice.said) == (len(choice.given) or job.prompt.answer_tokens):
            self._end(choice, "length")
            return False
        return True

    def _end(self, choice: Choice, finish: FinishReason) -> None:
        """The choice is complete and its slot free; a lone answer's state is kept for the next turn."""
        request = choice.request
        longest = request.prompt_tokens + len(choice.said)
        self._counters.sequence_tokens_max = max(self._counters.sequence_tokens_max, longest)
        thoughts = NO_THOUGHTS if choice.guide is None else choice.guide.thoughts
        self._slots.unseat(choice, keep=len(request.job.interpreters) == 1)
        request.end(choice, finish, thoughts)
        self._outbox.touch(request)
        if request.is_over:
            self._counters.requests_finished += 1


def give_sampler(decoder: Decoder, choice: Choice) -> None:
    """The choice has a sampler of its own, unless its tokens are given."""
    job = choice.request.job
    if choice.given:
        return
    bias = dict(job.prompt.logit_bias)
    if job.ignore_eos:
        bias.update(dict.fromkeys(decoder.vocabulary.end_ids, float("-inf")))
    seed, prompt = (job.seed + choice.index) % 0xFFFFFFFF, job.prompt
    choice.sampler = decoder.sampler(
        job.sampling, seed=seed, prompt=prompt.words, bias=bias, steering=prompt.steering, tells=job.as_drawn
    )


def picked(decoder: Decoder, ready: Ready) -> list[int]:
    """The next token of each: the one that is given, or the one that its sampler picks."""
    drawn = iter(decoder.pick([(choice.sampler, row) for choice, row in ready if choice.sampler is not None]))
    return [choice.given[len(choice.said)] if choice.given else next(drawn) for choice, _ in ready]


def piece_of(decoder: Decoder, choice: Choice, token: int, row: int) -> Piece:
    """The token with its bytes, and its logprobs when they were asked for."""
    job, vocabulary = choice.request.job, decoder.vocabulary
    write = vocabulary.piece if token in job.prompt.shown_ids else vocabulary.spoken
    if job.logprobs is None:
        return Piece(token, write(token))
    if job.as_drawn and choice.sampler is not None:
        chosen, others = decoder.drawn(choice.sampler, token, job.logprobs)
    else:
        chosen, others = decoder.logprobs(row, token, job.logprobs)
    return Piece(token, write(token), chosen, others, job.as_drawn)


def form_fault(why: str, field: str | None) -> Refusal:
    """What ends an answer that cannot be held to its form. `field` of the request asks for what cannot be."""
    if field is None:
        return EngineFault(f"The answer could not be held to its form: {why}.")
    return BadRequest(f"`{field}` cannot be held: {why}.", param=field, code="invalid_grammar")
