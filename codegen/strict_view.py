"""The document as a client may use it: guarded fields narrowed to their neutral values, aliases left out."""

from __future__ import annotations

import copy
from typing import Any

from codegen.bundle import Document


def strict_view(document: Document) -> Document:
    """A copy in which every request that fits the schemas is served.

    A guarded property keeps only its neutral values and null; a required one that has none
    takes the whole object out of the unions that offer it. No query, header or path can say null.
    """
    view = copy.deepcopy(document)
    for parameter in view["components"].get("parameters", {}).values():
        parameter["schema"].pop("nullable", None)
    schemas = view["components"]["schemas"]
    impossible = {name for name, schema in schemas.items() if _narrow(schema)}
    for schema in schemas.values():
        _drop_from_unions(schema, {f"#/components/schemas/{name}" for name in impossible})
    for name in impossible:
        del schemas[name]
    return view


def _narrow(schema: Any) -> bool:
    """Narrow the properties of `schema` at any depth; True when a required one has no legal value."""
    if isinstance(schema, list):
        for item in schema:
            _narrow(item)
    if not isinstance(schema, dict):
        return False
    impossible = False
    properties: dict[str, Any] = schema.get("properties", {})
    for name, field in list(properties.items()):
        rule = field.get("x-contract", {})
        if rule.get("class") == "alias":
            del properties[name]
        elif rule.get("class") == "guarded" and not rule.get("neutral"):
            impossible = impossible or name in schema.get("required", [])
            properties[name] = _neutral_only(field, {"enum": []})
        elif rule.get("class") == "guarded":
            properties[name] = _neutral_only(field, rule["neutral"])
            if name in schema.get("required", []) and "enum" in properties[name]:
                properties[name]["enum"].remove(None)
        else:
            _narrow(field)
    for key, value in schema.items():
        if key == "allOf":
            verdicts = [_narrow(member) for member in value]
            impossible = impossible or any(verdicts)
        elif key != "properties":
            _narrow(value)
    return impossible


def _neutral_only(field: dict[str, Any], neutral: dict[str, Any]) -> dict[str, Any]:
    if "enum" in neutral:
        kept: dict[str, Any] = {key: value for key, value in field.items() if key in ("description", "x-contract")}
        return kept | {"enum": [*neutral["enum"], None]}
    return {key: value for key, value in field.items() if key != "oneOf"} | neutral


def _drop_from_unions(node: Any, impossible: set[str]) -> None:
    if isinstance(node, list):
        for item in node:
            _drop_from_unions(item, impossible)
    elif isinstance(node, dict):
        if isinstance(node.get("oneOf"), list):
            node["oneOf"] = [member for member in node["oneOf"] if member.get("$ref") not in impossible]
        mapping = node.get("mapping")
        if isinstance(mapping, dict):
            node["mapping"] = {tag: ref for tag, ref in mapping.items() if ref not in impossible}
        for value in node.values():
            _drop_from_unions(value, impossible)
