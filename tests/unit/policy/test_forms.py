"""Whether an answer can be held to what was asked: keywords, contradictions and limits."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from troth.domain import Ask, Form, Plan, RawText, ServedModel, Talk, Tool, ToolRules, Turn
from troth.errors import BadRequest
from troth.policy import schema
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings

SETTINGS = PolicySettings(tools_max=2, grammar_bytes_max=200, schema_depth_max=5)
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


OPEN = {"type": "object", "additionalProperties": {"type": "integer"}}
LISTED = {"properties": {"a": {}, "b": {}}, "additionalProperties": False}


@pytest.mark.parametrize(
    "body",
    [
        OPEN | {"minProperties": 2},
        {"minProperties": 2.0},
        OPEN | {"minProperties": 3, "required": ["a"]},
        {"type": ["object", "null"], "minProperties": 2},
        {"patternProperties": {"^a": {}}, "additionalProperties": False, "minProperties": 2},
        {"allOf": [{"minProperties": 5}]},
    ],
)
def test_a_number_of_properties_that_one_name_twice_would_reach_is_refused(body: Any) -> None:
    with pytest.raises(BadRequest, match=r"`minProperties`") as refused:
        decide(json_form(body))
    assert refused.value.code == "unsupported_schema"
    assert refused.value.details["keyword"] == "minProperties"


@pytest.mark.parametrize(
    "body",
    [
        OPEN | {"minProperties": 1},
        OPEN | {"minProperties": 0, "maxProperties": 2},
        OPEN | {"minProperties": 3, "required": ["a", "b"]},
        LISTED | {"minProperties": 2},
        {"type": "string", "minProperties": 9},
    ],
)
def test_a_number_of_properties_that_different_names_must_reach_is_served(body: Any) -> None:
    decide(json_form(body))


@pytest.mark.parametrize("step", [999_999_937, 0.123456789, 12_345, float("inf"), float("nan")])
def test_a_step_that_takes_too_many_states_is_refused(step: float) -> None:
    with pytest.raises(BadRequest, match="`multipleOf`"):
        decide(json_form({"multipleOf": step}))


@pytest.mark.parametrize("step", [0.01, 2.5, 7, 9999, 1_000_000, 1e-9])
def test_a_step_of_few_digits_is_served(step: float) -> None:
    decide(json_form({"multipleOf": step}))


@pytest.mark.parametrize("body", [{"const": "x" * 5000}, {"enum": [[{"a": "x" * 5000}]]}, {"enum": [{"x" * 5000: 1}]}])
def test_a_constant_that_is_too_long_to_follow_is_refused(body: Any) -> None:
    settings = replace(SETTINGS, grammar_bytes_max=100_000)
    served = Policy([ServedModel("m", "chat", "scripted")], settings, {})
    with pytest.raises(BadRequest, match="more than 4000 characters"):
        served.decide(Ask(source=Talk(()), form=json_form(body)))


def test_a_form_that_waits_and_tools_are_refused_together() -> None:
    with pytest.raises(BadRequest, match="grammar_lazy"):
        decide(Form(kind="grammar", body='root ::= "a"', triggers=("x",)), tools=(ADD,))


def test_no_keyword_is_in_two_tables() -> None:
    tables = [schema.ENFORCED, schema.ANNOTATIONS, schema.REFUSED]
    assert sum(map(len, tables)) == len(set().union(*tables))
    assert set(schema.NEUTRAL) <= set(schema.REFUSED)


DEEP: Any = {"items": {"items": {"items": {"items": {"items": {"items": {}}}}}}}


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


@pytest.mark.parametrize(
    "body",
    [
        {"const": {"propertyNames": {}}},
        {"enum": [{"uniqueItems": False, "a": 1}]},
        {"properties": {"propertyNames": True, "dependencies": {}}, "required": ["propertyNames"]},
        {"default": {"uniqueItems": False}},
    ],
)
def test_data_and_names_that_look_like_keywords_stay(body: Any) -> None:
    plan = decide(json_form(body))
    assert plan.ask.form is not None
    assert plan.ask.form.body == body


def chain(length: int) -> Any:
    links: dict[str, Any] = {f"d{k}": {"items": {"$ref": f"#/$defs/d{k + 1}"}} for k in range(length)}
    return {"$ref": "#/$defs/d0", "$defs": links | {f"d{length}": {"type": "string"}}}


def test_a_chain_of_references_is_as_deep_as_it_is_long() -> None:
    policy = Policy([ServedModel("m", "chat", "scripted")], PolicySettings(), {})
    policy.decide(Ask(source=RawText(("a",)), form=json_form(chain(20))))
    with pytest.raises(BadRequest, match="references followed"):
        policy.decide(Ask(source=RawText(("a",)), form=json_form(chain(2000))))


def test_recursion_and_shared_parts_are_not_deep() -> None:
    node: Any = {"properties": {"left": {"$ref": "#/$defs/n"}, "right": {"$ref": "#/$defs/n"}, "up": {"$ref": "#"}}}
    decide(json_form({"$ref": "#/$defs/n", "$defs": {"n": node}}))


@pytest.mark.parametrize(
    ("form", "words"),
    [
        (json_form({"type": "string", "pattern": "^((c{1000}){999}){1000}$"}), "written out"),
        (json_form({"patternProperties": {"a{30000}": {}}}), "written out"),
        (Form(kind="regex", body="((d{1000}){999}){1000}", path="guided_regex"), "written out"),
        (Form(kind="grammar", body='root ::= ("a" | "b"){1000}{1000}', path="grammar"), "written out"),
        (Form(kind="grammar", body='r ::= "x"\n' * 401, path="grammar"), "401 rules"),
    ],
)
def test_what_is_small_to_write_and_large_to_compile_is_refused(form: Form, words: str) -> None:
    policy = Policy([ServedModel("m", "chat", "scripted")], PolicySettings(), {})
    with pytest.raises(BadRequest, match=words):
        policy.decide(Ask(source=RawText(("a",)), form=form))


@pytest.mark.parametrize("name", ['a"b', '"}', "a\\", "two words", "<tool_call>", "a\nb", "{x}"])
def test_a_name_that_no_format_can_carry_is_refused(name: str) -> None:
    with pytest.raises(BadRequest, match="other characters"):
        decide(tools=(Tool(name=name),))


@pytest.mark.parametrize("name", ["get_weather", "mcp__files.read/all:now", "größe", "a-b"])
def test_names_as_clients_send_them_are_fine(name: str) -> None:
    assert decide(tools=(Tool(name=name),))


def test_a_form_of_an_answer_that_has_begun_is_refused() -> None:
    talk = Talk((Turn(role="assistant", text="{"),), continues=True)
    policy = Policy([ServedModel("m", "chat", "scripted")], SETTINGS, {})
    with pytest.raises(BadRequest, match="goes on with a message"):
        policy.decide(Ask(source=talk, form=json_form({})))


@pytest.mark.parametrize("kind", ["array", "string", ["array", "null"]])
@pytest.mark.parametrize("strict", [False, True])
def test_arguments_that_are_no_object_are_refused(kind: Any, strict: bool) -> None:
    tool = Tool(name="a", parameters={"type": kind}, strict=strict, path="tools.0.function")
    with pytest.raises(BadRequest) as refused:
        decide(tools=(tool,))
    assert refused.value.param == "tools.0.function.parameters.type"


@pytest.mark.parametrize("parameters", [{}, {"type": "object"}, {"type": ["object", "null"]}, {"type": None}])
def test_arguments_that_may_be_an_object_are_taken(parameters: dict[str, Any]) -> None:
    assert decide(tools=(Tool(name="a", parameters=parameters),))
