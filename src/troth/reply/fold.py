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


class Folding:
    """What has been said so far of all choices."""

    def __init__(self) -> None:
        self._choices: dict[int, Collected] = {}
        self._finished: Finished | None = None

    def add(self, event: Event) -> None:
        """The event is part of the answer."""
        match event:
            case Said() | Thought() | CallBegan() | CallSaid() | Ended():
                self._choices.setdefault(event.choice, Collected()).add(event)
            case Finished():
                self._finished = event

    def reply(self) -> Reply:
        """The whole answer, choices in order, once its end was added."""
        finished = self._finished
        assert finished is not None, "the events of an answer end with Finished"
        choices = [self._choices[index].whole() for index in sorted(self._choices)]
        return Reply(choices, finished.usage, finished.timings)


async def fold(events: AsyncIterator[Event]) -> Reply:
    """The whole answer that `events` tell. Raises what `events` raises."""
    folding = Folding()
    async for event in events:
        folding.add(event)
    return folding.reply()
