"""Families whose arguments are almost JSON: Gemma 4's have bare keys, LFM2's are Python. Read, they become JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from troth.domain import Tool
from troth.formats import json_scan
from troth.formats.base import CallFormat, CallGrammar, Mark, Reader
from troth.formats.json_calls import read_objects
from troth.formats.lark import Spelling, call_grammar, json_value, literal, spelled, text_before
from troth.formats.named_calls import is_name
from troth.formats.schemas import EVERYTHING, as_json, kinds, property_schema, resolved
from troth.formats.tape import SPACE, NoCall, ScriptReader, Sink, Steps, Tape, calls_among_words

DEPTH_MAX = 8
SCALARS = frozenset({"integer", "number", "boolean", "null"})


class _Members:
    """Reads the members of an object, from behind its opening bracket; nesting costs no recursion."""

    def __init__(self, tape: Tape, quotes: tuple[str, ...], *, close: str, key_end: str, has_escapes: bool) -> None:
        self._tape = tape
        self._quotes = quotes
        self._key_end = key_end  # of the outermost object; inside of it a colon is
        self._has_escapes = has_escapes
        self._closers = [close]
        self._comma = ""
        self._awaits_key = True
        self._awaits_value = False  # of a key

    def read(self) -> Steps[None]:
        tape = self._tape
        tape.arguments("{")
        while self._closers:
            char = yield from tape.space()
            if char == ",":
                tape.take(1)
                self._fill_in()
            elif char in "}])":
                tape.take(1)
                self._fill_in()
                tape.arguments("]" if self._closers.pop() == "]" else "}")
                self._expect_next()
            elif self._awaits_key:
                key = yield from self._read_key()
                tape.arguments(f"{self._comma}{json.dumps(key, ensure_ascii=False)}: ")
                self._comma, self._awaits_key, self._awaits_value = "", False, True
            else:
                tape.arguments(self._comma)
                self._comma, self._awaits_value = "", False
                yield from self._read_value(char)

    def _fill_in(self) -> None:
        """A key without a value has none."""
        if self._awaits_value:
            self._tape.arguments("null")
            self._expect_next()

    def _expect_next(self) -> None:
        self._comma = ", "
        self._awaits_value = False
        self._awaits_key = bool(self._closers) and self._closers[-1] != "]"

    def _read_key(self) -> Steps[str]:
        texts: list[str] = []
        end = self._key_end if len(self._closers) == 1 else ":"
        quote = yield from self._tape.accept(*self._quotes)
        if quote is not None:
            yield from self._string(quote, texts.append)
            yield from self._tape.space()
            yield from self._tape.accept(end)
        else:
            yield from self._tape.until((end,), texts.append)
        return "".join(texts).strip() if quote is None else "".join(texts)

    def _read_value(self, first: str) -> Steps[None]:
        tape = self._tape
        if first in "{[":
            tape.arguments(tape.take(1))
            self._closers.append("}" if first == "{" else "]")
            self._awaits_key = first == "{"
            return
        quote = yield from tape.accept(*self._quotes)
        if quote is not None:
            tape.arguments('"')
            yield from self._string(quote, lambda text: tape.arguments(json.dumps(text, ensure_ascii=False)[1:-1]))
            tape.arguments('"')
        else:
            word: list[str] = []
            while (char := (yield from tape.peek())) not in ",}])" and char not in SPACE:
                word.append(tape.take(1))
            tape.arguments(as_json("".join(word), EVERYTHING))
        self._expect_next()

    def _string(self, quote: str, sink: Sink) -> Steps[None]:
        escape = ("\\",) if self._has_escapes else ()
        while (yield from self._tape.until((quote, *escape), sink)) != quote:
            yield from json_scan.escaped(self._tape, sink)


def _ordered(names: Sequence[str], required: Sequence[str], comma: str, rule: str) -> tuple[str, list[str]]:
    """The symbol for members in order, with commas between those that are there, and its rules.

    `names` are the rules of the members; `required` those that must be there.
    """
    lines = [f"{rule}_first_{len(names)}:", f"{rule}_more_{len(names)}:"]
    for place in reversed(range(len(names))):
        member, rest = names[place], f"{rule}_more_{place + 1}"
        skip_first = "" if member in required else f" | {rule}_first_{place + 1}"
        skip_more = "" if member in required else f" | {rest}"
        lines.append(f"{rule}_first_{place}: {member} {rest}{skip_first}")
        lines.append(f"{rule}_more_{place}: {literal(comma)} {member} {rest}{skip_more}")
    return f"{rule}_first_0", lines


QUOTE = '<|"|>'


class _GemmaRules:
    """A schema as rules of Gemma 4's notation. Members come in the order of their names."""

    def __init__(self, root: Mapping[str, Any], rule: str, spell: Callable[[str], str]) -> None:
        self._root = root
        self._rule = rule
        self._spell = spell
        self._count = 0
        self.lines: list[str] = []

    def members(self, schema: Mapping[str, Any], depth: int) -> str:
        properties = schema.get("properties")
        names: list[str] = []
        required: list[str] = []
        for key in sorted(properties) if isinstance(properties, Mapping) else ():
            name = self._new(f"{literal(key + ':')} {self._value(property_schema(schema, key), depth + 1)}")
            names.append(name)
            if key in (schema.get("required") or ()):
                required.append(name)
        self._count += 1
        symbol, lines = _ordered(names, required, ",", f"{self._rule}_{self._count}")
        self.lines += lines
        return symbol

    def _new(self, symbols: str) -> str:
        self._count += 1
        name = f"{self._rule}_{self._count}"
        self.lines.append(f"{name}: {symbols}")
        return name

    def _value(self, schema: Any, depth: int) -> str:
        schema = resolved(schema, self._root)
        allowed = kinds(schema, self._root)
        if not isinstance(schema, Mapping) or depth > DEPTH_MAX:
            return "gemma_any"
        if allowed <= SCALARS:
            return json_value(schema, self._root)
        for key in ("anyOf", "oneOf"):
            if isinstance(schema.get(key), list):
                return "(" + " | ".join(self._new(self._value(each, depth + 1)) for each in schema[key]) + ")"
        return "(" + " | ".join(self._of_kind(kind, schema, depth) for kind in sorted(allowed)) + ")"

    def _of_kind(self, kind: str, schema: Mapping[str, Any], depth: int) -> str:
        if kind == "string":
            fixed = [schema["const"]] if "const" in schema else schema.get("enum")
            texts = [each for each in fixed if isinstance(each, str)] if isinstance(fixed, list) else None
            quote = self._spell(QUOTE)
            if texts is None:
                return "gemma_string"
            return "(" + " | ".join(f"{quote} {literal(each)} {quote}" for each in texts) + ")"
        if kind == "array":
            item = self._new(self._value(schema.get("items"), depth + 1))
            return f'"[" ({item} ("," {item})*)? "]"'
        if kind == "object" and isinstance(schema.get("properties"), Mapping):
            return f'"{{" {self.members(schema, depth)} "}}"'
        if kind == "object":
            return "gemma_object"
        return json_value({"type": kind}, self._root)


