"""Whether an answer can be held to what was asked: keywords, contradictions and limits."""

from __future__ import annotations

from typing import Any

import pytest

from troth.domain import Ask, Form, Plan, RawText, ServedModel, Talk, Tool, ToolRules
from troth.errors import BadRequest
from troth.policy import schema
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings

SETTINGS = PolicySettings(tools_max=2, grammar_bytes_max=200, schema_depth_max=4)
ADD = Tool(name="add", parameters={"type": "object"})


def decide(form: Form | None = None, **rules: Any) -> Plan:
    source = Talk((), tools=ToolRules(**rules))
    return Policy([ServedModel("m", "chat", "scripted")], SETTINGS, {}).decide(Ask(source=source, form=form))


def json_form(body: Any) -> Form:
    return Form(kind="json_schema", body=body, path="response_format.schema")


@pytest.mark.parametrize("keyword", schema.REFUSED)
def test_a_keyword_that_cannot_be_held_is_refused_with_its_pointer(keyword: str) -> None:
    body = {"properties": {"a/b": {"anyOf": [{"type": "string"}, {keyword: {"x": 1}}]}}}
    with pytest.raises(BadRequest) as caught:
        decide(json_form(body))
    assert caught.value.code == "unsupported_schema"
    assert caught.value.details == {
        "keyword": keyword,
        "pointer": f"/properties/a~1b/anyOf/1/{keyword}",
    }


@pytest.mark.parametrize(
    "place", ["items", "prefixItems", "$defs", "patternProperties", "allOf", "additionalProperties"]
)
def test_keywords_are_found_wherever_schemas_stand(place: str) -> None:
    odd: Any = {"not": {}}
    below = {"prefixItems": [odd], "allOf": [odd], "$defs": {"x": odd}, "patternProperties": {"x": odd}}.get(place, odd)
    with pytest.raises(BadRequest, match=r"`not`"):
        decide(json_form({place: below}))


@pytest.mark.parametrize(
    "body",
    [
        {"properties": {"not": {"type": "string"}}},
        {"enum": [{"not": 1}]},
        {"const": {"if": 1}},
        {"default": {"not": {}}, "examples": [{"if": {}}]},
        {"uniqueItems": False},
        True,
    ],
)
def test_what_only_looks_like_a_keyword_is_none(body: Any) -> None:
    decide(json_form(body))


def test_keywords_that_say_nothing_are_left_out() -> None:
    plan = decide(json_form({"type": "array", "uniqueItems": False, "items": {"unevaluatedProperties": True}}))
    assert plan.ask.form is not None
    assert plan.ask.form.body == {"type": "array", "items": {}}


@pytest.mark.parametrize("body", [5, {"properties": {"a": 5}}, {"anyOf": ["x"]}])
def test_what_is_no_schema_is_refused(body: Any) -> None:
    with pytest.raises(BadRequest, match="is no JSON schema"):
        decide(json_form(body))


def test_no_keyword_is_in_two_tables() -> None:
    tables = [schema.ENFORCED, schema.ANNOTATIONS, schema.REFUSED]
    assert sum(map(len, tables)) == len(set().union(*tables))
    assert set(schema.NEUTRAL) <= set(schema.REFUSED)


DEEP: Any = {"items": {"items": {"items": {"items": {"items": {}}}}}}


@pytest.mark.parametrize(
    ("form", "rules", "field", "words"),
    [
        (json_form(DEEP), {}, "response_format.schema", "limits.schema_depth_max"),
        (json_form({"enum": ["x" * 300]}), {}, "response_format.schema", "limits.grammar_bytes_max"),
        (Form(kind="grammar", body="é" * 101, path="grammar"), {}, "grammar", "202 bytes"),
        (None, {"tools": (ADD, Tool(name="b"), Tool(name="c"))}, "tools", "limits.tools_max"),
        (None, {"tools": (ADD, Tool(name="add", path="tools.1"))}, "tools.1", "another function"),
        (None, {"mode": "required"}, "tool_choice", "there are no functions"),
        (None, {"tools": (ADD,), "mode": "required", "only": "sub"}, "tool_choice", "add"),
        (json_form({}), {"tools": (ADD,), "mode": "required"}, "response_format.schema", "cannot have both"),
    ],
)  # fmt: skip
def test_what_is_over_a_limit_or_contradicts_itself_is_refused(
    form: Form | None, rules: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(BadRequest, match=words) as caught:
        decide(form, **rules)
    assert caught.value.param == field


def test_tools_with_odd_schemas_are_refused_only_where_they_must_be_held() -> None:
    odd = {"type": "object", "not": {}}
    assert decide(tools=(Tool(name="a", parameters=odd),))
    for rules in (
        {"tools": (Tool(name="a", parameters=odd, strict=True),)},
        {"tools": (Tool(name="a", parameters=odd),), "mode": "required"},
    ):
        with pytest.raises(BadRequest, match=r"`not`"):
            decide(**rules)


def test_a_form_is_judged_on_raw_texts_too() -> None:
    policy = Policy([ServedModel("m", "chat", "scripted")], SETTINGS, {})
    with pytest.raises(BadRequest, match=r"`not`"):
        policy.decide(Ask(source=RawText(("a",)), form=json_form({"not": {}})))
