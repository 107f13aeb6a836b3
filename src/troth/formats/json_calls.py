"""Families whose calls are JSON objects that hold name and arguments, behind a marker."""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass, replace

from troth.domain import Tool
from troth.formats import json_scan
from troth.formats.base import CallFormat, CallGrammar, Mark, Reader
from troth.formats.lark import INDEX, Spelling, call_grammar, spelled
from troth.formats.tape import NoCall, ScriptReader, Sink, Steps, Tape, calls_among_words

NAME_KEYS = ("name", "tool_name")
ARGUMENT_KEYS = ("arguments", "parameters")
OTHER_KEYS = ("type", "id", "index", "tool_call_id", *NAME_KEYS, *ARGUMENT_KEYS)


class _Object:
    """Reads one call, from behind its opening brace."""

    def __init__(self, tape: Tape, names: Set[str] | None) -> None:
        self._tape = tape
        self._names = names  # None: every name is one
        self._name: str | None = None
        self._early: list[str] | None = None  # arguments that came before the name
        self._is_nested = False
        self._is_complete = False

    def read(self) -> Steps[None]:
        """The call is read, with its closing brace if there is one."""
        yield from self._members()
        if self._name is None:
            raise NoCall
        self._finish()

    def _members(self) -> Steps[None]:
        tape = self._tape
        while True:
            char = yield from tape.space()
            if char == '"':
                yield from self._member()
            elif char == ",":
                tape.take(1)
            elif char == "}":
                tape.take(1)
                return
            elif self._is_complete:
                return
            else:
                raise NoCall

    def _member(self) -> Steps[None]:
        tape = self._tape
        key = yield from json_scan.short_string(tape)
        yield from tape.space()
        yield from tape.expect(":")
        char = yield from tape.space()
        if key in ARGUMENT_KEYS and not self._is_complete and self._early is None:
            yield from self._read_arguments()
        elif key in NAME_KEYS and self._name is None:
            yield from self._read_name()
        elif key == "function" and self._name is None and char == "{" and not self._is_nested:
            self._is_nested = True
            tape.take(1)
            yield from self._members()
        elif key == "function" and self._name is None:
            yield from self._read_name()
        elif self._names is not None and key not in OTHER_KEYS:
            raise NoCall
        else:
            yield from json_scan.value(tape, json_scan.ignore)

    def _read_name(self) -> Steps[None]:
        name = yield from json_scan.short_string(self._tape)
        if not name or (self._names is not None and name not in self._names):
            raise NoCall
        self._name = name
        if self._early is not None:
            self._begin()
            self._tape.arguments("".join(self._early))
            self._finish()

    def _read_arguments(self) -> Steps[None]:
        if self._name is None:
            self._early = []
            yield from arguments(self._tape, lambda: None, self._early.append)
        else:
            yield from arguments(self._tape, self._begin, self._tape.arguments)
            self._finish()

    def _begin(self) -> None:
        assert self._name is not None
        self._tape.begin_call(self._name)

    def _finish(self) -> None:
        if self._is_complete:
            return
        if not self._tape.is_inside:
            self._begin()
            self._tape.arguments("{}")
        self._is_complete = True
        self._tape.end_call()


def arguments(tape: Tape, begin: Callable[[], None], sink: Sink) -> Steps[None]:
    """Arguments are read: an object, an object's text as a string, or null for none. `begin` is called before `sink`.

    Raises NoCall before `begin` when something else stands here.
    """
    char = yield from tape.space()
    if char == "{":
        begin()
        yield from json_scan.value(tape, sink)
    elif char == '"':
        yield from _quoted_arguments(tape, begin, sink)
    elif (yield from tape.accept("null", "None")) is not None:
        begin()
        sink("{}")
    else:
        raise NoCall


def _quoted_arguments(tape: Tape, begin: Callable[[], None], sink: Sink) -> Steps[None]:
    has_begun = False

    def opened(text: str) -> None:
        nonlocal has_begun
        if not has_begun:
            text = text.lstrip()
            if not text:
                return
            if text[0] != "{":
                raise NoCall
            has_begun = True
            begin()
        sink(text)

    yield from json_scan.string(tape, opened)
    if not has_begun:
        begin()
        sink("{}")


def _keyed_object(tape: Tape) -> Steps[None]:
    """{"NAME": ARGUMENTS}, from behind the brace."""
    name = yield from json_scan.short_string(tape)
    yield from tape.space()
    yield from tape.expect(":")
    yield from arguments(tape, lambda: tape.begin_call(name), tape.arguments)
    tape.end_call()
    yield from tape.space()
    yield from tape.accept("}")


