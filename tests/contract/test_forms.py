"""Answers held to a form: every seed gives a valid answer, on every API, whole and streamed."""

from __future__ import annotations

import json
import re
from typing import Any

import httpx
import jsonschema
import pytest

from tests.support.judge import chunks_of

Body = dict[str, Any]
CHAT = "/v1/chat/completions"
PERSON: Body = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "minLength": 1, "maxLength": 12, "pattern": "^[A-Z][a-z]+$"},
        "age": {"type": "integer", "minimum": 0, "maximum": 130},
        "role": {"enum": ["king", "fool"]},
        "tags": {"type": "array", "items": {"type": "string", "maxLength": 6}, "maxItems": 2},
    },
    "required": ["name", "age", "role", "tags"],
    "additionalProperties": False,
}
SCHEMAS: dict[str, Any] = {
    "person": PERSON,
    "number": {"type": "number", "minimum": -1, "exclusiveMaximum": 1, "multipleOf": 0.01},
    "multiple": {"type": "integer", "multipleOf": 7, "minimum": 10, "maximum": 60},
    "choice": {"anyOf": [{"const": "yes"}, {"const": None}, {"type": "boolean"}]},
    "date": {"type": "string", "format": "date"},
    "tuple": {"type": "array", "prefixItems": [{"enum": [1, 2]}, {"type": "boolean"}], "items": False},
    "list": {"type": "array", "items": {"type": "boolean"}, "minItems": 2, "maxItems": 3},
    "tree": {
        "$ref": "#/$defs/node",
        "$defs": {
            "node": {
                "type": "object",
                "properties": {"v": {"enum": [1, 2]}, "next": {"$ref": "#/$defs/node"}},
                "required": ["v"],
                "additionalProperties": False,
            }
        },
    },
    "contains": {"type": "string", "pattern": "[0-9]", "maxLength": 12},
    "escaped": {"type": "string", "pattern": "^a\\\\!$"},
    "short": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 2},
    "letters": {"type": "string", "pattern": "^[A-Z]\\S{1,3}$"},
    "anything": {"type": "object", "properties": {"a": True}, "required": ["a"], "maxProperties": 1},
    "both": {"allOf": [{"type": "string"}, {"maxLength": 4}, {"minLength": 2}]},
    "named": {
        "type": "object",
        "patternProperties": {"^x_[a-c]$": {"enum": [1]}},
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 2,
    },
}


def user(text: str = "Say something.") -> list[Body]:
    return [{"role": "user", "content": text}]


def asked(client: httpx.Client, path: str, body: Body) -> Any:
    response = client.post(path, json=body)
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("name", SCHEMAS)
def test_hot_answers_are_valid_by_an_independent_judge(name: str, client: httpx.Client) -> None:
    schema = SCHEMAS[name]
    judge = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
    body: Body = {
        "messages": user(), "n": 8, "seed": 1, "temperature": 1.5, "top_k": 0, "top_p": 1, "max_tokens": 250,
        "response_format": {"type": "json_schema", "json_schema": {"name": name, "schema": schema}},
    }  # fmt: skip
    complete = 0
    for choice in asked(client, CHAT, body)["choices"]:
        if choice["finish_reason"] == "stop":
            complete += 1
            judge.validate(json.loads(choice["message"]["content"]))
    assert complete, "no answer came to its end"


@pytest.mark.parametrize(
    ("path", "body", "text"),
    [
        (CHAT, {"messages": user(), "json_schema": {"const": 5}}, lambda a: a["choices"][0]["message"]["content"]),
        ("/v1/completions", {"prompt": "a", "json_schema": {"const": 5}}, lambda a: a["choices"][0]["text"]),
        ("/completion", {"prompt": "a", "json_schema": {"const": 5}}, lambda a: a["content"]),
        (
            "/v1/responses",
            {"input": "a", "text": {"format": {"type": "json_schema", "name": "n", "schema": {"const": 5}}}},
            lambda a: a["output"][0]["content"][0]["text"],
        ),
        (
            "/v1/messages",
            {"messages": user(), "output_config": {"format": {"type": "json_schema", "schema": {"const": 5}}}},
            lambda a: a["content"][0]["text"],
        ),
    ],
    ids=["chat", "completions", "native", "responses", "messages"],
)
def test_every_api_holds_an_answer_to_a_schema(path: str, body: Body, text: Any, client: httpx.Client) -> None:
    assert text(asked(client, path, body | {"max_tokens": 8})) == "5"


