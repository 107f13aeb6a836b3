"""Content is data: what a client says never becomes a control token, whatever the template does with it.

Before rendering, each place where client text spells a control text gets an invisible break after its first
character. After rendering, the text is cut at the breaks and the parts are tokenised one by one: no part
holds the spelling any more, and text without such a spelling has no breaks, so it is tokenised exactly as
if nothing had been done. Breaks are Unicode noncharacters; those that a client sends are quoted themselves.
"""

from __future__ import annotations

import re
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import groupby
from typing import Any

from troth.errors import BadRequest

NONCHARACTERS = [chr(code) for code in range(0xFDD0, 0xFDF0)]
DEPTH_MAX = 64  # of lists and objects inside a template variable; Python's own stack ends near 1000


class Quotation:
    """How client text is quoted for one vocabulary. Immutable; may be used from any thread."""

    def __init__(self, control_texts: Iterable[str]) -> None:
        # Drawn per process, so that no template file and no client can count on them.
        self._break, self._literal = secrets.SystemRandom().sample(NONCHARACTERS, 2)
        controls = sorted({text for text in control_texts if text}, key=lambda text: (-len(text), text))
        long = [text for text in controls if len(text) > 1]
        self._long = tuple(long)
        self._singles = frozenset(text for text in controls if len(text) == 1) | {self._break, self._literal}
        self._control = re.compile("|".join(map(re.escape, long)) or r"(?!)")
        self._first = re.compile(_first_characters(long, self._singles))
        self._cut = re.compile(f"{self._break}|{self._literal}(.)", re.DOTALL)
        self._heads = _by_edge((text[start:] for text in long for start in range(1, len(text))), 0)
        self._tails = _by_edge((text[:end] for text in long for end in range(1, len(text))), -1)

    def quote(self, text: str) -> str:
        """The text, with a break inside every control text and one-character control texts made literal."""
        return self._first.sub(self._mark, text)

    def enclose(self, text: str) -> str:
        """The quoted text, cut off from whatever the template writes before and after it."""
        return f"{self._break}{self.quote(text)}{self._break}" if text else text

    def parts(self, rendered: str) -> Iterator[tuple[str, bool]]:
        """The parts of a rendered text, in order, each with whether control texts in it are control tokens."""
        for position, part in enumerate(self._cut.split(rendered)):
            if part:
                yield part, position % 2 == 0

    def plain(self, rendered: str) -> str:
        """The rendered text as it would have been without quoting."""
        return "".join(part for part, _ in self.parts(rendered))

    def control_count(self, rendered: str) -> int:
        """How many control texts of two or more characters are left in the parts of a rendered text."""
        return sum(len(self._control.findall(part)) for part, _ in self.parts(rendered))

    def may_complete(self, text: str) -> bool:
        """True when this client text could spell a control text together with what a template puts next to it.

        A template that writes '<|' + name + '|>' turns the harmless name 'im_end' into a control text.
        """
        core = text.strip()
        if not core:
            return False
        if core.startswith(self._heads.get(core[0], ())) or core.endswith(self._tails.get(core[-1], ())):
            return True
        return any(core in control for control in self._long)

    def _mark(self, match: re.Match[str]) -> str:
        first = match.group()
        return self._literal + first if first in self._singles else first + self._break


def each_text(
    value: Any,
    change: Callable[[str], str],
    change_key: Callable[[str], str],
    depth: int = 0,
    path: str = "chat_template_kwargs",
) -> Any:
    """A fresh copy of JSON data in which every text went through `change` and every object key through `change_key`.

    Raises: BadRequest when lists and objects are nested deeper than a template could use.
    """
    if isinstance(value, str):
        return change(value)
    if depth > DEPTH_MAX:
        raise BadRequest(f"`{path}` is nested deeper than {DEPTH_MAX} levels.", param=path)
    if isinstance(value, Mapping):
        return {change_key(key): each_text(entry, change, change_key, depth + 1, path) for key, entry in value.items()}
    if isinstance(value, list | tuple):
        return [each_text(entry, change, change_key, depth + 1, path) for entry in value]
    return value


def _first_characters(long: list[str], singles: frozenset[str]) -> str:
    """A pattern that meets the first character of every occurrence, overlapping ones included.

    It consumes one character and looks ahead for the rest, grouped by the first, so that the scan skips
    from one possible start to the next at the speed of a plain search.
    """
    branches = [re.escape(text) for text in sorted(singles)]
    for first, group in groupby(sorted(long), key=lambda text: text[0]):
        rest = "|".join(re.escape(text[1:]) for text in group)
        branches.append(f"{re.escape(first)}(?={rest})")
    return "|".join(branches)


def _by_edge(texts: Iterable[str], edge: int) -> dict[str, tuple[str, ...]]:
    """The distinct texts, grouped by their character at index `edge`."""
    groups: dict[str, set[str]] = defaultdict(set)
    for text in texts:
        groups[text[edge]].add(text)
    return {character: tuple(group) for character, group in groups.items()}
