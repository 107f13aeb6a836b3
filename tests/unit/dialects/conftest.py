"""A judge of response bodies: the published document, where a key that it does not name is an offence."""

from __future__ import annotations

import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest
from openapi_schema_validator import OAS30Validator, oas30_format_checker

OPEN = ("Health", "Model")  # accounts may say more than the document names; readers take what they know
Judge = Callable[[str, Any], None]


def closed(schema: Any) -> Any:
    """The schema, whose objects admit only the properties that it names, if it names any."""
    if isinstance(schema, list):
        return [closed(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    shut = {key: closed(value) for key, value in schema.items()}
    if "properties" in schema and "additionalProperties" not in schema and schema.get("type") == "object":
        shut["additionalProperties"] = False
    return shut


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Raises when a body is not what a schema of the document says."""
    document = json.loads(files("troth._generated").joinpath("openapi.json").read_text())
    published = document["components"]["schemas"]
    schemas = {name: schema if name in OPEN else closed(schema) for name, schema in published.items()}

    def check(name: str, body: Any) -> None:
        schema = {"$ref": f"#/components/schemas/{name}", "components": {"schemas": schemas}}
        OAS30Validator(schema, format_checker=oas30_format_checker).validate(json.loads(json.dumps(body)))

    return check
