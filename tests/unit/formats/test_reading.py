"""Parts become events: numbered calls with ids of their own, and never an empty text."""

from __future__ import annotations

from troth.domain import CallBegan, CallSaid, Event, Said, Thought
from troth.formats.reading import ChoiceReader, WordsReader
from troth.formats.registry import FORMATS
from troth.formats.thoughts import THOUGHTS, ThoughtReader

CALL = '<tool_call>{"name": "f", "arguments": {"a": 1}}</tool_call>'
TEXT = f'<think>Hm.</think>Hi.{CALL}<tool_call>{{"name": "g"}}</tool_call>'


def choice_reader() -> ChoiceReader:
    return ChoiceReader(ThoughtReader(THOUGHTS["think"], FORMATS["hermes"].reader(()), is_open=False), choice=2)


def events(text: str) -> list[Event]:
    reader = choice_reader()
    return [event for char in text for event in reader.feed(char)] + list(reader.end())


def test_parts_become_events_of_their_choice() -> None:
    reader = choice_reader()
    said = [*reader.feed(TEXT), *reader.end()]
    ids = [event.id for event in said if isinstance(event, CallBegan)]
    assert said == [
        Thought("Hm.", choice=2),
        Said("Hi.", choice=2),
        CallBegan(0, ids[0], "f", choice=2),
        CallSaid(0, '{"a": 1}', choice=2),
        CallBegan(1, ids[1], "g", choice=2),
        CallSaid(1, "{}", choice=2),
    ]
    assert reader.has_calls


def test_ids_of_calls_are_unique_and_long() -> None:
    ids = [event.id for _ in range(50) for event in events(TEXT) if isinstance(event, CallBegan)]
    assert len(set(ids)) == len(ids) == 100
    for each in ids:
        assert each.startswith("call_")
        assert len(each) == 29
        int(each.removeprefix("call_"), 16)


def test_empty_texts_are_never_events() -> None:
    for event in events(TEXT):
        assert isinstance(event, CallBegan) or (isinstance(event, Said | Thought | CallSaid) and event.text)


def test_a_call_that_was_cut_is_no_reason_to_say_that_there_are_calls() -> None:
    reader = choice_reader()
    reader.feed(TEXT[: TEXT.index("1}}")])
    reader.end()
    assert not reader.has_calls


def test_words_alone_have_no_calls() -> None:
    reader = ChoiceReader(WordsReader())
    assert [*reader.feed("<tool_call>"), *reader.feed(""), *reader.end()] == [Said("<tool_call>")]
    assert not reader.has_calls
