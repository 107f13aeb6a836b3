"""What does a schema say a value is? Enough of it to read values that are written without JSON's quotation marks."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

REFERENCES_MAX = 16
LITERALS = {"True": "true", "False": "false", "None": "null"}
KINDS: Mapping[type, frozenset[str]] = {
    bool: frozenset({"boolean"}),
    int: frozenset({"integer", "number"}),
    float: frozenset({"number"}),
    str: frozenset({"string"}),
    list: frozenset({"array"}),
    dict: frozenset({"object"}),
    type(None): frozenset({"null"}),
}
EVERYTHING = frozenset({"boolean", "integer", "number", "string", "array", "object", "null"})
_SAYING = frozenset({"type", "const", "enum"})


def resolved(schema: Any, root: Mapping[str, Any]) -> Any:
    """The schema itself, where it only points to a definition in `root`."""
    for _ in range(REFERENCES_MAX):
        if not isinstance(schema, Mapping) or not isinstance(schema.get("$ref"), str):
            break
        found: Any = root
        for step in schema["$ref"].removeprefix("#/").split("/"):
            found = found.get(step) if isinstance(found, Mapping) else None
        schema = found
    return schema


def kinds(schema: Any, root: Mapping[str, Any]) -> frozenset[str]:
    """The JSON types that a value may have. Every part of the schema is looked at once."""
    found: frozenset[str] = frozenset()
    waiting, seen = [schema], set[int]()
    while waiting and found != EVERYTHING:
        part = resolved(waiting.pop(), root)
        if id(part) not in seen:
            seen.add(id(part))
            more = _choices(part)
            waiting.extend(more)
            found |= _own_kinds(part) if not more else frozenset()
    return found


def _choices(schema: Any) -> list[Any]:
    """The alternatives of a schema that is nothing but alternatives."""
    if not isinstance(schema, Mapping) or not _SAYING.isdisjoint(schema):
        return []
    return next((schema[key] for key in ("anyOf", "oneOf") if isinstance(schema.get(key), list)), [])


def _own_kinds(schema: Any) -> frozenset[str]:
    if not isinstance(schema, Mapping):
        return EVERYTHING
    named = schema.get("type")
    if isinstance(named, str):
        return frozenset({named})
    if isinstance(named, list):
        return frozenset(each for each in named if isinstance(each, str))
    if "const" in schema:
        return KINDS.get(type(schema["const"]), EVERYTHING)
    if isinstance(schema.get("enum"), list):
        return frozenset().union(*(KINDS.get(type(each), EVERYTHING) for each in schema["enum"]))
    return EVERYTHING


def property_schema(parameters: Mapping[str, Any], key: str) -> Any:
    """The schema of one argument; None when nothing is said of it."""
    properties = parameters.get("properties")
    found = properties.get(key) if isinstance(properties, Mapping) else None
    if found is None and isinstance(parameters.get("additionalProperties"), Mapping):
        return parameters["additionalProperties"]
    return found


def as_json(text: str, allowed: frozenset[str]) -> str:
    """A value that was written raw, as JSON: what it is as JSON if it may be that, else a string."""
    bare = text.strip()
    bare = LITERALS.get(bare, bare)
    try:
        value = json.loads(bare, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return json.dumps(text, ensure_ascii=False)
    if KINDS[type(value)] & allowed and not (isinstance(value, str) and "string" in allowed):
        return bare
    if isinstance(value, float) and value.is_integer() and "integer" in allowed:
        return bare
    return json.dumps(text, ensure_ascii=False)


def _refuse(constant: str) -> None:
    raise ValueError(constant)
