"""How is a format's spelling written as rules of llguidance's Lark dialect?

It knows the syntax of rules and nothing of compiling them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from troth.domain import Tool
from troth.formats.base import CallGrammar, Mark

INDEX = "\0index\0"  # in a spelling: the number of a call
TERMINALS = "CALL_INDEX: /[0-9]{1,3}/\n"


def literal(text: str) -> str:
    """A text as a Lark literal."""
    return json.dumps(text, ensure_ascii=False)


def spelled(text: str, markers: Sequence[str], mark: Mark) -> str:
    """A text as a sequence of Lark symbols, in which every marker is named by `mark`. Empty for no text."""
    symbols: list[str] = []
    plain = 0
    at = 0
    names = sorted((*markers, INDEX), key=len, reverse=True)
    while at < len(text):
        found = next((name for name in names if text.startswith(name, at)), None)
        if found is None:
            at += 1
            continue
        if at > plain:
            symbols.append(literal(text[plain:at]))
        symbols.append("CALL_INDEX" if found == INDEX else mark(found))
        at = plain = at + len(found)
    if plain < len(text):
        symbols.append(literal(text[plain:]))
    return " ".join(symbols)


def object_schema(tool: Tool) -> Mapping[str, Any]:
    """The schema of a tool's arguments, which are an object whatever it says."""
    return {**tool.parameters, "type": "object"}


def json_rule(tool: Tool) -> str:
    """The arguments of a tool as JSON."""
    return f"%json {json.dumps(object_schema(tool))}"


def json_value(schema: Any, root: Mapping[str, Any]) -> str:
    """A value that fits a part of the schema `root`, as JSON."""
    definitions = {key: root[key] for key in ("$defs", "definitions") if key in root}
    return f"%json {json.dumps({**schema, **definitions} if isinstance(schema, Mapping) else {})}"


def text_before(end: str, rule: str, spell: Callable[[str], str], padding: str = "") -> tuple[str, str]:
    """The symbols for any text up to `padding` and the marker `end`, both included, and their rules."""
    if spell(end).startswith('"'):
        return rule, f"{rule}[lazy]: /(.|\\n)*/ {literal(padding + end)}\n"
    terminal = rule.upper()
    return f"{terminal} {spell(end)}", f"{terminal}: /(.|\\n)*{padding.replace(chr(10), chr(92) + 'n')}/\n"


@dataclass(frozen=True, slots=True)
class Spelling:
    """What stands around names and arguments: TRIGGER lead CALL (between CALL)* after.

    CALL is: before_name NAME before_arguments ARGUMENTS behind.
    """

    trigger: str
    lead: str = ""
    before_name: str = ""
    before_arguments: str = ""
    behind: str = ""
    between: str = ""
    after: str = ""


Arguments = Callable[[int, Tool], tuple[str, str]]  # number, tool → symbols for its arguments, more rules for them


def json_arguments(number: int, tool: Tool) -> tuple[str, str]:
    """Arguments as JSON."""
    del number
    return json_rule(tool), ""


def call_grammar(
    spelling: Spelling,
    tools: Sequence[Tool],
    spell: Callable[[str], str],
    arguments: Arguments = json_arguments,
    *,
    parallel: bool,
) -> CallGrammar:
    """The rules of a spelling: one alternative for each tool, so that a schema belongs to its name."""
    more = f"({spell(spelling.between)} call)*" if parallel else ""
    lines = [
        f"calls: {spell(spelling.lead)} call {more} {spell(spelling.after)}",
        "call: " + " | ".join(f"call_{number}" for number in range(len(tools))),
    ]
    for number, tool in enumerate(tools):
        head = spell(spelling.before_name + tool.name + spelling.before_arguments)
        symbols, rules = arguments(number, tool)
        lines.append(f"call_{number}: {head} {symbols} {spell(spelling.behind)}")
        if rules:
            lines.append(rules)
    return CallGrammar(spelling.trigger, "\n".join(lines) + "\n" + TERMINALS)
