"""Families that write every argument between tags, and strings as they are. Read, they become JSON at once."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from troth.domain import Tool
from troth.formats.base import CallFormat, CallGrammar, Mark, Reader
from troth.formats.json_calls import read_objects
from troth.formats.lark import Spelling, call_grammar, json_value, literal, spelled, text_before
from troth.formats.named_calls import is_name
from troth.formats.schemas import EVERYTHING, as_json, kinds, property_schema, resolved
from troth.formats.tape import NoCall, ScriptReader, Sink, Steps, Tape, calls_among_words


@dataclass(frozen=True, slots=True)
class Tags:
    """How one argument is written: begin KEY key_end gap value_begin VALUE end behind."""

    begin: str
    key_end: str
    end: str
    padding: str = ""  # one of it, on either side of the value, is not of the value
    value_begin: str = ""
    gap: str = ""
    behind: str = ""  # white space, as models write it
    says_kind: bool = False  # an attribute behind the key says whether the value is a string


@dataclass(frozen=True, slots=True)
class XmlCalls:
    """Calls that begin with `begin` and a name, inside of a section or not."""

    name: str
    spelling: Spelling
    tags: Tags
    begin: str  # before a name
    name_ends: tuple[str, ...]  # behind it; the first argument, or the end of the call, may stand there at once
    call_end: str
    sections: tuple[str, ...] = ()
    ends: tuple[str, ...] = ()

    @property
    def markers(self) -> tuple[str, ...]:
        """Texts that some vocabularies have as one control token."""
        tags = (self.tags.begin, self.tags.key_end, self.tags.value_begin, self.tags.end)
        every = (*self.sections, *self.ends, self.begin, *self.name_ends, self.call_end, *tags)
        return tuple(dict.fromkeys(text for text in every if text.startswith("<") and text.endswith(">")))

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema.

        Of a raw string, a fixed set of values is held, and no other keyword.
        """

        def spell(text: str) -> str:
            return spelled(text, self.markers, mark)

        def arguments(number: int, tool: Tool) -> tuple[str, str]:
            return _arguments_rules(self, number, tool, spell)

        return call_grammar(self.spelling, tools, spell, arguments, parallel=parallel)

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer. Names that no tool has are calls as well."""
        schemas = {tool.name: tool.parameters for tool in tools}
        triggers = tuple(dict.fromkeys((*self.sections, self.begin)))

        def calls(tape: Tape, trigger: str) -> Steps[None]:
            yield from _Calls(self, tape, schemas).read(trigger)

        return ScriptReader(calls_among_words(triggers, calls, (*self.ends, self.call_end)))


class _Calls:
    """Reads the calls behind one trigger."""

    def __init__(self, syntax: XmlCalls, tape: Tape, schemas: Mapping[str, Mapping[str, Any]]) -> None:
        self._syntax = syntax
        self._tape = tape
        self._schemas = schemas

    def read(self, trigger: str) -> Steps[None]:
        syntax, tape = self._syntax, self._tape
        if (yield from tape.space()) in "[{":
            yield from read_objects(tape, None)
            yield from self._closers()
            return
        if trigger != syntax.begin:
            yield from tape.expect(syntax.begin)
        while True:
            yield from self._call()
            if not (yield from self._closers()):
                return

    def _closers(self) -> Steps[bool]:
        """What closes the call is read. True when another call began behind it."""
        syntax, tape = self._syntax, self._tape
        while True:
            found = yield from tape.follow(syntax.call_end, *syntax.ends, syntax.begin)
            if found is None:
                return False
            if found == syntax.begin:
                tape.hold(found, is_sure=True)
                return True

    def _call(self) -> Steps[None]:
        syntax, tape = self._syntax, self._tape
        yield from tape.space()
        text, end = yield from tape.name((*syntax.name_ends, syntax.tags.begin, syntax.call_end))
        name = text.strip().strip("\"'")
        if not is_name(name):
            raise NoCall
        tape.begin_call(name)
        tape.arguments("{")
        parameters = self._schemas.get(name, {})
        is_first = True
        while end != syntax.call_end:
            if end != syntax.tags.begin:
                yield from tape.space()
                found = yield from tape.accept(syntax.tags.begin, syntax.call_end, *syntax.ends)
                if found != syntax.tags.begin:
                    break
            yield from self._argument(parameters, is_first=is_first)
            is_first, end = False, ""
        tape.arguments("}")
        tape.end_call()

    def _argument(self, parameters: Mapping[str, Any], *, is_first: bool) -> Steps[None]:
        tags, tape = self._syntax.tags, self._tape
        texts: list[str] = []
        yield from tape.until((tags.key_end,), texts.append)
        key = "".join(texts).strip().strip("\"'")
        allowed = kinds(property_schema(parameters, key), parameters)
        if tags.says_kind:
            attributes: list[str] = []
            yield from tape.until((">",), attributes.append)
            allowed = frozenset({"string"}) if "true" in "".join(attributes) else EVERYTHING
        if tags.value_begin:
            yield from tape.space()
            yield from tape.accept(tags.value_begin)
        tape.arguments(("" if is_first else ", ") + json.dumps(key, ensure_ascii=False) + ": ")
        if allowed == {"string"}:
            tape.arguments('"')
            yield from self._value(lambda text: tape.arguments(json.dumps(text, ensure_ascii=False)[1:-1]))
            tape.arguments('"')
            return
        raw: list[str] = []
        yield from self._value(raw.append)
        tape.arguments(as_json("".join(raw), allowed))

    def _value(self, sink: Sink) -> Steps[None]:
        """The text between the tags, without the padding, went to `sink`."""
        tags, tape = self._syntax.tags, self._tape
        if not tags.padding:
            yield from tape.until((tags.end,), sink)
            return
        yield from tape.accept(tags.padding)
        pending: list[str] = []  # a padding that is of the value, unless the end follows

        def without_last_padding(text: str) -> None:
            text = "".join(pending) + text
            pending.clear()
            if text.endswith(tags.padding):
                pending.append(tags.padding)
                text = text[: -len(tags.padding)]
            if text:
                sink(text)

        yield from tape.until((tags.end,), without_last_padding)


def _arguments_rules(syntax: XmlCalls, number: int, tool: Tool, spell: Callable[[str], str]) -> tuple[str, str]:
    """The symbols for the arguments of a tool, and their rules: one for each, in the order of the schema."""
    parameters = tool.parameters
    properties = parameters.get("properties")
    required = parameters.get("required") or ()
    symbols: list[str] = []
    lines: list[str] = []
    for place, key in enumerate(properties if isinstance(properties, Mapping) else ()):
        rule = f"arg_{number}_{place}"
        lines += _argument_rules(syntax.tags, rule, key, parameters, spell)
        symbols.append(rule if key in required else f"{rule}?")
    return " ".join(symbols), "\n".join(lines)


def _argument_rules(
    tags: Tags, rule: str, key: str, parameters: Mapping[str, Any], spell: Callable[[str], str]
) -> list[str]:
    schema = resolved(property_schema(parameters, key), parameters)
    is_string = "string" in kinds(schema, parameters)  # written as it is; what else it may be is written like it
    key_end = tags.key_end
    if tags.says_kind:
        key_end += f' string="{"true" if is_string else "false"}">'
    begin = f"{spell(tags.begin)} {literal(key)} {spell(key_end + tags.gap + tags.value_begin + tags.padding)}"
    end = spell(tags.padding + tags.end)
    behind = spell(tags.behind)
    fixed = _fixed(schema) if is_string else None
    if fixed:
        return [f"{rule}: {begin} ({' | '.join(literal(each) for each in fixed)}) {end} {behind}"]
    if not is_string:
        return [f"{rule}: {begin} {json_value(schema, parameters)} {end} {behind}"]
    text, rules = text_before(tags.end, f"{rule}_text", spell, tags.padding)
    return [f"{rule}: {begin} {text} {behind}", rules]


def _fixed(schema: Any) -> list[str] | None:
    """The only texts that a value may be; None when there are others."""
    if not isinstance(schema, Mapping):
        return None
    values = [schema["const"]] if "const" in schema else schema.get("enum")
    if not isinstance(values, list):
        return None
    return [value if isinstance(value, str) else json.dumps(value) for value in values]


def _function_tags(name: str, section: str, tags: Tags) -> XmlCalls:
    """<function=f> and <parameter=k>, one call in each section."""
    close = section.replace("<", "</", 1)
    return XmlCalls(
        name,
        Spelling(
            trigger=section,
            lead="\n",
            before_name="<function=",
            before_arguments=">\n",
            behind="</function>\n",
            between=f"{close}\n{section}\n",
            after=close,
        ),
        tags,
        begin="<function=",
        name_ends=(">",),
        call_end="</function>",
        sections=(section,),
        ends=(close, section),
    )


def _invoke(name: str, section: str, prefix: str = "", *, says_kind: bool = False) -> XmlCalls:
    """<PREFIXinvoke name="f"> and <PREFIXparameter name="k">, all calls in one section."""
    close = section.replace("<", "</", 1)
    return XmlCalls(
        name,
        Spelling(
            trigger=section,
            lead="\n",
            before_name=f'<{prefix}invoke name="',
            before_arguments='">\n',
            behind=f"</{prefix}invoke>\n",
            after=close,
        ),
        Tags(
            f'<{prefix}parameter name="',
            '"' if says_kind else '">',
            f"</{prefix}parameter>",
            behind="\n",
            says_kind=says_kind,
        ),
        begin=f"<{prefix}invoke name=",
        name_ends=(">",),
        call_end=f"</{prefix}invoke>",
        sections=(section,),
        ends=(close,),
    )


def _keys_and_values(name: str, gap: str) -> XmlCalls:
    """<arg_key>k</arg_key> and <arg_value>v</arg_value>; `gap` stands between the tags."""
    return XmlCalls(
        name,
        Spelling(
            trigger="<tool_call>",
            before_arguments=gap,
            between=f"</tool_call>{gap}<tool_call>",
            after="</tool_call>",
        ),
        Tags("<arg_key>", "</arg_key>", "</arg_value>", value_begin="<arg_value>", gap=gap, behind=gap),
        begin="<tool_call>",
        name_ends=("\n",),
        call_end="</tool_call>",
    )


_LINES = Tags("<parameter=", ">", "</parameter>", padding="\n", behind="\n")
_INLINE = Tags("<parameter=", ">", "</parameter>", behind="\n")

XML_FORMATS: tuple[CallFormat, ...] = (
    _function_tags("qwen3_coder", "<tool_call>", _LINES),
    _function_tags("seed_oss", "<seed:tool_call>", _INLINE),
    _keys_and_values("glm45", "\n"),
    _keys_and_values("glm47", ""),
    _invoke("minimax_m2", "<minimax:tool_call>"),
    _invoke("deepseek_v32", "<｜DSML｜function_calls>", "｜DSML｜", says_kind=True),
    _invoke("deepseek_v4", "<｜DSML｜tool_calls>", "｜DSML｜", says_kind=True),
    XmlCalls(
        "minicpm5",
        Spelling(
            trigger='<function name="',
            before_arguments='">',
            behind="</function>",
            between='\n<function name="',
        ),
        Tags('<param name="', '">', "</param>"),
        begin="<function name=",
        name_ends=(">",),
        call_end="</function>",
    ),
    XmlCalls(
        "hunyuan",
        Spelling(
            trigger="<tool_calls:opensource>",
            lead="\n<tool_call:opensource>",
            before_arguments="<tool_sep:opensource>\n",
            behind="</tool_call:opensource>\n",
            between="<tool_call:opensource>",
            after="</tool_calls:opensource>",
        ),
        Tags(
            "<arg_key:opensource>",
            "</arg_key:opensource>",
            "</arg_value:opensource>",
            value_begin="<arg_value:opensource>",
            gap="\n",
            behind="\n",
        ),
        begin="<tool_call:opensource>",
        name_ends=("<tool_sep:opensource>",),
        call_end="</tool_call:opensource>",
        sections=("<tool_calls:opensource>",),
        ends=("</tool_calls:opensource>",),
    ),
)
