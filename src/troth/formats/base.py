"""What a way of writing is: a grammar for the engine, and a reader for the answer. Both see texts, never tokens."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from troth.domain import Tool

Mark = Callable[[str], str]  # a marker's text → how a Lark grammar names it: as a literal, or as one control token


@dataclass(frozen=True, slots=True)
class Words:
    """Text that is meant for the reader."""

    text: str


@dataclass(frozen=True, slots=True)
class Thoughts:
    """Reasoning that comes before the answer."""

    text: str


@dataclass(frozen=True, slots=True)
class CallName:
    """A call begins: the whole name of the function, and no arguments yet."""

    name: str


@dataclass(frozen=True, slots=True)
class CallArguments:
    """More of the arguments of the call that began last: together they are the text of one JSON object."""

    text: str


Part = Words | Thoughts | CallName | CallArguments


class Reader(Protocol):
    """Understands the text of one answer as it comes, in pieces of any size. Time is linear in the text.

    However the text is cut, the parts say the same; markers never become words. Text that is no complete
    marker yet is held back.
    """

    def feed(self, text: str) -> Sequence[Part]:
        """What is certain after `text`."""

    def end(self) -> Sequence[Part]:
        """The text ends here: what was held back. A call that was cut stays as far as it came."""

    @property
    def is_broken_off(self) -> bool:
        """After `end`: the text ended inside a call, so that its arguments are no complete JSON."""


@dataclass(frozen=True, slots=True)
class CallGrammar:
    """How calls are written, as rules of llguidance's Lark dialect.

    `rules` defines `calls`: everything from behind the trigger to the end of the answer. `trigger` is the
    text, or the marker, that begins the first call; `opens` says that a call can only begin where the
    answer begins, so that the free text of an answer is told from a call by its first letter.

    A format whose free text has markers as well, or whose calls begin differently when they are forced, says
    by itself what a whole answer is: `forced` and `free` are then what the rule `start` stands for.
    """

    trigger: str
    rules: str
    opens: bool = False
    forced: str = ""  # an answer that is calls; "": the trigger, then `calls`
    free: str = ""  # an answer that may hold calls; "": any text, or text, the trigger and `calls`


class CallFormat(Protocol):
    """How a family of models writes calls of functions."""

    @property
    def name(self) -> str:
        """The name in the configuration and in /props."""

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that some vocabularies have as one control token; the reader needs to see them."""

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema.

        Without `parallel` there is at most one call.
        """

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer."""


@runtime_checkable
class Frames(Protocol):
    """A way of writing in which the words of an answer stand between markers of their own."""

    def framed(self, form: str, mark: Mark, *, thinks: bool, calls: bool) -> tuple[str, str]:
        """What a whole answer is whose words are the symbol `form`, and the rules for it.

        With `thinks` reasoning may come first; with `calls` the rules of `CallFormat.grammar` are there already,
        and the answer may be calls instead.
        """
