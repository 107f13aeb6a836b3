"""The whole answer says what the stream says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.domain import Began, Ended, Event, Finished, Piece, Progress, Reply, Said, Timings, TokenLogprob, Usage
from troth.errors import EngineFault
from troth.reply.fold import fold

USAGE = Usage(prompt_tokens=3, answer_tokens=4, cached_tokens=1)
TIMINGS = Timings(prompt_n=2, predicted_n=4)


async def stream(events: Sequence[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


def folded(events: Sequence[Event]) -> Reply:
    return asyncio.run(fold(stream(events)))


@given(st.lists(st.tuples(st.integers(0, 2), st.text(max_size=4)), max_size=20))
def test_the_whole_answer_is_the_concatenation_of_the_stream(parts: list[tuple[int, str]]) -> None:
    pieces = [Piece(number, text.encode(), TokenLogprob(number, b"", -1.0)) for number, (_, text) in enumerate(parts)]
    events: list[Event] = [Progress(3, 1, 3, 0), Began(0), Began(1), Began(2)]
    events += [Said(text, (piece,), choice) for (choice, text), piece in zip(parts, pieces, strict=True)]
    events += [Ended(2, "length"), Ended(0, "stop", "END"), Ended(1, "stop"), Finished(USAGE, TIMINGS)]

    reply = folded(events)

    for index, choice in enumerate(reply.choices):
        assert choice.text == "".join(text for number, text in parts if number == index)
        assert choice.pieces == [piece for (number, _), piece in zip(parts, pieces, strict=True) if number == index]
    assert [choice.finish for choice in reply.choices] == ["stop", "stop", "length"]
    assert [choice.stop_text for choice in reply.choices] == ["END", None, None]
    assert (reply.usage, reply.timings) == (USAGE, TIMINGS)


def test_a_choice_that_said_nothing_is_an_empty_choice() -> None:
    reply = folded([Ended(0, "length"), Finished(USAGE, TIMINGS)])

    assert [(choice.text, choice.finish) for choice in reply.choices] == [("", "length")]


def test_a_fault_in_the_stream_is_a_fault_of_the_fold() -> None:
    async def broken() -> AsyncIterator[Event]:
        yield Said("a")
        raise EngineFault("out of memory")

    with pytest.raises(EngineFault):
        asyncio.run(fold(broken()))
