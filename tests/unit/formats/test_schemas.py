"""What a schema says a value is, and what a raw text is by it."""

from __future__ import annotations

from typing import Any

import pytest

from troth.formats.schemas import EVERYTHING, as_json, kinds, property_schema, resolved

ROOT: dict[str, Any] = {
    "$defs": {"text": {"type": "string"}, "loop": {"$ref": "#/$defs/loop"}},
    "properties": {"a": {"$ref": "#/$defs/text"}},
    "additionalProperties": {"type": "integer"},
}


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        ({"type": "string"}, {"string"}),
        ({"type": ["string", "null"]}, {"string", "null"}),
        ({"enum": ["a", 1]}, {"string", "integer", "number"}),
        ({"const": True}, {"boolean"}),
        ({"anyOf": [{"type": "array"}, {"$ref": "#/$defs/text"}]}, {"array", "string"}),
        ({"$ref": "#/$defs/text"}, {"string"}),
        ({"$ref": "#/$defs/none"}, EVERYTHING),
        ({"$ref": "#/$defs/loop"}, EVERYTHING),
        ({}, EVERYTHING),
        (True, EVERYTHING),
        (None, EVERYTHING),
    ],
)
def test_the_types_that_a_value_may_have(schema: Any, said: set[str]) -> None:
    assert kinds(schema, ROOT) == said


def test_arguments_that_are_not_declared_have_the_schema_of_the_others() -> None:
    assert resolved(property_schema(ROOT, "a"), ROOT) == {"type": "string"}
    assert property_schema(ROOT, "b") == {"type": "integer"}
    assert property_schema({}, "b") is None


@pytest.mark.parametrize(
    ("text", "allowed", "said"),
    [
        ("3", {"integer"}, "3"),
        ("3.0", {"integer"}, "3.0"),
        ("3", {"string", "null"}, '"3"'),
        ("[1", {"array"}, '"[1"'),
        ("Infinity", {"number"}, '"Infinity"'),
        ("[" * 100_000, {"array"}, None),
    ],
)
def test_a_raw_text_is_what_it_may_be(text: str, allowed: set[str], said: str | None) -> None:
    assert as_json(text, frozenset(allowed)) == (said or f'"{text}"')
