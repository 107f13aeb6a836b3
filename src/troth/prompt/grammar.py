"""What an answer must look like, as one grammar: reasoning first, then a form, calls of functions, or free text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from troth.domain import Form, Grammar, GrammarSource, PatternKind, Tool, ToolRules
from troth.engines.base import Compiles, GrammarFault, Vocabulary
from troth.errors import BadRequest
from troth.formats.base import CallFormat, CallGrammar, Frames, Mark
from troth.formats.lark import object_schema
from troth.formats.thoughts import ThoughtSyntax

# Between the parts of JSON: one space, or a line break and its indentation. Without a bound a small model may
# write white space until its budget ends. Letters are written as such: a name of `properties` would not be known
# in an escape of it.
SPACING = {"x-guidance": {"whitespace_pattern": r" |\n[ \t]{0,64}", "json_allowed_escapes": 'nrbtf\\"'}}
_LONG, _SHORT, _LEAP = "0[13578]|1[02]", "0[469]|11", "0[48]|[2468][048]|[13579][26]"
DAYS = (
    r"^(?:(?:[1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])-"
    rf"(?:(?:{_LONG})-(?:0[1-9]|[12][0-9]|3[01])|(?:{_SHORT})-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))"
    rf"|(?:[0-9]{{2}}(?:{_LEAP})|(?:{_LEAP})00)-02-29)$"
)  # every day of the calendar, as JSON Schema's format `date`
VALUES = ("const", "enum", "default", "examples")  # keywords of JSON Schema that hold values, not schemas
TABLES = ("properties", "patternProperties", "$defs", "definitions")  # and those that hold schemas by name
ANY_OBJECT = {"type": "object"}
HEADER = "%llguidance {}\n"
SPACE = "SPACE: /[ \\t\\r\\n]{1,8}/\n"
PATTERNS: dict[str, PatternKind] = {
    "json_object": "json_schema",
    "json_schema": "json_schema",
    "grammar": "gbnf",
    "regex": "regex",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """What is known of an answer before it is written."""

    form: Form | None = None
    rules: ToolRules
    calls: CallFormat
    thoughts: ThoughtSyntax | None = None  # None: the answer has no reasoning, or it was closed in the prompt
    is_thinking: bool = False  # the answer begins inside a block of reasoning


def is_held(shape: Shape) -> bool:
    """True when a grammar must hold the answer. Free text needs none."""
    return shape.form is not None or bool(shape.rules.callable)


def compiled(shape: Shape, vocabulary: Vocabulary, grammars: Compiles, openings: tuple[bytes, ...] = ()) -> Grammar:
    """The grammar of the shape. With `openings`, one of which begins it, that of its form alone.

    In automatic mode a tool whose schema cannot be compiled is loosened to any object, unless it is strict.
    Raises: BadRequest naming the field and, in the compiler's words, what it cannot hold.
    """
    mark = marks_of(vocabulary)
    try:
        return grammars.compile(_source(shape, mark, openings))
    except GrammarFault as fault:
        if shape.form is not None:
            _check_form(shape.form, grammars)
        tools = tuple(_compilable(tool, shape, grammars) for tool in shape.rules.tools)
        if tools == shape.rules.tools:
            path = shape.form.path if shape.form is not None else "tools"
            raise BadRequest(f"`{path}` cannot be held: {fault}.", param=path, code="invalid_grammar") from fault
    return compiled(replace(shape, rules=replace(shape.rules, tools=tools)), vocabulary, grammars)


def marks_of(vocabulary: Vocabulary) -> Mark:
    """How rules name a marker: as a control token where the vocabulary has it as one, else as text."""
    controls = frozenset(vocabulary.control_texts)

    def mark(text: str) -> str:
        if text in controls:
            tokens = vocabulary.tokenize(text, special=True, bos=False)
            if len(tokens) == 1:
                return f"<[{int(tokens[0])}]>"
        return json.dumps(text)

    return mark


def _source(shape: Shape, mark: Mark, openings: tuple[bytes, ...] = ()) -> GrammarSource:
    if shape.form is not None and openings:
        return _form_alone(shape.form, openings)
    if shape.form is not None and _is_out_of_reach(shape):
        raise BadRequest(
            f"`{shape.form.path}` cannot be held: this model puts its text between markers of its own, and its chat "
            "template has no place for calls that would tell which. Leave it out.",
            param=shape.form.path,
            code="unsupported_value",
        )
    patterns: tuple[tuple[str, PatternKind, str], ...] = ()
    tools = shape.rules.callable
    spaced = [replace(tool, parameters=_spaced(tool.parameters or ANY_OBJECT)) for tool in tools]
    calls = shape.calls.grammar(spaced, mark, parallel=shape.rules.parallel) if tools else None
    rules = [calls.rules] if calls is not None else []
    if shape.form is not None:
        text, patterns = _form(shape.form)
        rules.append(f"form: {text}")
    body, more = _body(shape, calls, mark)
    return GrammarSource(HEADER + "\n".join([_start(shape, mark, body), *rules, more]) + "\n", patterns)


def _body(shape: Shape, calls: CallGrammar | None, mark: Mark) -> tuple[str, str]:
    """What may come behind the reasoning, and the rules it needs beside those of the form and the calls."""
    if shape.form is not None and isinstance(shape.calls, Frames):
        return shape.calls.framed("form", mark, thinks=shape.thoughts is not None, calls=calls is not None)
    bodies = ["form"] if shape.form is not None else []
    words = ""
    if calls is not None:
        trigger = mark(calls.trigger)
        if shape.rules.mode == "required" or shape.form is not None:
            bodies.append(calls.forced or f"{trigger} calls")
        elif calls.free:
            bodies.append(calls.free)
        else:
            free, words = _free_or_calls(calls, trigger, _free_text(shape, mark))
            bodies.append(free)
    return " | ".join(f"({each})" for each in bodies), words


def _is_out_of_reach(shape: Shape) -> bool:
    """True for a model whose words stand between markers that nothing here reads."""
    return shape.thoughts is not None and shape.thoughts.format not in (None, shape.calls.name)


def _start(shape: Shape, mark: Mark, body: str) -> str:
    syntax = shape.thoughts
    if syntax is None or syntax.format is not None:
        return f"start: {body}"
    begin, end = mark(syntax.begin.strip()), mark(syntax.end.strip())
    if end.startswith("<["):
        thought = f"thought: THOUGHT? {end}\nTHOUGHT: /(.|\\n)+/"
    else:
        thought = f"thought[lazy]: /(.|\\n)*/ {end}"
    head = "thought" if shape.is_thinking else f"(SPACE? {begin} thought)?"
    tail = "SPACE? " if shape.form is not None or shape.rules.mode == "required" else ""
    space = SPACE if "SPACE" in head + tail else ""
    return f"start: {head} {tail}body\nbody: {body}\n{thought}\n{space}"


def _free_text(shape: Shape, mark: Mark) -> str:
    """A pattern of free text. Where reasoning may come first, its marker cannot be in the text."""
    if shape.thoughts is None or shape.is_thinking:
        return "/(.|\\n)*/"
    begin = mark(shape.thoughts.begin.strip())
    if begin.startswith("<["):
        return "/(.|\\n)*/"  # a control token is no text
    marker = re.escape(shape.thoughts.begin.strip()).replace("/", "\\/")
    return f"/(.|\\n)*/ & ~/(.|\\n)*{marker}(.|\\n)*/"


def _free_or_calls(calls: CallGrammar, trigger: str, free: str) -> tuple[str, str]:
    """A body of free text that may go over into calls, and the rules it needs."""
    if calls.opens:
        first = calls.trigger[:1]
        words = f"WORDS: /([^ \\t\\r\\n{_in_class(first)}](.|\\n)*)?/"
        return f"WORDS | SPACE? {trigger} calls", f"{words}\n{SPACE}"
    if trigger.startswith("<["):
        return f"WORDS? | WORDS? {trigger} calls", "WORDS: /(.|\\n)+/"
    return "WORDS | head calls", f"head[lazy]: FREE {trigger}\nFREE: {free}\nWORDS: {free}"


def _in_class(letter: str) -> str:
    return "\\" + letter if letter in "\\]^-/[" else letter


def _form(form: Form) -> tuple[str, tuple[tuple[str, PatternKind, str], ...]]:
    if form.kind == "choice":
        return " | ".join(json.dumps(text) for text in form.body), ()
    if form.kind == "json_object":
        return "@form_pattern", (("form_pattern", "json_schema", json.dumps(_spaced(ANY_OBJECT))),)
    text = json.dumps(_spaced(dated(form.body))) if form.kind == "json_schema" else form.body
    return "@form_pattern", (("form_pattern", PATTERNS[form.kind], text),)


def _spaced(schema: Any) -> Any:
    """The schema, with bounded white space in what it describes."""
    if schema is True:
        return SPACING
    return {**schema, **SPACING} if isinstance(schema, Mapping) else schema


def dated(schema: Any) -> Any:
    """The schema, in which a text of the format `date` is a day that there is: compilers know 31 days of any month."""
    if isinstance(schema, list):
        return [dated(each) for each in schema]
    if not isinstance(schema, Mapping):
        return schema
    told = dict(schema)
    for key, value in schema.items():
        if key in TABLES and isinstance(value, Mapping):
            told[key] = {name: dated(each) for name, each in value.items()}
        elif key not in VALUES:
            told[key] = dated(value)
    if schema.get("format") == "date":
        told["allOf"] = [*told.get("allOf", ()), {"pattern": DAYS}]
    return told


def _check_form(form: Form, grammars: Compiles) -> None:
    """Raises BadRequest when the form alone cannot be compiled."""
    _compile(_form_alone(form), grammars, form.path)


def _form_alone(form: Form, openings: tuple[bytes, ...] = ()) -> GrammarSource:
    text, patterns = _form(form)
    return GrammarSource(f"{HEADER}start: {text}\n", patterns, openings)


def _compilable(tool: Tool, shape: Shape, grammars: Compiles) -> Tool:
    """The tool, or a looser one where that is allowed. Raises BadRequest."""
    schema = json.dumps(object_schema(replace(tool, parameters=_spaced(tool.parameters or ANY_OBJECT))))
    source = GrammarSource(f"{HEADER}start: @schema\n", (("schema", "json_schema", schema),))
    try:
        grammars.compile(source)
    except GrammarFault as fault:
        if tool.strict or shape.rules.mode == "required":
            raise BadRequest(
                f"`{tool.path}`: the parameters of {tool.name} cannot be held: {fault}.",
                param=tool.path,
                code="invalid_grammar",
            ) from fault
        return replace(tool, parameters={})
    return tool


def _compile(source: GrammarSource, grammars: Compiles, path: str) -> Grammar:
    try:
        return grammars.compile(source)
    except GrammarFault as fault:
        raise BadRequest(f"`{path}` cannot be held: {fault}.", param=path, code="invalid_grammar") from fault
