"""The rules about schemas."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from codegen.findings import Finding, at
from codegen.requests import accepts_null, parameters, request_properties, request_schemas
from codegen.source import CONTENTS, Node, Source

# fmt: off
NEWER_KEYWORDS = frozenset((
    "const", "prefixItems", "$defs", "$id", "$schema", "$anchor", "if", "then", "else", "contains", "minContains",
    "maxContains", "unevaluatedProperties", "unevaluatedItems", "dependentRequired", "dependentSchemas",
    "patternProperties", "propertyNames", "webhooks", "jsonSchemaDialect", "contentEncoding", "contentMediaType",
))
# fmt: on
CLASSES = {
    "honoured": {"neutral"},
    "inert": set(),
    "guarded": {"neutral", "instead"},
    "alias": {"of"},
    "clamped": {"to"},
}
NEUTRALS = {"enum", "maximum", "maxItems", "maxProperties", "maxLength"}
TYPES: dict[str, type | tuple[type, ...]] = {
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
    "array": list,
    "object": dict,
}


def only_openapi_3_0_3(source: Source) -> Iterator[Finding]:
    """S1: version 3.0.3; no keyword and no spelling of 3.1."""
    contents = source.node(CONTENTS)
    if contents.data.get("openapi") != "3.0.3":
        yield at("S1", contents, f"openapi is {contents.data.get('openapi')}", "write openapi: 3.0.3")
    for node in _schema_objects(source):
        for word in sorted(NEWER_KEYWORDS & _words(node)):
            yield at("S1", node, f"{word} is not in 3.0", "use a 3.0 keyword, such as an enum of one value for const")
        if isinstance(node.data.get("type"), list):
            yield at("S1", node, "type is a list", "write one type, and nullable: true for null")
        for word in ("exclusiveMinimum", "exclusiveMaximum"):
            if word in node.data and not isinstance(node.data[word], bool):
                yield at("S1", node, f"{word} is a number", f"put the number in the bound and write {word}: true")


def fields_have_a_contract(source: Source) -> Iterator[Finding]:
    """S3: a description, and a class with the arguments that it takes."""
    for each in request_properties(source):
        yield from _described_with_contract(each.node, each.siblings, source)
    for node in parameters(source):
        yield from _described_with_contract(node, frozenset(), source)


def null_spelled_right(source: Source) -> Iterator[Finding]:
    """S6: `nullable` without `type` beside it, or beside an enum without null, is read by no tool."""
    for node in _schema_objects(source):
        if node.data.get("nullable") is not True:
            continue
        if "type" not in node.data:
            yield at("S6", node, "nullable without type is not read", "put nullable beside the type of one member")
        elif "enum" in node.data and None not in node.data["enum"]:
            yield at("S6", node, "nullable, but the enum refuses null", "add null to the enum")


def requests_open(source: Source) -> Iterator[Finding]:
    """S8: no request schema closes itself to unknown fields."""
    for schema in request_schemas(source):
        if schema.data.get("additionalProperties") is False:
            yield at("S8", schema, "the schema is closed", "leave additionalProperties out")


def no_defaults(source: Source) -> Iterator[Finding]:
    """S10: defaults are the configuration's; the description may tell them."""
    for each in (*request_schemas(source), *parameters(source)):
        for node in (each, *([each.child("schema")] if "schema" in each.data else [])):
            if "default" in node.data:
                yield at("S10", node, "a request field has a default", "describe it, and let the configuration decide")


def optional_fields_accept_null(source: Source) -> Iterator[Finding]:
    """S11: null means absent, so what may be absent may be null."""
    for each in request_properties(source):
        if not each.required and not accepts_null(source, each.node):
            yield at("S11", each.node, "an optional field refuses null", "write nullable: true beside its type")
    for node in parameters(source):
        if not node.data.get("required") and not accepts_null(source, node.child("schema")):
            yield at("S11", node, "an optional parameter refuses null", "write nullable: true beside its type")


def texts_are_texts(source: Source) -> Iterator[Finding]:
    """S12: YAML 1.1 reads off, on, yes, no and null as other things than words."""
    for root in source.nodes():
        for node in root.walk():
            for key in node.data if isinstance(node.data, dict) else ():
                if not isinstance(key, str):
                    yield at("S12", node, f"the key {key!r} is not a text", "put it in quotes")
    for node in _schema_objects(source):
        kind = node.data.get("type")
        for value in node.data.get("enum", ()):
            if value is not None and kind in TYPES and not _is_of(value, TYPES[kind]):
                yield at("S12", node, f"the enum value {value!r} is not of type {kind}", "put it in quotes")