@dataclass(frozen=True, slots=True)
class Gemma4:
    """<|tool_call>call:NAME{key:VALUE,…}<tool_call|>, strings between quotation marks of its own."""

    name: str = "gemma4"

    @property
    def markers(self) -> tuple[str, ...]:
        """All of them are control tokens of Gemma 4."""
        return ("<|tool_call>", "<tool_call|>", QUOTE)

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument has its type.

        Of strings, `enum` and `const` are held; of arrays and objects, what is in them.
        """

        def spell(text: str) -> str:
            return spelled(text, self.markers, mark)

        def arguments_of(number: int, tool: Tool) -> tuple[str, str]:
            rules = _GemmaRules(tool.parameters, f"args_{number}", spell)
            symbol = rules.members(tool.parameters, 0)
            return f'"{{" {symbol} "}}"', "\n".join(rules.lines)

        spelling = Spelling(
            trigger="<|tool_call>",
            lead="call:",
            between="<tool_call|><|tool_call>call:",
            after="<tool_call|>",
        )
        grammar = call_grammar(spelling, tools, spell, arguments_of, parallel=parallel)
        text, rules = text_before(QUOTE, "gemma_text", spell)
        common = (
            f"gemma_string: {spell(QUOTE)} {text}\n{rules}"
            'gemma_object: "{" (gemma_member ("," gemma_member)*)? "}"\n'
            'gemma_member: GEMMA_KEY ":" gemma_any\n'
            'gemma_any: gemma_string | gemma_object | "[" (gemma_any ("," gemma_any)*)? "]" | GEMMA_SCALAR\n'
            "GEMMA_KEY: /[A-Za-z_][A-Za-z0-9_]*/\n"
            "GEMMA_SCALAR: /true|false|null|-?(0|[1-9][0-9]*)(\\.[0-9]+)?/\n"
        )
        return CallGrammar(grammar.trigger, grammar.rules + common)

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer. Names that no tool has are calls as well."""
        del tools
        return ScriptReader(calls_among_words(("<|tool_call>",), _gemma_call, ("<tool_call|>",)))


