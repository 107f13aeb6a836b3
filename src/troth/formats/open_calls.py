"""Calls without a marker of their own: where an answer begins, in a fence of code, or behind a recipient's name.

Such text is a call only when it names a function that there is; everything else that looks like it is words.
"""

from __future__ import annotations

from collections.abc import Sequence, Set
from dataclasses import dataclass

from troth.domain import Tool
from troth.formats.base import CallFormat, CallGrammar, Mark, Reader
from troth.formats.json_calls import arguments, read_objects
from troth.formats.lark import Spelling, call_grammar, spelled
from troth.formats.tape import NoCall, ScriptReader, Steps, Tape, calls_among_words

FENCES = ("```",)
LANGUAGES = ("json", "tool_call", "tool_code")  # that a fence may name
TAGS = ("<|python_tag|>", "<tool_call>", "<function_call>", "<tool_calls>")
ENDS = ("</tool_call>", "</function_call>", "</tool_calls>", "<|eom_id|>")


@dataclass(frozen=True, slots=True)
class OpenCalls:
    """Objects of JSON where the answer begins, and behind some markers anywhere."""

    name: str
    spelling: Spelling
    triggers: tuple[str, ...]
    fences: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()
    is_open: bool = True

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that some vocabularies have as one control token."""
        return tuple(text for text in (*self.triggers, *self.ends) if text not in FENCES)

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema."""
        grammar = call_grammar(self.spelling, tools, lambda text: spelled(text, self.markers, mark), parallel=parallel)
        return CallGrammar(grammar.trigger, grammar.rules, opens=self.is_open)

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer."""
        return ScriptReader(lambda tape: self._script(tape, {tool.name for tool in tools}))

    def _script(self, tape: Tape, names: Set[str]) -> Steps[None]:
        def call(tape: Tape, trigger: str) -> Steps[None]:
            is_fenced = trigger in self.fences
            if is_fenced:
                yield from tape.accept(*LANGUAGES)
            yield from read_objects(tape, names)
            closers = (*self.ends, *(("```",) if is_fenced else ()))
            if closers:
                yield from tape.follow(*closers)

        if self.is_open:
            tape.hold("", is_sure=False)
            try:
                yield from read_objects(tape, names)
            except NoCall:
                tape.give_back()
        yield from calls_among_words((*self.triggers, *self.fences), call, self.ends, is_sure=not self.is_open)(tape)


def _bare(argument_key: str) -> Spelling:
    return Spelling(
        trigger="{",
        lead='"name": "',
        before_arguments=f'", "{argument_key}": ',
        behind="}",
        between='\n{"name": "',
    )


LLAMA3 = OpenCalls("llama3", _bare("parameters"), triggers=("<|python_tag|>",), ends=("<|eom_id|>",))
JSON = OpenCalls("json", _bare("arguments"), triggers=TAGS, fences=FENCES, ends=ENDS)
COMMAND_R_PLUS = OpenCalls(
    "command_r_plus",
    Spelling(
        trigger="Action:\n```json\n[",
        lead="\n    ",
        before_name='{\n        "tool_name": "',
        before_arguments='",\n        "parameters": ',
        behind="\n    }",
        between=",\n    ",
        after="\n]```",
    ),
    triggers=(),
    fences=("Action:\n```json", "Action: ```json", "Action:```json"),
    is_open=False,
)


@dataclass(frozen=True, slots=True)
class Recipients:
    """functionary 3.2: `>>>all` and a line end before words, `>>>NAME` and a line end before arguments.

    The first `>>>` stands in the prompt.
    """

    name: str = "functionary_v32"
    arrows: str = ">>>"

    @property
    def markers(self) -> tuple[str, ...]:
        """It has none that is a control token."""
        return ()

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema."""
        spelling = Spelling(trigger=self.arrows, before_arguments="\n", between=self.arrows)
        grammar = call_grammar(spelling, tools, lambda text: spelled(text, (), mark), parallel=parallel)
        more = 'said[lazy]: /all\\n(.|\\n)*/ ">>>"\nSAID: /all\\n(.|\\n)*/\n'
        return CallGrammar(grammar.trigger, grammar.rules + more, forced="calls", free="SAID | said calls | calls")

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer."""
        return ScriptReader(lambda tape: self._script(tape, {tool.name for tool in tools}))

    def _script(self, tape: Tape, names: Set[str]) -> Steps[None]:
        arrows = (yield from tape.accept(self.arrows)) or ""
        tape.hold(arrows, is_sure=False)
        while True:
            try:
                yield from self._message(tape, names)
            except NoCall:
                tape.give_back()
            yield from tape.until((self.arrows,), tape.words)
            tape.hold(self.arrows, is_sure=True)

    def _message(self, tape: Tape, names: Set[str]) -> Steps[None]:
        recipient, _ = yield from tape.name(("\n",))
        if recipient.strip() == "all":
            tape.commit()
        elif recipient.strip() in names:
            yield from arguments(tape, lambda: tape.begin_call(recipient.strip()), tape.arguments)
            tape.end_call()
        else:
            raise NoCall


OPEN_FORMATS: tuple[CallFormat, ...] = (LLAMA3, JSON, COMMAND_R_PLUS, Recipients())