@pytest.mark.parametrize(
    ("fields", "pattern"),
    [
        ({"grammar": 'root ::= "yes" | "no" [0-9]{2}'}, "yes|no[0-9]{2}"),
        ({"guided_regex": "[a-c]{4,6}"}, "[a-c]{4,6}"),
        ({"structured_outputs": {"choice": ["red", "green"]}}, "red|green"),
        ({"response_format": {"type": "json_object"}, "max_tokens": 300}, r"(?s)\{.*\}"),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_grammars_patterns_and_choices_hold(fields: Body, pattern: str, client: httpx.Client) -> None:
    for seed in range(4):
        body = {"messages": user(), "max_tokens": 40, "temperature": 1, "seed": seed, **fields}
        choice = asked(client, CHAT, body)["choices"][0]
        if choice["finish_reason"] == "stop":
            assert re.fullmatch(pattern, choice["message"]["content"])


def test_a_stream_says_what_the_whole_answer_says_and_logprobs_go_along(client: httpx.Client) -> None:
    body: Body = {"messages": user(), "json_schema": PERSON, "temperature": 0, "max_tokens": 80, "logprobs": True}
    whole = asked(client, CHAT, body)["choices"][0]
    chunks = chunks_of(client.post(CHAT, json=body | {"stream": True}).text)
    deltas = [choice for chunk in chunks for choice in chunk["choices"]]
    assert "".join(delta["delta"].get("content") or "" for delta in deltas) == whole["message"]["content"]
    tokens = [entry["token"] for entry in whole["logprobs"]["content"]]
    assert "".join(tokens) == whole["message"]["content"]


def test_an_answer_that_is_complete_ends_at_once(client: httpx.Client) -> None:
    body = {"messages": user(), "json_schema": {"const": 5}, "max_tokens": 50, "ignore_eos": True}
    answer = asked(client, CHAT, body)
    assert answer["choices"][0]["finish_reason"] == "stop"
    assert answer["usage"]["completion_tokens"] <= 2


def test_a_cut_by_the_budget_says_length(client: httpx.Client) -> None:
    body = {"messages": user(), "json_schema": PERSON, "max_tokens": 3}
    assert asked(client, CHAT, body)["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize("keyword", ["not", "if", "uniqueItems", "contains", "propertyNames", "dependentRequired"])
def test_a_keyword_that_cannot_be_held_is_refused_with_its_pointer(keyword: str, client: httpx.Client) -> None:
    schema = {"type": "object", "properties": {"a": {keyword: {"x": 1} if keyword != "uniqueItems" else True}}}
    response = client.post(CHAT, json={"messages": user(), "json_schema": schema})
    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["code"], error["param"]) == ("unsupported_schema", "json_schema")
    assert error["details"] == {"keyword": keyword, "pointer": f"/properties/a/{keyword}"}


def test_the_table_of_keywords_in_health_is_true(client: httpx.Client) -> None:
    told = client.get("/health").json()["structured_output"]
    for keyword in told["refused"]:
        response = client.post(CHAT, json={"messages": user(), "json_schema": {keyword: {"x": 1}}, "max_tokens": 0})
        assert response.status_code == 400, keyword
        assert f"`{keyword}`" in response.json()["error"]["message"]
    for keyword in told["without_meaning"]:
        said = "https://json-schema.org/draft/2020-12/schema" if keyword == "$schema" else "x"
        body = {"messages": user(), "json_schema": {keyword: said, "const": 5}, "max_tokens": 4}
        assert asked(client, CHAT, body)["choices"][0]["message"]["content"] == "5", keyword


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "string", "pattern": "a(?<!b)"},
        {"type": "string", "pattern": "("},
        {"type": "strnig"},
        {"type": []},
        {"required": "a"},
        {"properties": []},
        {"enum": []},
        {"type": "integer", "minimum": 3, "maximum": 2},
        {"type": "string", "minLength": 3, "maxLength": 2},
        {"$ref": "#/$defs/nowhere"},
        False,
    ],
    ids=str,
)
def test_a_schema_that_nothing_can_have_is_a_bad_request(schema: Any, client: httpx.Client) -> None:
    response = client.post(CHAT, json={"messages": user(), "json_schema": schema, "max_tokens": 2})
    assert response.status_code == 400, response.text
    assert response.json()["error"]["param"] == "json_schema"


def test_a_hostile_form_neither_kills_nor_stalls_the_server(client: httpx.Client) -> None:
    deep: Any = {"type": "string"}
    for _ in range(60):
        deep = {"type": "array", "items": deep}
    hostile: list[Body] = [
        {"grammar": "root ::= " + "(" * 60000 + '"a"' + ")" * 60000},
        {"grammar": "root ::= root root"},
        {"grammar": 'root ::= ("a" | "a"){1,1000}' * 20},
        {"json_schema": {"type": "string", "pattern": "(a{1,1000}){1,1000}"}},
        {"json_schema": {"type": "string", "pattern": "^" + "(" * 3000 + "a" + ")" * 3000 + "$"}},
        {"json_schema": {"type": "string", "maxLength": 524288}},
        {"json_schema": {"enum": ["x" * 50_000] * 3}},
        {"json_schema": {"type": "array", "minItems": 100_000_000}},
        {"json_schema": deep},
        {"json_schema": {"$ref": "#"}},
        {"json_schema": {"anyOf": [{"$ref": "#/$defs/a"}], "$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}]}}}},
        {"guided_regex": "(" * 5000 + ")" * 5000},
        {"guided_regex": "(?=a)"},
        {"json_schema": {"type": "string", "pattern": "^+a$"}},
    ]
    for fields in hostile:
        response = client.post(CHAT, json={"messages": user(), "max_tokens": 2, **fields})
        assert response.status_code in (200, 400), f"{str(fields)[:80]}: {response.text[:200]}"
        assert len(response.content) < 4096
        assert client.get("/health").status_code == 200