def numbers_bounded(source: Source) -> Iterator[Finding]:
    """S13: an unbounded number is a way to kill an engine."""
    schemas = [*request_schemas(source), *(node.child("schema") for node in parameters(source))]
    for schema in schemas:
        if schema.data.get("type") in ("integer", "number") and not {"minimum", "maximum"} <= set(schema.data):
            yield at("S13", schema, "a request number without both bounds", "write minimum and maximum")


def unions_discriminated(source: Source) -> Iterator[Finding]:
    """S15: without a discriminator every member is tried, and the error speaks of all of them."""
    for schema in request_schemas(source):
        members = [
            source.follow(each)
            for word in ("oneOf", "anyOf")
            if word in schema.data
            for each in schema.child(word).children()
        ]
        objects = [each for each in members if "properties" in each.data or "allOf" in each.data]
        if len(objects) > 1 and "discriminator" not in schema.data:
            yield at(
                "S15", schema, "a union of objects without a discriminator", "name the property that tells them apart"
            )


def references_alone(source: Source) -> Iterator[Finding]:
    """S16: what stands beside `$ref` is read by some tools and skipped by others."""
    for root in source.nodes():
        for node in root.walk():
            if isinstance(node.data, dict) and isinstance(node.data.get("$ref"), str) and len(node.data) > 1:
                yield at("S16", node, "keys beside $ref", "put the reference in allOf, with the keys beside it")


def _described_with_contract(node: Node, siblings: frozenset[str], source: Source) -> Iterator[Finding]:
    if not isinstance(node.data.get("description"), str):
        yield at("S3", node, "a request field without a description", "say what it does in one sentence")
    contract = node.data.get("x-contract")
    if not isinstance(contract, dict) or contract.get("class") not in CLASSES:
        yield at(
            "S3",
            node,
            "a request field without a contract class",
            f"write x-contract: {{class: {' | '.join(CLASSES)}}}",
        )
        return
    allowed = CLASSES[contract["class"]]
    given = set(contract) - {"class"}
    if given - allowed or (allowed - {"neutral", "instead"}) - given:
        yield at("S3", node, f"x-contract has {sorted(given)}", f"class {contract['class']} takes {sorted(allowed)}")
    elif "neutral" in contract:
        yield from _neutral(node, contract["neutral"])
    elif "of" in contract:
        yield from _alias(node, contract["of"], siblings, source)


def _neutral(node: Node, neutral: Any) -> Iterator[Finding]:
    well_formed = isinstance(neutral, dict) and len(neutral) == 1 and set(neutral) <= NEUTRALS
    if not well_formed:
        yield at("S3", node, f"neutral is {neutral!r}", f"write one of {sorted(NEUTRALS)}")
        return
    ((word, bound),) = neutral.items()
    if word == "enum" and not (isinstance(bound, list) and bound):
        yield at("S3", node, "neutral enum is empty", "list the values that ask for nothing")
    elif word.startswith("max") and word != "maximum" and bound != 0:
        yield at("S3", node, f"neutral {word} is {bound!r}", "write 0: only the empty value asks for nothing")


def _alias(node: Node, target: str, siblings: frozenset[str], source: Source) -> Iterator[Finding]:
    if target not in siblings:
        yield at("S3", node, f"alias of {target}, which is not in the same object", "name a field of the same object")
        return
    parent = Node(node.file, "", source.files[node.file])
    for step in node.pointer.strip("/").split("/")[:-1]:
        parent = parent.child(int(step) if isinstance(parent.data, list) else step)
    if parent.data[target].get("x-contract", {}).get("class") == "alias":
        yield at("S3", node, f"alias of {target}, which is an alias itself", "name the field that the other one names")


def _schema_objects(source: Source) -> Iterator[Node]:
    """Every object that may be a schema: `properties` maps names, and is none itself."""
    for root in source.nodes():
        yield from _objects(root, is_map=True)


def _objects(node: Node, *, is_map: bool) -> Iterator[Node]:
    if isinstance(node.data, dict):
        if not is_map:
            yield node
        for key in node.data:
            name = str(key)
            if is_map or not (name.startswith("x-") or name in ("enum", "example", "examples", "mapping", "default")):
                yield from _objects(node.child(key), is_map=not is_map and name in ("properties", "paths", "headers"))
    elif isinstance(node.data, list):
        for child in node.children():
            yield from _objects(child, is_map=False)


def _words(node: Node) -> set[str]:
    return {key for key in node.data if isinstance(key, str)}


def _is_of(value: Any, kind: type | tuple[type, ...]) -> bool:
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
