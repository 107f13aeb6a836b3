"""The whole answer is the fold of the stream: one truth, two ways to send it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass, field

from troth.domain import CallBegan, CallSaid, Choice, Ended, Event, Finished, Reply, Said, Thought, ToolCall


@dataclass(slots=True)
class Collected:
    """What one choice has said so far, in pieces: joining them once is linear, adding each is not."""

    choice: Choice = field(default_factory=Choice)
    words: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    calls: list[tuple[CallBegan, list[str]]] = field(default_factory=list)

    def add(self, event: Event) -> None:
        """The event is part of the choice."""
        match event:
            case Said():
                self.words.append(event.text)
                self.choice.pieces.extend(event.pieces)
            case Thought():
                self.thoughts.append(event.text)
            case CallBegan():
                self.calls.append((event, []))
            case CallSaid():
                self.calls[event.index][1].append(event.text)
            case Ended():
                self.choice.finish, self.choice.stop_text = event.finish, event.stop_text
                self.choice.tokens = event.tokens
            case _:
                raise AssertionError(f"{event} belongs to no choice")

    def whole(self) -> Choice:
        """The choice."""
        self.choice.text = "".join(self.words)
        self.choice.thoughts = "".join(self.thoughts)
        self.choice.calls = [ToolCall(began.id, began.name, "".join(said)) for began, said in self.calls]
        return self.choice


async def fold(events: AsyncIterator[Event]) -> Reply:
    """The whole answer that `events` tell, choices in order. Raises what `events` raises."""
    choices: dict[int, Collected] = {}
    finished: Finished | None = None
    async for event in events:
        match event:
            case Said() | Thought() | CallBegan() | CallSaid() | Ended():
                choices.setdefault(event.choice, Collected()).add(event)
            case Finished():
                finished = event
            case _:
                continue
    assert finished is not None, "the events of an answer end with Finished"
    return Reply([choices[index].whole() for index in sorted(choices)], finished.usage, finished.timings)
