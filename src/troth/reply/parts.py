"""What a text is made of: words, thoughts and calls, told apart while the text comes."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import replace

from troth.domain import CallSaid, Ended, Event, PartReader, Piece, ReaderFactory, Said, Thought


class Parted:
    """Reads the text of one choice. Tokens that were asked for travel with the words that they made."""

    def __init__(self, reader: PartReader) -> None:
        self._reader = reader
        self._waiting: tuple[Piece, ...] = ()  # of text that is held back

    def feed(self, said: Said) -> Iterator[Event]:
        """The events that the text makes certain."""
        events = self._reader.feed(said.text)
        pieces = self._waiting + said.pieces
        self._waiting = () if events else pieces
        yield from self._told(events, pieces, said)

    def end(self, ended: Ended) -> Iterator[Event]:
        """What was held back, and the end; an answer that ends with calls says so."""
        yield from self._told(self._reader.end(), self._waiting, None)
        calls = ended.finish == "stop" and self._reader.has_calls
        yield replace(ended, finish="tool_calls") if calls else ended

    @staticmethod
    def _told(events: Sequence[Event], pieces: tuple[Piece, ...], said: Said | None) -> Iterator[Event]:
        for number, event in enumerate(events):
            is_last = number == len(events) - 1
            if (
                is_last
                and said is not None
                and said.timings is not None
                and isinstance(event, Said | Thought | CallSaid)
            ):
                event = replace(event, timings=said.timings)
            if is_last and pieces and isinstance(event, Said):
                event = replace(event, pieces=pieces)
            yield event


async def parted(events: AsyncIterator[Event], readers: ReaderFactory) -> AsyncIterator[Event]:
    """The events, with the text of each choice told apart. Raises what `events` raises."""
    choices: dict[int, Parted] = {}
    async for event in events:
        match event:
            case Said():
                if event.choice not in choices:
                    choices[event.choice] = Parted(readers(event.choice))
                for told in choices[event.choice].feed(event):
                    yield told
            case Ended() if event.choice in choices:
                for told in choices[event.choice].end(event):
                    yield told
            case _:
                yield event
