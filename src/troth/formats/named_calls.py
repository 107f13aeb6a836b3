"""Families that write the name of a function between markers, and its arguments as JSON behind it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from troth.domain import Tool
from troth.formats.base import CallFormat, CallGrammar, Mark, Reader
from troth.formats.json_calls import arguments, read_objects
from troth.formats.lark import INDEX, Spelling, call_grammar, spelled
from troth.formats.tape import NoCall, ScriptReader, Steps, Tape, calls_among_words

Head = Callable[[Tape], Steps[str]]  # reads everything before the arguments, and returns the name


def is_name(text: str) -> bool:
    """Whether a text can be the name of a function."""
    return bool(text) and not any(char.isspace() or char in "{}[]<>\"'" for char in text)


def _until(end: str) -> Head:
    def head(tape: Tape) -> Steps[str]:
        name, _ = yield from tape.name((end,))
        return name.strip()

    return head


def _mistral_head(tape: Tape) -> Steps[str]:
    """NAME[ARGS], or NAME[CALL_ID]ID[ARGS]."""
    name, end = yield from tape.name(("[ARGS]", "[CALL_ID]"))
    if end == "[CALL_ID]":
        yield from tape.name(("[ARGS]",))
    return name.strip()


def _deepseek_head(tape: Tape) -> Steps[str]:
    """NAME, a separator and JSON (V3.1); or a kind, a separator, NAME, and JSON in a fence (R1, V3)."""
    name, _ = yield from tape.name((_SEPARATOR,))
    if (yield from tape.space()) not in '{"':
        name, _ = yield from tape.name(("\n",))
        yield from tape.space()
        yield from tape.accept("```json", "```")
    return name.strip()


def _kimi_head(tape: Tape) -> Steps[str]:
    """functions.NAME:NUMBER; some leave one or the other out."""
    text, _ = yield from tape.name(("<|tool_call_argument_begin|>",))
    name = text.strip().removeprefix("functions.")
    before, colon, number = name.rpartition(":")
    return before if colon and number.isdecimal() else name


def _solar_head(tape: Tape) -> Steps[str]:
    """ID, a marker, NAME, a marker."""
    yield from tape.name(("<|tool_call:name|>",))
    name, _ = yield from tape.name(("<|tool_call:args|>",))
    return name.strip()


@dataclass(frozen=True, slots=True)
class NamedCalls:
    """Calls that begin with one of the markers `begins`, perhaps inside of a section."""

    name: str
    spelling: Spelling
    head: Head
    begins: tuple[str, ...]
    sections: tuple[str, ...] = ()  # markers in front of the first call
    ends: tuple[str, ...] = ()  # markers behind calls
    inner_markers: tuple[str, ...] = ()
    fence: str = ""  # closes what the head has opened

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that some vocabularies have as one control token."""
        return (*self.sections, *self.begins, *self.inner_markers, *self.ends)

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema."""
        return call_grammar(self.spelling, tools, lambda text: spelled(text, self.markers, mark), parallel=parallel)

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer. Names that no tool has are calls as well."""
        del tools
        return ScriptReader(calls_among_words((*self.sections, *self.begins), self._calls, self.ends))

    def _calls(self, tape: Tape, trigger: str) -> Steps[None]:
        if trigger in self.sections:
            yield from tape.space()
            yield from tape.expect(*self.begins)
        while True:
            yield from self._call(tape)
            if not (yield from self._another(tape)):
                return

    def _call(self, tape: Tape) -> Steps[None]:
        if (yield from tape.space()) in "[{":
            yield from read_objects(tape, None)
            return
        name = yield from self.head(tape)
        if not is_name(name):
            raise NoCall
        yield from arguments(tape, lambda: tape.begin_call(name), tape.arguments)
        tape.end_call()

    def _another(self, tape: Tape) -> Steps[bool]:
        """What closes the call is read. True when another call began behind it."""
        fence = (self.fence,) if self.fence else ()
        while True:
            found = yield from tape.follow(*self.begins, *self.ends, *fence)
            if found is None:
                return False
            if found in self.begins:
                tape.hold(found, is_sure=True)
                return True


_SEPARATOR = "<｜tool▁sep｜>"
_DEEPSEEK_SECTIONS = (
    "<｜tool▁calls▁begin｜>",
    "<｜tool_calls_begin｜>",
    "<｜tool calls begin｜>",
    "<｜tool\\_calls\\_begin｜>",
)
_DEEPSEEK_ENDS = ("<｜tool▁call▁end｜>", "<｜tool▁calls▁end｜>")


def _deepseek(name: str, before_name: str, before_arguments: str, behind: str, between: str) -> NamedCalls:
    return NamedCalls(
        name,
        Spelling(
            trigger="<｜tool▁calls▁begin｜>",
            lead="<｜tool▁call▁begin｜>" + before_name,
            before_arguments=before_arguments,
            behind=behind + "<｜tool▁call▁end｜>",
            between=between + "<｜tool▁call▁begin｜>" + before_name,
            after="<｜tool▁calls▁end｜>",
        ),
        _deepseek_head,
        begins=("<｜tool▁call▁begin｜>",),
        sections=_DEEPSEEK_SECTIONS,
        ends=_DEEPSEEK_ENDS,
        inner_markers=(_SEPARATOR,),
        fence="```",
    )


NAMED_FORMATS: tuple[CallFormat, ...] = (
    NamedCalls(
        "mistral",
        Spelling(trigger="[TOOL_CALLS]", before_arguments="[ARGS]", between="[TOOL_CALLS]"),
        _mistral_head,
        begins=("[TOOL_CALLS]",),
        inner_markers=("[ARGS]", "[CALL_ID]"),
    ),
    _deepseek("deepseek_v3", f"function{_SEPARATOR}", "\n```json\n", "\n```", "\n"),
    _deepseek("deepseek_v31", "", _SEPARATOR, "", ""),
    NamedCalls(
        "kimi_k2",
        Spelling(
            trigger="<|tool_calls_section_begin|>",
            lead="<|tool_call_begin|>functions.",
            before_arguments=f":{INDEX}<|tool_call_argument_begin|>",
            behind="<|tool_call_end|>",
            between="<|tool_call_begin|>functions.",
            after="<|tool_calls_section_end|>",
        ),
        _kimi_head,
        begins=("<|tool_call_begin|>",),
        sections=("<|tool_calls_section_begin|>",),
        ends=("<|tool_call_end|>", "<|tool_calls_section_end|>"),
        inner_markers=("<|tool_call_argument_begin|>",),
    ),
    NamedCalls(
        "functionary_v31",
        Spelling(trigger="<function=", before_arguments=">", behind="</function>", between="<function="),
        _until(">"),
        begins=("<function=",),
        ends=("</function>",),
    ),
    NamedCalls(
        "solar",
        Spelling(
            trigger="<|tool_calls|>",
            lead="<|tool_call:begin|>call_",
            before_name=f"{INDEX}<|tool_call:name|>",
            before_arguments="<|tool_call:args|>",
            behind="<|tool_call:end|>",
            between="<|tool_call:begin|>call_",
            after="<|calls|>",
        ),
        _solar_head,
        begins=("<|tool_call:begin|>",),
        sections=("<|tool_calls|>",),
        ends=("<|tool_call:end|>", "<|calls|>"),
        inner_markers=("<|tool_call:name|>", "<|tool_call:args|>"),
    ),
)
