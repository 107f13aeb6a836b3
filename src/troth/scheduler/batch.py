"""One batch: who speaks, who reads how much, and which drafts are tried."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from troth.domain import NO_ADAPTERS, Adapters
from troth.engines.base import Sampler
from troth.scheduler.drafts import Drafter
from troth.scheduler.pace import Pace
from troth.scheduler.request import Choice, Request
from troth.scheduler.slots import Slots


@dataclass(frozen=True, slots=True)
class Turn:
    """A choice that picks from `row`, and from one more row for every token of its draft."""

    choice: Choice
    row: int
    draft: Sequence[int] = ()


@dataclass(slots=True)
class Batch:
    """What was put into the decoder for one computation."""

    readers: list[tuple[Choice, int]] = field(default_factory=list)  # with the tokens that each reads
    speakers: list[Turn] = field(default_factory=list)
    build_seconds: float = 0.0
    draft_seconds: float = 0.0

    def owners(self) -> list[Request]:
        """The requests that the batch works for."""
        choices = [*(choice for choice, _ in self.readers), *(turn.choice for turn in self.speakers)]
        return list({id(choice.request): choice.request for choice in choices}.values())

    def picks(self) -> list[tuple[Sampler, int]]:
        """The picks that are certain: those of who speaks already."""
        speaking = (turn for turn in self.speakers if not turn.choice.is_reading)
        return [(turn.choice.sampler, turn.row) for turn in speaking if turn.choice.sampler is not None]


def groups(slots: Slots) -> list[Adapters]:
    """The adapters that somebody is computed with now. A batch has one of them, and a step one batch of each."""
    return list(dict.fromkeys(choice.request.job.adapters for choice in slots.occupants()))


def compose(slots: Slots, pace: Pace, drafter: Drafter, adapters: Adapters = NO_ADAPTERS) -> Batch:
    """The decoder's next batch for the sequences with these adapters, and who is in it.

    Sequences go in by ascending slot: a decoder with one memory per sequence computes neighbours together
    and would split the batch at every step backwards.
    """
    started = time.perf_counter()
    decoder, batch = slots.decoder, Batch()
    decoder.adapt(adapters)
    seeing, occupants = slots.turn_to_see(adapters)
    if seeing is not None:
        return _seen(seeing, slots, pace)
    chunks = pace.chunks(occupants, decoder.batch_tokens)
    drafts = drafter.drafts(occupants, decoder.batch_tokens - sum(chunks.values())) if not chunks else {}
    drafted = time.perf_counter()
    decoder.begin()
    for choice in occupants:
        if not choice.is_reading:
            draft = drafts.get(choice.slot, ())
            row = decoder.add(choice.slot, (choice.said[-1], *draft), choice.held, rows=1 + len(draft))
            batch.speakers.append(Turn(choice, row, draft))
        elif chunk := min(chunks.get(choice.slot, 0), choice.request.job.prompt.words_from(choice.held)):
            prompt = choice.request.job.prompt.tokens
            ends = choice.held + chunk == len(prompt)
            tokens = prompt[choice.held : choice.held + chunk]
            row = decoder.add(choice.slot, tokens, choice.held, rows=1 if ends else 0)
            batch.readers.append((choice, chunk))
            if ends:
                batch.speakers.append(Turn(choice, row))
    batch.build_seconds, batch.draft_seconds = time.perf_counter() - drafted, drafted - started
    return batch


def _seen(choice: Choice, slots: Slots, pace: Pace) -> Batch:
    """A batch of what one choice sees: a decoder takes no tokens beside embeddings."""
    started = time.perf_counter()
    decoder, batch, prompt = slots.decoder, Batch(), choice.request.job.prompt
    sight = prompt.sight_at(choice.held)
    assert sight is not None
    chunk = sight.end - choice.held
    if not sight.is_whole:
        speaks = any(not each.is_reading for each in slots.running.values())
        chunk = min(chunk, decoder.batch_tokens, pace.read_tokens_beside_speech if speaks else pace.read_tokens)
    ends = choice.held + chunk == len(prompt.tokens)
    begin = choice.held - sight.start
    decoder.begin()
    embeddings = sight.embeddings[begin : begin + chunk]
    row = decoder.add_seen(choice.slot, embeddings, choice.held, rows=1 if ends else 0, is_whole=sight.is_whole)
    batch.readers.append((choice, chunk))
    if ends:
        batch.speakers.append(Turn(choice, row))
    batch.build_seconds = time.perf_counter() - started
    return batch