def read_objects(tape: Tape, names: Set[str] | None, *, is_keyed: bool = False) -> Steps[None]:
    """Calls are read as long as they follow each other, in a list or not. Raises NoCall when not one stands here.

    Behind the last of them, the next character is known to belong to no call.
    """
    is_list = (yield from tape.space()) == "["
    if is_list:
        tape.take(1)
        yield from tape.space()
    found: str | None = yield from tape.expect("{")
    while found == "{":
        if not tape.is_holding:
            tape.hold("{", is_sure=True)
        yield from _keyed_object(tape) if is_keyed else _Object(tape, names).read()
        found = ","
        while found in (",", ";"):
            found = yield from tape.follow(",", ";", "{", *("]" if is_list else ""))


@dataclass(frozen=True, slots=True)
class JsonCalls:
    """Objects, or a list of them, behind a trigger."""

    name: str
    spelling: Spelling
    more_triggers: tuple[str, ...] = ()  # read as well, never asked for
    ends: tuple[str, ...] = ()
    reads: str = ""  # the trigger for reading, if less is enough
    is_keyed: bool = False  # {"NAME": ARGUMENTS} instead of {"name": "NAME", "arguments": ARGUMENTS}

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that some vocabularies have as one control token."""
        return (*(() if self.reads else self.triggers), *self.ends)

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema."""
        return call_grammar(self.spelling, tools, lambda text: spelled(text, self.markers, mark), parallel=parallel)

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer. Names that no tool has are calls as well."""
        del tools

        def call(tape: Tape, trigger: str) -> Steps[None]:
            del trigger
            yield from read_objects(tape, None, is_keyed=self.is_keyed)
            while self.ends and (yield from tape.follow("}", *self.ends)) == "}":
                continue  # models close one brace too many

        return ScriptReader(calls_among_words(self.triggers, call, self.ends))

    @property
    def triggers(self) -> tuple[str, ...]:
        """What a call may stand behind."""
        return (self.reads or self.spelling.trigger, *self.more_triggers)


_TAGGED = Spelling(
    trigger="<tool_call>",
    lead="\n",
    before_name='{"name": "',
    before_arguments='", "arguments": ',
    behind="}",
    between="\n</tool_call>\n<tool_call>\n",
    after="\n</tool_call>",
)


def _listed(trigger: str, after: str = "]") -> Spelling:
    return Spelling(
        trigger=trigger,
        lead="[",
        before_name='{"name": "',
        before_arguments='", "arguments": ',
        behind="}",
        between=", ",
        after=after,
    )


HERMES = JsonCalls("hermes", _TAGGED, ends=("</tool_call>",))
GENERIC = JsonCalls("generic", _TAGGED, ends=("</tool_call>",))

JSON_FORMATS: tuple[CallFormat, ...] = (
    HERMES,
    GENERIC,
    JsonCalls("granite", _listed("<|tool_call|>"), more_triggers=("<tool_call>",), ends=("</tool_call>",)),
    JsonCalls("phi4", _listed("<|tool_call|>", "]<|/tool_call|>"), ends=("<|/tool_call|>",)),
    JsonCalls("mistral_list", _listed("[TOOL_CALLS]")),
    JsonCalls("nemotron", _listed("<TOOLCALL>", "]</TOOLCALL>"), ends=("</TOOLCALL>",)),
    JsonCalls("tool_calls_list", _listed("<tool_calls>", "]</tool_calls>"), ends=("</tool_calls>",)),
    JsonCalls(
        "minimax_m1",
        Spelling(
            trigger="<tool_calls>",
            lead="\n",
            before_name='{"name": "',
            before_arguments='", "arguments": ',
            behind="}",
            between="\n",
            after="\n</tool_calls>",
        ),
        ends=("</tool_calls>",),
    ),
    JsonCalls("functools", replace(_listed("functools["), lead=""), reads="functools"),
    JsonCalls(
        "apertus",
        Spelling(
            trigger="<|tools_prefix|>",
            lead="[",
            before_name='{"',
            before_arguments='": ',
            behind="}",
            between=", ",
            after="]<|tools_suffix|>",
        ),
        ends=("<|tools_suffix|>",),
        is_keyed=True,
    ),
    JsonCalls(
        "command_r7b",
        Spelling(
            trigger="<|START_ACTION|>",
            lead="[\n    ",
            before_name=f'{{"tool_call_id": "{INDEX}", "tool_name": "',
            before_arguments='", "parameters": ',
            behind="}",
            between=",\n    ",
            after="\n]<|END_ACTION|>",
        ),
        ends=("<|END_ACTION|>",),
    ),
    JsonCalls(
        "gigachat",
        Spelling(
            trigger="<|function_call|>",
            before_name='{"name": "',
            before_arguments='", "arguments": ',
            behind="}",
            between="<|function_call|>",
        ),
    ),
)
