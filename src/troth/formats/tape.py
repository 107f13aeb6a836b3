"""How does a reader wait for text? A tape takes the pieces; a script reads it as if all of it were there.

A script is a generator that stops where it needs more text, so that each format is written as one straight
description and still works on pieces of any size. What was read but not yet understood is held, and is
given back as words if it turns out to be no call. It refuses to know any format.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Protocol, TypeVar

from troth.formats.base import CallArguments, CallName, Part, Thoughts, Words

T = TypeVar("T")
Steps = Generator[None, None, T]  # stops where it needs more text
Sink = Callable[[str], None]
SPACE = " \t\r\n"
WINDOW = 512  # characters that are looked at together


class NoCall(Exception):
    """What is held is no call after all."""


class Cut(Exception):
    """The text ended where more of it was needed."""


class Script(Protocol):
    """Reads a whole answer from a tape. Ends only by Cut, where the text ends."""

    def __call__(self, tape: Tape) -> Steps[None]:
        """Stops where it needs more text."""


class Tape:
    """The text of one answer: what came and was not yet read, what is held, and the parts that are certain."""

    def __init__(self) -> None:
        self._text = ""
        self._at = 0
        self._is_over = False
        self._held: list[str] | None = None
        self._spaces: list[str] = []  # behind words: dropped if a call follows
        self._parts: list[Part] = []
        self._is_behind_call = False
        self._is_sure = False  # what is held can only be a call: it does not become words when the text ends
        self.has_calls = False
        self.is_inside = False  # a call began, and its arguments are not complete

    # ---- from outside ---------------------------------------------------------------------------

    def add(self, text: str) -> None:
        """There is more to read. Costs no more than the new text and what could be the start of a marker."""
        self._text = self._text[self._at :] + text
        self._at = 0

    def take_parts(self) -> Sequence[Part]:
        """What became certain since the last time."""
        parts, self._parts = self._parts, []
        return parts

    def close(self) -> None:
        """No text comes any more; whoever waits is cut off."""
        self._is_over = True

    def settle(self) -> bool:
        """Nothing is held any more; true if the text ended inside a call."""
        is_cut_head = self._held is not None and self._is_sure
        if not is_cut_head:
            self.give_back()
            if not self._is_behind_call:
                self.words(self.unread)
        if not self._is_behind_call:
            self._parts += [Words(text) for text in self._spaces]
        self._held = None
        self._spaces.clear()
        return self.is_inside or is_cut_head

    @property
    def unread(self) -> str:
        """What no script has read: at the end, what could have been the beginning of a marker."""
        return self._text[self._at :]

    # ---- what a script reads --------------------------------------------------------------------

    def rest(self) -> Steps[str]:
        """The next text that is there, at least one character of it; nothing is read by it."""
        while self._at >= len(self._text):
            if self._is_over:
                raise Cut
            yield
        return self._text[self._at : self._at + WINDOW]

    def take(self, count: int) -> str:
        """The next characters, which are now read."""
        text = self._text[self._at : self._at + count]
        self._at += len(text)
        if self._held is not None:
            self._held.append(text)
        return text

    def peek(self) -> Steps[str]:
        """The next character, which is not read by it."""
        while self._at >= len(self._text):
            if self._is_over:
                raise Cut
            yield
        return self._text[self._at]

    def accept(self, *texts: str) -> Steps[str | None]:
        """The longest of the texts that stands here, which is now read; None when none does.

        Raises Cut when the text ends within the only one that it could be.
        """
        while True:
            left = self._text[self._at : self._at + max(map(len, texts))]
            found = max((text for text in texts if left.startswith(text)), key=len, default=None)
            if not any(len(text) > len(left) and text.startswith(left) for text in texts):
                break
            if self._is_over:
                raise Cut
            yield
        if found is not None:
            self.take(len(found))
        return found

    def expect(self, *texts: str) -> Steps[str]:
        """One of the texts, which is now read. Raises NoCall when something else stands here."""
        found = yield from self.accept(*texts)
        if found is None:
            raise NoCall
        return found

    def space(self) -> Steps[str]:
        """White space is read, if there is any. Returns the first character behind it."""
        while (yield from self.peek()) in SPACE:
            self.take(1)
        return self._text[self._at]

    def follow(self, *texts: str) -> Steps[str | None]:
        """One of the texts behind a call, perhaps after white space, is read; None when something else follows.

        Then the white space belongs to the words that follow.
        """
        spaces: list[str] = []
        while (yield from self.peek()) in SPACE:
            spaces.append(self.take(1))
        found = yield from self.accept(*texts)
        if found is None:
            self.words("".join(spaces))
        return found

    def until(self, markers: Sequence[str], sink: Sink) -> Steps[str]:
        """Everything before the first of the markers went to `sink`, and the marker is read."""
        while True:
            yield from self.peek()
            found = first_of(markers, self._text, self._at)
            if found is not None:
                place, marker = found
                if place > self._at:
                    sink(self.take(place - self._at))
                return self.take(len(marker))
            certain = len(self._text) - open_end(self._text, self._at, markers)
            if certain > self._at:
                sink(self.take(certain - self._at))
            if self._at < len(self._text):
                if self._is_over:
                    raise Cut
                yield

    def name(self, ends: Sequence[str], most: int = 256) -> Steps[tuple[str, str]]:
        """A short text and the marker behind it. Raises NoCall when it grows longer than `most` characters."""
        texts: list[str] = []

        def sink(text: str) -> None:
            texts.append(text)
            if sum(map(len, texts)) > most:
                raise NoCall

        end = yield from self.until(ends, sink)
        return "".join(texts), end

    # ---- what a script says ---------------------------------------------------------------------

    def hold(self, text: str, *, is_sure: bool) -> None:
        """From `text` on, which was just read, everything read is held."""
        self._held = [text]
        self._is_sure = is_sure

    @property
    def is_holding(self) -> bool:
        """Something that was read is not yet understood."""
        return self._held is not None

    def commit(self) -> None:
        """What is held was understood and is never words."""
        self._held = None

    def give_back(self) -> None:
        """What is held is words."""
        held, self._held = self._held, None
        if held:
            self.words("".join(held))

    def words(self, text: str) -> None:
        """Text for the reader; white space at its end waits for what comes next."""
        body = text.rstrip()
        if body:
            self._parts.append(Words("".join(self._spaces) + body))
            self._spaces.clear()
            self._is_behind_call = False
        if len(body) < len(text):
            self._spaces.append(text[len(body) :])

    def thoughts(self, text: str) -> None:
        """Reasoning."""
        self._parts.append(Thoughts(text))

    def begin_call(self, name: str) -> None:
        """A call begins: what was held is understood."""
        self.commit()
        self._spaces.clear()
        self.has_calls = self.is_inside = self._is_behind_call = True
        self._parts.append(CallName(name))

    def arguments(self, text: str) -> None:
        """More of the arguments of the call."""
        if text:
            self._parts.append(CallArguments(text))

    def end_call(self) -> None:
        """The arguments of the call are complete."""
        self.is_inside = False


def first_of(markers: Sequence[str], text: str, start: int) -> tuple[int, str] | None:
    """Where the first of the markers stands behind `start`, and which it is: the longest, if several stand there.

    Looks no further than a window beyond it, so that many markers in one long text cost no more than the text.
    """
    while start < len(text):
        stop = min(start + WINDOW, len(text))
        places = ((text.find(marker, start, stop + len(marker) - 1), marker) for marker in markers)
        found = [each for each in places if each[0] >= 0]
        if found:
            return min(found, key=lambda each: (each[0], -len(each[1])))
        start = stop
    return None


def open_end(text: str, start: int, markers: Sequence[str]) -> int:
    """How many characters at the end of `text` could be the beginning of a marker."""
    most = min(max(map(len, markers)) - 1, len(text) - start)
    for count in range(most, 0, -1):
        tail = text[len(text) - count :]
        if any(marker.startswith(tail) for marker in markers):
            return count
    return 0


class ScriptReader:
    """Reads an answer by a script."""

    def __init__(self, script: Script) -> None:
        self._tape = Tape()
        self._steps = script(self._tape)
        self._is_broken_off = False
        self._is_over = False

    def feed(self, text: str) -> Sequence[Part]:
        """What is certain after `text`."""
        assert not self._is_over
        self._tape.add(text)
        next(self._steps)
        return self._tape.take_parts()

    def end(self) -> Sequence[Part]:
        """The text ends here: what was held back."""
        if not self._is_over:
            self._is_over = True
            self._tape.close()
            try:
                next(self._steps)
            except Cut:
                self._is_broken_off = self._tape.settle()
        return self._tape.take_parts()

    @property
    def is_broken_off(self) -> bool:
        """After `end`: the text ended inside a call."""
        return self._is_broken_off


Call = Callable[[Tape, str], Steps[None]]  # reads what stands behind a trigger: one call, or several


def calls_among_words(triggers: Sequence[str], call: Call, ends: Sequence[str] = (), *, is_sure: bool = True) -> Script:
    """A script for answers in which every call stands behind one of the triggers, and all else is words.

    `ends` are markers that close calls: left over behind a call, they are not words.
    """

    def script(tape: Tape) -> Steps[None]:
        while True:
            marker = yield from tape.until((*triggers, *(ends if tape.has_calls else ())), tape.words)
            if marker not in triggers:
                continue
            tape.hold(marker, is_sure=is_sure)
            try:
                yield from call(tape, marker)
            except NoCall:
                tape.give_back()

    return script
