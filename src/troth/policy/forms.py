"""Whether an answer can be held to what was asked of it: its form, and the functions that it may call."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

from troth.domain import Ask, Form, Plan, Talk, Tool, ToolRules
from troth.errors import BadRequest
from troth.policy import schema
from troth.policy.repetition import expanded_size
from troth.policy.schema import CONSTANT_LENGTH_MAX, PATTERN_SIZE_MAX
from troth.policy.terms import Terms

NAME_MARKS = "_-.:/@$#+~"  # in names of functions, beside letters and digits: they can stand in every model's format
RULES_MAX = 400  # of a grammar; a compiler follows them one into the other


def hold(plan: Plan, terms: Terms) -> Plan:
    """The plan, with schemas whose every keyword is enforced or says nothing.

    Raises: BadRequest for contradictions between form and tools, refused keywords, and what is over a limit.
    """
    ask = plan.ask
    rules = ask.source.tools if isinstance(ask.source, Talk) else None
    if ask.form is not None and isinstance(ask.source, Talk) and ask.source.continues:
        raise BadRequest(
            f"`{ask.form.path}` holds an answer from its beginning, and this request goes on with a message that has "
            "begun: leave one of them out.",
            param=ask.form.path,
            code="conflicting_values",
        )
    if ask.form is None and (rules is None or not rules.tools):
        if rules is not None:
            _check_choice(rules)
        return plan
    size = _bytes(ask.form.body) if ask.form is not None else 0
    if rules is not None:
        _check_tools(rules, ask.form, terms)
        size += sum(_bytes(tool.parameters) for tool in rules.tools)
    if size > terms.settings.grammar_bytes_max:
        raise BadRequest(
            f"The schemas and grammars of this request have {size} bytes; at most {terms.settings.grammar_bytes_max} "
            "are compiled (limits.grammar_bytes_max).",
            param=ask.form.path if ask.form is not None else "tools",
            details={"limit": terms.settings.grammar_bytes_max},
        )
    return replace(plan, ask=_checked(ask, rules, terms))


def _checked(ask: Ask, rules: ToolRules | None, terms: Terms) -> Ask:
    depth = terms.settings.schema_depth_max
    form = ask.form
    if form is not None and form.kind in ("grammar", "regex"):
        _check_text(form)
    if form is not None and form.kind == "choice" and any(len(text) > CONSTANT_LENGTH_MAX for text in form.body):
        raise BadRequest(
            f"`{form.path}` has a text of more than {CONSTANT_LENGTH_MAX} characters.",
            param=form.path,
            code="invalid_grammar",
        )
    if form is not None and form.kind == "json_schema":
        schema.check(form.body, form.path, depth_max=depth)
        form = replace(form, body=schema.without_neutral(form.body))
    source = ask.source
    if rules is not None and isinstance(source, Talk):
        tools = tuple(_tool(tool, rules, depth) for tool in rules.tools)
        source = replace(source, tools=replace(rules, tools=tools))
    return replace(ask, form=form, source=source)


def _check_text(form: Form) -> None:
    """Raises BadRequest for patterns and grammars that are small to write and large to compile."""
    size = expanded_size(form.body)
    if size > max(PATTERN_SIZE_MAX, len(form.body)):
        raise BadRequest(
            f"`{form.path}` comes to {size} characters when its repetitions are written out; at most "
            f"{PATTERN_SIZE_MAX} are compiled.",
            param=form.path,
            code="invalid_grammar",
        )
    if form.kind == "grammar" and form.body.count("::=") > RULES_MAX:
        raise BadRequest(
            f"`{form.path}` has {form.body.count('::=')} rules; at most {RULES_MAX} are compiled.",
            param=form.path,
            code="invalid_grammar",
        )


def _tool(tool: Tool, rules: ToolRules, depth_max: int) -> Tool:
    """The tool with a schema that can be compiled. One that may be loosened is left to whoever compiles it."""
    kind = tool.parameters.get("type")
    if isinstance(kind, str | list) and "object" not in ([kind] if isinstance(kind, str) else kind):
        raise BadRequest(
            f"`{tool.path}.parameters.type` is {json.dumps(kind)[:64]}; the arguments of a call are an object.",
            param=f"{tool.path}.parameters.type",
        )
    if tool.strict or rules.mode == "required":
        schema.check(tool.parameters, f"{tool.path}.parameters", depth_max=depth_max)
    return replace(tool, parameters=schema.without_neutral(tool.parameters))


def _check_tools(rules: ToolRules, form: Form | None, terms: Terms) -> None:
    _check_choice(rules)
    if len(rules.tools) > terms.settings.tools_max:
        raise BadRequest(
            f"`tools` has {len(rules.tools)} functions; at most {terms.settings.tools_max} are served "
            "(limits.tools_max).",
            param="tools",
            details={"limit": terms.settings.tools_max},
        )
    seen: set[str] = set()
    for tool in rules.tools:
        if not all(letter.isalnum() or letter in NAME_MARKS for letter in tool.name):
            raise BadRequest(
                f"`{tool.path}` has a name with other characters than letters, digits and {NAME_MARKS}",
                param=tool.path,
            )
        if tool.name in seen:
            raise BadRequest(f"`{tool.path}`: there is another function of the name {tool.name!r}.", param=tool.path)
        seen.add(tool.name)
    if form is not None and form.triggers and rules.tools:
        raise BadRequest(
            f"`grammar_lazy` lets `{form.path}` wait in a free text, and `tools` bring a grammar of their own: "
            "send one of them.",
            param="grammar_lazy",
            code="conflicting_values",
        )
    if form is not None and rules.mode == "required":
        raise BadRequest(
            f"`tool_choice` demands a call and `{form.path}` demands a form: an answer cannot have both.",
            param=form.path,
            code="conflicting_values",
        )


def _check_choice(rules: ToolRules) -> None:
    names = [tool.name for tool in rules.tools]
    if rules.mode == "required" and not names:
        raise BadRequest("`tool_choice` demands a call, and there are no functions.", param="tool_choice")
    if rules.only is not None and rules.only not in names:
        raise BadRequest(
            f"`tool_choice` names {rules.only[:64]!r}, which is none of the functions: "
            f"{', '.join(names[:20]) or 'there are none'}.",
            param="tool_choice",
        )


def _bytes(body: Any) -> int:
    """The size of a schema or a grammar as text. Raises BadRequest when it is nested too deep to write."""
    if isinstance(body, str):
        return len(body.encode("utf-8", "surrogatepass"))
    try:
        return len(json.dumps(body))
    except RecursionError as fault:
        raise BadRequest("A schema of this request is nested too deep to be read.", code="invalid_schema") from fault
