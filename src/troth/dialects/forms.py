"""Answers held to a form, in OpenAI's, llama-server's and vLLM's spellings. Pure.

Divergences from the peers: an answer has one form; two that are asked for at once are refused, whoever's they are.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from troth._generated.models import FormatFields, GrammarTrigger, GuidedFields
from troth.domain import Form
from troth.errors import BadRequest

TRIGGER_KINDS = ("token", "word", "pattern", "pattern_full")  # by llama-server's numbers


def form_of(body: FormatFields, guided: GuidedFields | None = None) -> Form | None:
    """The form that the request asks for; None for free text. Raises BadRequest for two, or for half of one."""
    asked: list[Form] = [*_formats(body), *(_guides(guided) if guided is not None else ())]
    if len(asked) > 1:
        raise BadRequest(
            f"`{asked[0].path}` and `{asked[1].path}` both ask for a form of the answer: send one of them.",
            param=asked[1].path,
            code="conflicting_values",
        )
    form = asked[0] if asked else None
    if not body.grammar_lazy:
        return form
    if form is None:
        raise BadRequest("`grammar_lazy` is true, and there is no grammar that could wait.", param="grammar_lazy")
    if not body.grammar_triggers:
        raise BadRequest(
            "`grammar_lazy` is true, and no `grammar_triggers` say when it begins.",
            param="grammar_triggers",
            code="missing_required_parameter",
        )
    triggers = tuple(_trigger(each, f"grammar_triggers.{place}") for place, each in enumerate(body.grammar_triggers))
    return replace(form, triggers=triggers)


def schema_form(schema: Any, path: str) -> Form:
    """The form of a JSON schema, given as JSON data or as its text. Raises BadRequest when the text is none."""
    if isinstance(schema, str):
        try:
            schema = json.loads(schema)
        except (ValueError, RecursionError) as fault:
            raise BadRequest(f"`{path}` is no JSON text: {fault}.", param=path) from fault
        if not isinstance(schema, dict | bool):
            raise BadRequest(f"`{path}` is no JSON schema: send an object, true or false.", param=path)
    return Form(kind="json_schema", body=schema, path=path)


def _trigger(trigger: GrammarTrigger, path: str) -> str | int:
    """The text or the token that starts a grammar. Raises BadRequest for patterns, and where it is missing."""
    kind = TRIGGER_KINDS[trigger.type] if isinstance(trigger.type, int) else str(trigger.type)
    if kind == "token" and trigger.token is not None:
        return trigger.token
    if kind == "word" and trigger.value:
        return trigger.value
    if kind in ("token", "word"):
        name = "token" if kind == "token" else "value"
        raise BadRequest(
            f"`{path}` is a {kind} without `{name}`.", param=f"{path}.{name}", code="missing_required_parameter"
        )
    raise BadRequest(
        f"`{path}` is a {kind}: patterns are not searched in an answer. Send words (1) or tokens (0).",
        param=f"{path}.type",
        code="unsupported_value",
    )


def _formats(body: FormatFields) -> Iterator[Form]:
    asked = body.response_format
    nested = asked.json_schema.schema_ if asked is not None and asked.json_schema is not None else None
    if asked is not None and asked.type == "text" and (nested or asked.schema_):
        raise BadRequest(
            "`response_format` has a schema and the type text: a schema goes with json_schema.",
            param="response_format.type",
            code="conflicting_values",
        )
    if asked is not None and asked.type != "text":
        if nested is not None and asked.schema_ is not None and nested != asked.schema_:
            raise BadRequest(
                "`response_format` has two schemas, in `json_schema.schema` and in `schema`: send one of them.",
                param="response_format.schema",
                code="conflicting_values",
            )
        schema, path = (nested, "response_format.json_schema.schema")
        if nested is None:
            schema, path = asked.schema_, "response_format.schema"
        if schema is not None:
            yield schema_form(schema, path)
        elif asked.type == "json_schema":
            raise BadRequest(
                "`response_format` is a json_schema without a schema: send it as `json_schema.schema`.",
                param="response_format.json_schema",
                code="missing_required_parameter",
            )
        else:
            yield Form(kind="json_object", path="response_format")
    if body.json_schema is not None:
        yield schema_form(body.json_schema, "json_schema")
    if body.grammar:
        yield Form(kind="grammar", body=body.grammar, path="grammar")


def _guides(body: GuidedFields) -> Iterator[Form]:
    if body.guided_json is not None:
        yield schema_form(body.guided_json, "guided_json")
    if body.guided_regex is not None:
        yield Form(kind="regex", body=body.guided_regex, path="guided_regex")
    if body.guided_choice:
        yield Form(kind="choice", body=tuple(body.guided_choice), path="guided_choice")
    if body.guided_grammar:
        yield Form(kind="grammar", body=body.guided_grammar, path="guided_grammar")
    if (asked := body.structured_outputs) is not None:
        path = "structured_outputs"
        if asked.json_ is not None:
            yield schema_form(asked.json_, f"{path}.json")
        if asked.json_object:
            yield Form(kind="json_object", path=f"{path}.json_object")
        if asked.regex is not None:
            yield Form(kind="regex", body=asked.regex, path=f"{path}.regex")
        if asked.choice is not None:
            yield _choice(asked.choice, f"{path}.choice")
        if asked.grammar is not None:
            yield Form(kind="grammar", body=asked.grammar, path=f"{path}.grammar")


def _choice(texts: list[str], path: str) -> Form:
    if not texts:
        raise BadRequest(f"`{path}` is empty: an answer cannot be none of no texts.", param=path)
    return Form(kind="choice", body=tuple(texts), path=path)