def _gemma_call(tape: Tape, trigger: str) -> Steps[None]:
    del trigger
    yield from tape.space()
    yield from tape.expect("call:")
    name, _ = yield from tape.name(("{",))
    yield from _members_call(tape, name, _Members(tape, (QUOTE,), close="}", key_end=":", has_escapes=False))
    yield from tape.follow("<tool_call|>")


def _members_call(tape: Tape, name: str, members: _Members) -> Steps[None]:
    if not is_name(name.strip()):
        raise NoCall
    tape.begin_call(name.strip())
    yield from members.read()
    tape.end_call()


@dataclass(frozen=True, slots=True)
class Lfm2:
    """<|tool_call_start|>[NAME(key=VALUE, …), …]<|tool_call_end|>, values as in Python."""

    name: str = "lfm2"

    @property
    def markers(self) -> tuple[str, ...]:
        """Control tokens of LFM2."""
        return ("<|tool_call_start|>", "<|tool_call_end|>")

    def grammar(self, tools: Sequence[Tool], mark: Mark, *, parallel: bool) -> CallGrammar:
        """Rules under which every call names one of the tools and every argument fits its schema."""

        def spell(text: str) -> str:
            return spelled(text, self.markers, mark)

        def arguments_of(number: int, tool: Tool) -> tuple[str, str]:
            return _keyword_rules(number, tool.parameters)

        spelling = Spelling(
            trigger="<|tool_call_start|>",
            lead="[",
            before_arguments="(",
            behind=")",
            between=", ",
            after="]<|tool_call_end|>",
        )
        return call_grammar(spelling, tools, spell, arguments_of, parallel=parallel)

    def reader(self, tools: Sequence[Tool]) -> Reader:
        """A reader for one answer. Names that no tool has are calls as well."""
        del tools
        return ScriptReader(calls_among_words(("<|tool_call_start|>",), _lfm2_calls, ("<|tool_call_end|>",)))


def _keyword_rules(number: int, parameters: Mapping[str, Any]) -> tuple[str, str]:
    properties = parameters.get("properties")
    names: list[str] = []
    required: list[str] = []
    lines: list[str] = []
    for place, key in enumerate(properties if isinstance(properties, Mapping) else ()):
        name = f"arg_{number}_{place}"
        names.append(name)
        lines.append(f"{name}: {literal(key + '=')} {json_value(property_schema(parameters, key), parameters)}")
        if key in (parameters.get("required") or ()):
            required.append(name)
    symbol, more = _ordered(names, required, ", ", f"args_{number}")
    return symbol, "\n".join([*lines, *more])


def _lfm2_calls(tape: Tape, trigger: str) -> Steps[None]:
    del trigger
    if (yield from tape.space()) == "[":
        tape.take(1)
    if (yield from tape.space()) == "{":
        yield from read_objects(tape, None)
    else:
        yield from _lfm2_call(tape)
        while (yield from tape.follow(",")) is not None:
            tape.hold(",", is_sure=True)
            yield from tape.space()
            yield from _lfm2_call(tape)
    yield from tape.follow("]")
    yield from tape.follow("<|tool_call_end|>")


def _lfm2_call(tape: Tape) -> Steps[None]:
    name, _ = yield from tape.name(("(",))
    yield from _members_call(tape, name, _Members(tape, ("'", '"'), close=")", key_end="=", has_escapes=True))


RELAXED_FORMATS: tuple[CallFormat, ...] = (Gemma4(), Lfm2())
