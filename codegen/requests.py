"""Finds what a request is made of in the source: its schemas, properties and parameters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from codegen.source import Node, Source

COMBINERS = ("oneOf", "anyOf", "allOf")


@dataclass(frozen=True, slots=True)
class Property:
    """One field of a request: its name, its schema as written, and the object schema that holds it."""

    name: str
    node: Node
    siblings: frozenset[str]
    required: bool


def request_schemas(source: Source, operation: Node | None = None) -> list[Node]:
    """Every schema of the request body of one operation, or of all, at any depth, each once."""
    seen: dict[tuple[str, str], Node] = {}
    for each in [operation] if operation else [node for _, _, node in source.operations()]:
        if _has(each, "requestBody"):
            for media in source.follow(each.child("requestBody")).child("content").children():
                _collect(source, media.child("schema"), seen)
    return list(seen.values())


def request_properties(source: Source) -> Iterator[Property]:
    """Every property of every request body, at any depth."""
    for schema in request_schemas(source):
        if not _has(schema, "properties"):
            continue
        names = frozenset(schema.data["properties"])
        required = schema.data.get("required", ())
        for node in schema.child("properties").children():
            name = node.pointer.rsplit("/", 1)[1]
            yield Property(name, node, names, name in required)


def parameters(source: Source) -> Iterator[Node]:
    """Every parameter of every operation, each once."""
    seen: set[tuple[str, str]] = set()
    for _, _, operation in source.operations():
        if not _has(operation, "parameters"):
            continue
        for entry in operation.child("parameters").children():
            node = source.follow(entry)
            if (node.file, node.pointer) not in seen:
                seen.add((node.file, node.pointer))
                yield node


def accepts_null(source: Source, schema: Node) -> bool:
    """True when null fits the schema, as OpenAPI 3.0.3 reads it."""
    schema = source.follow(schema)
    data = schema.data
    if "type" in data:
        return data.get("nullable") is True and ("enum" not in data or None in data["enum"])
    for word in ("oneOf", "anyOf"):
        if word in data:
            return any(accepts_null(source, member) for member in schema.child(word).children())
    if "allOf" in data:
        return all(accepts_null(source, member) for member in schema.child("allOf").children())
    return True


def _collect(source: Source, schema: Node, seen: dict[tuple[str, str], Node]) -> None:
    schema = source.follow(schema)
    if (schema.file, schema.pointer) in seen or not isinstance(schema.data, dict):
        return
    seen[schema.file, schema.pointer] = schema
    for word in COMBINERS:
        if _has(schema, word):
            for member in schema.child(word).children():
                _collect(source, member, seen)
    for word in ("items", "additionalProperties"):
        if _has(schema, word):
            _collect(source, schema.child(word), seen)
    if _has(schema, "properties"):
        for each in schema.child("properties").children():
            _collect(source, each, seen)


def _has(node: Node, key: str) -> bool:
    return isinstance(node.data, dict) and key in node.data
