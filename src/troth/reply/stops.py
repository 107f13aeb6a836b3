"""Stop strings as one automaton, so that any number of them costs one pass over the text.

The automaton is Aho and Corasick's ("Efficient string matching", 1975). A stop string is met at the
character that completes it; of several that the same character completes, the longest is met. This
does not depend on how the text was cut into tokens, and no text has to be waited for to decide it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence


class StopStrings:
    """The stop strings of a request, ready to be searched for. Read-only, so choices may share it."""

    def __init__(self, stop: Sequence[str]) -> None:
        """The automaton of `stop` is built; empty strings stop nothing. Costs about 1 µs a character."""
        self.stop = tuple(stop)
        self._edges: list[dict[str, int]] = [{}]
        self._depth = [0]
        self._fallback = [0]
        self._met: list[str | None] = [None]
        words = [word for word in self.stop if word]
        for word in words:
            self._add(word)
        self._link()
        self.initials = frozenset(word[0] for word in words)

    def walk(self, state: int, text: str) -> tuple[int, int, str | None]:
        """Read `text` from `state`, up to and including the character that completes a stop string.

        Returns the new state, the characters read and the stop string met. State 0 holds nothing back.
        """
        edges, fallback, met = self._edges, self._fallback, self._met
        for index, character in enumerate(text):
            target = edges[state].get(character)
            while target is None and state:
                state = fallback[state]
                target = edges[state].get(character)
            state = target or 0
            if met[state] is not None:
                return state, index + 1, met[state]
        return state, len(text), None

    def depth(self, state: int) -> int:
        """How many characters at the end of the text read so far may still become a stop string."""
        return self._depth[state]

    def _add(self, word: str) -> None:
        state = 0
        for character in word:
            target = self._edges[state].get(character)
            if target is None:
                target = len(self._edges)
                self._edges[state][character] = target
                self._edges.append({})
                self._depth.append(self._depth[state] + 1)
                self._fallback.append(0)
                self._met.append(None)
            state = target
        self._met[state] = word

    def _link(self) -> None:
        """Every state knows the longest proper suffix of its text that is itself a state."""
        waiting = deque(self._edges[0].values())
        while waiting:
            state = waiting.popleft()
            for character, target in self._edges[state].items():
                suffix = self._fallback[state]
                while suffix and character not in self._edges[suffix]:
                    suffix = self._fallback[suffix]
                self._fallback[target] = self._edges[suffix].get(character, 0)
                waiting.append(target)
            if self._met[state] is None:
                self._met[state] = self._met[self._fallback[state]]
