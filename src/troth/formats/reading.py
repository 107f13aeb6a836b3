"""How does the text of one choice become events? A reader's parts, with the numbers and ids of calls."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

from troth.domain import CallBegan, CallSaid, Event, Said, Thought
from troth.formats.base import CallArguments, CallName, Part, Reader, Thoughts, Words

ID_BYTES = 12


def new_call_id() -> str:
    """An id that no other call has."""
    return "call_" + secrets.token_hex(ID_BYTES)


class WordsReader:
    """Everything is words."""

    def feed(self, text: str) -> Sequence[Part]:
        """The text, at once."""
        return (Words(text),) if text else ()

    def end(self) -> Sequence[Part]:
        """Nothing was held back."""
        return ()

    @property
    def is_broken_off(self) -> bool:
        """There are no calls."""
        return False


class ChoiceReader:
    """Understands the text of one choice by a reader. Implements `troth.domain.PartReader`."""

    def __init__(self, reader: Reader, choice: int = 0) -> None:
        self._reader = reader
        self._choice = choice
        self._calls = 0

    def feed(self, text: str) -> Sequence[Event]:
        """What is certain after `text`; neighbours of one kind are one event."""
        return self._events(self._reader.feed(text))

    def end(self) -> Sequence[Event]:
        """The text ends here: what was held back."""
        return self._events(self._reader.end())

    @property
    def has_calls(self) -> bool:
        """A call began, and every call that began is complete. Known for sure after `end`."""
        return self._calls > 0 and not self._reader.is_broken_off

    def _events(self, parts: Sequence[Part]) -> list[Event]:
        return [self._event(part) for part in _joined(parts)]

    def _event(self, part: Part) -> Event:
        match part:
            case Words(text):
                return Said(text, choice=self._choice)
            case Thoughts(text):
                return Thought(text, choice=self._choice)
            case CallName(name):
                self._calls += 1
                return CallBegan(self._calls - 1, new_call_id(), name, choice=self._choice)
            case CallArguments(text):
                return CallSaid(self._calls - 1, text, choice=self._choice)


def _joined(parts: Sequence[Part]) -> list[Part]:
    """The same parts without empty texts, and neighbours of one kind as one."""
    joined: list[Part] = []
    for part in parts:
        if isinstance(part, CallName):
            joined.append(part)
        elif part.text and joined and type(joined[-1]) is type(part):
            before = joined.pop()
            assert not isinstance(before, CallName)
            joined.append(type(part)(before.text + part.text))
        elif part.text:
            joined.append(part)
    return joined
