"""What a model of vectors reads of a request: every item checked, and cut only where the client asked for it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from troth.domain.vectors import EmbedJob, Item, Planes, Reading, RerankJob
from troth.engines.base import TextEncoder
from troth.errors import BadRequest, ItemTooLong

NameOf = Callable[[int], str]  # how a refusal names an item
CUT, SHORTEN = "Send less, or `truncate: true` to have it cut.", "Send less."
NO_TOKENS = np.zeros(0, np.int32)


def read_items(encoder: TextEncoder, job: EmbedJob) -> list[Reading]:
    """The items as the model reads them.

    Raises BadRequest naming the first item that has an id outside the vocabulary, or is too long to be read.
    """
    for index, item in enumerate(job.items):
        _check_ids(item, encoder.vocabulary_size, job.name_of(index))
    cure = CUT if job.may_truncate else SHORTEN
    return _fitted(encoder.read(job.items), encoder.facts.tokens_max, job.name_of, cure, truncate=job.truncate)


def read_pairs(encoder: TextEncoder, job: RerankJob) -> list[Reading]:
    """The query with each document. Raises BadRequest naming the query that is too long, or the first document that is
    too long beside it."""
    (query,) = encoder.read([job.query])
    length, tokens_max = len(query.tokens), encoder.facts.tokens_max
    if length > tokens_max:  # before it is put beside every document
        raise ItemTooLong("query", length, tokens_max, "Shorten it.")
    pairs = encoder.pair(job.query, job.documents)
    return _fitted(pairs, encoder.facts.tokens_max, job.name_of, CUT, truncate=job.truncate)


def read_pictures(pictures: Sequence[Planes]) -> list[Reading]:
    """The pictures, which were made to fit before."""
    return [Reading(NO_TOKENS, planes=planes) for planes in pictures]


def _check_ids(item: Item, size: int, name: str) -> None:
    if isinstance(item, str):
        return
    for position, token in enumerate(item):
        if not 0 <= token < size:
            raise BadRequest(
                f"{name} has the token id {token} at position {position}; this model's ids are from 0 to {size - 1}. "
                "Ids of another model's tokenizer mean nothing here: send texts.",
                param=name,
            )


def _fitted(
    readings: Sequence[Reading], tokens_max: int, name_of: NameOf, cure: str, *, truncate: bool
) -> list[Reading]:
    fitted = []
    for index, reading in enumerate(readings):
        length = len(reading.tokens)
        if length > tokens_max:
            if reading.head + reading.tail >= tokens_max:
                raise ItemTooLong(name_of(index), length, tokens_max, "What stands before it is too long already.")
            if not truncate:
                raise ItemTooLong(name_of(index), length, tokens_max, cure)
            reading = _cut(reading, tokens_max)
        fitted.append(reading)
    return fitted


def _cut(reading: Reading, tokens_max: int) -> Reading:
    kept = np.r_[0 : tokens_max - reading.tail, len(reading.tokens) - reading.tail : len(reading.tokens)]
    types = None if reading.types is None else reading.types[kept]
    return replace(reading, tokens=reading.tokens[kept], types=types, cut_from=len(reading.tokens))
