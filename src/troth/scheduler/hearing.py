"""How a sequence speaks: with what it picks its tokens, and what is told of each."""

from __future__ import annotations

from collections.abc import Sequence

from troth.domain import Piece
from troth.engines.base import Decoder
from troth.scheduler.request import Choice

Ready = Sequence[tuple[Choice, int]]  # who speaks, and from which row


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
        job.sampling, seed=seed, prompt=prompt.tokens, bias=bias, steering=prompt.steering, tells=job.as_drawn
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
