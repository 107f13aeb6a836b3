"""The text of an answer, told apart: calls and reasoning, their tokens, and why the answer ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence

from tests.support.formats import WEATHER
from troth.domain import (
    CallBegan,
    CallSaid,
    Ended,
    Event,
    Finished,
    FinishReason,
    Piece,
    Said,
    Thought,
    Timings,
    TokenLogprob,
    Usage,
)
from troth.formats.reading import ChoiceReader
from troth.formats.registry import FORMATS
from troth.formats.thoughts import THOUGHTS, ThoughtReader
from troth.reply.fold import fold
from troth.reply.parts import parted

CALL = '<tool_call>\n{"name": "get_weather", "arguments": {"city": "Paris"}}\n</tool_call>'
FINISHED = Finished(Usage(1, 1), Timings())


def piece(text: str) -> Piece:
    return Piece(1, text.encode(), TokenLogprob(1, text.encode(), -1.0))


async def stream(events: Sequence[Event]) -> AsyncIterator[Event]:
    for event in events:
        yield event


def told(events: Sequence[Event]) -> list[Event]:
    def reader(choice: int) -> ChoiceReader:
        calls = FORMATS["hermes"].reader((WEATHER,))
        return ChoiceReader(ThoughtReader(THOUGHTS["think"], calls, is_open=False), choice)

    async def collect() -> list[Event]:
        return [event async for event in parted(stream(events), reader)]

    return asyncio.run(collect())


def ended(events: Sequence[Event]) -> FinishReason:
    (end,) = [event for event in events if isinstance(event, Ended)]
    return end.finish


def test_reasoning_words_and_calls_are_told_apart_for_each_choice() -> None:
    events = told(
        [
            Said(f"<think>hm</think>Well. {CALL}", choice=0),
            Said("No calls", choice=1),
            Ended(0, "stop"),
            Ended(1, "stop"),
            FINISHED,
        ]
    )
    reply = asyncio.run(fold(stream(events)))
    first, second = reply.choices
    assert (first.thoughts, first.text.strip(), first.finish) == ("hm", "Well.", "tool_calls")
    assert [(call.name, call.arguments) for call in first.calls] == [("get_weather", '{"city": "Paris"}')]
    assert (second.text, second.calls, second.finish) == ("No calls", [], "stop")


def test_an_answer_that_is_cut_inside_a_call_ends_for_its_length() -> None:
    assert ended(told([Said(CALL[:60]), Ended(0, "length"), FINISHED])) == "length"


def test_a_call_that_a_stop_text_cut_is_no_complete_call() -> None:
    assert ended(told([Said(CALL[:60]), Ended(0, "stop", "\n"), FINISHED])) == "stop"


def test_names_come_once_and_before_all_arguments() -> None:
    events = told([*(Said(letter) for letter in CALL + "\n" + CALL), Ended(0, "stop"), FINISHED])
    calls = [event for event in events if isinstance(event, CallBegan | CallSaid)]
    names = [event for event in calls if isinstance(event, CallBegan)]
    assert [event.index for event in names] == [0, 1]
    assert len({event.id for event in names}) == 2
    assert isinstance(calls[0], CallBegan)
    assert [event.index for event in calls] == sorted(event.index for event in calls)
    assert not [event for event in events if isinstance(event, Said)]


def test_tokens_travel_with_the_words_that_they_made() -> None:
    pieces = [piece("<think>a"), piece("</think>"), piece("Hi"), piece(" <"), piece("b")]
    events = told([*(Said(each.piece.decode(), (each,)) for each in pieces), Ended(0, "stop"), FINISHED])
    said = [event for event in events if isinstance(event, Said)]
    assert "".join(event.text for event in said) == "Hi <b"
    carried = [each.piece for event in said for each in event.pieces]
    assert carried[-3:] == [b"Hi", b" <", b"b"]
    assert [event.text for event in events if isinstance(event, Thought)] == ["a"]
