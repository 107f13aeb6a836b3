"""Writes the tables of operations and of request fields."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from codegen.bundle import Document, handler_of, operations
from codegen.models import formatted, parameters_model, parameters_of, with_parameters

OPERATIONS_HEAD = '''
from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation: its name on the wire, where it stands, and its attribute's name."""

    name: str
    location: Literal["path", "query", "header"]
    attribute: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the document. `handler` is the name of the Python function that answers it."""

    id: str
    handler: str
    method: str
    path: str
    dialect: Literal["openai", "anthropic", "native"]
    body_model: str | None
    parameters_model: str | None
    parameters: tuple[Parameter, ...]
    media: tuple[str, ...]
    streams: bool
    open: bool
    summary: str


'''

FIELDS_HEAD = '''
from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

ContractClass = Literal["honoured", "inert", "guarded", "alias", "clamped"]


@dataclass(frozen=True, slots=True)
class FieldRule:
    """The contract class of one request field, as the document declares it."""

    contract_class: ContractClass
    neutral: Mapping[str, Any] | None = None
    of: str | None = None
    to: str | None = None


'''


def write_operations(document: Document, header: str) -> str:
    """The Python text of the table of operations, by operationId."""
    rows = [f"    {row['id']!r}: {_call('Operation', row)}," for row in operation_rows(document)]
    return formatted(header + OPERATIONS_HEAD + "\n".join(["OPERATIONS: dict[str, Operation] = {", *rows, "}", ""]))


def write_fields(document: Document, header: str) -> str:
    """The Python text of the table of request fields, by model and by path on the wire.

    A path names the keys from the body down: `a.b` inside an object, `a[].b` inside the items of a
    list, `a[tag].b` inside the items that have this tag.
    """
    lines = ["FIELDS: dict[str, dict[str, FieldRule]] = {"]
    prefixes = ["PREFIXES: dict[str, dict[str, str]] = {"]
    for model, schema in request_models(document).items():
        lines.append(f"    {model!r}: {{")
        lines += [f"        {path!r}: {_call('FieldRule', rule)}," for path, rule in field_rules(document, schema)]
        lines.append("    },")
        if "x-contract-prefixes" in schema:
            prefixes.append(f"    {model!r}: {schema['x-contract-prefixes']!r},")
    return formatted(header + FIELDS_HEAD + "\n".join([*lines, "}", "", *prefixes, "}", ""]))


def operation_rows(document: Document) -> list[dict[str, Any]]:
    """The rows of the table of operations, in the order of the document."""
    rows = []
    for path, method, operation in operations(document):
        answer = operation["responses"]["200"]
        media = tuple(answer["content"])
        parameters = parameters_of(document, operation)
        rows.append(
            {
                "id": operation["operationId"],
                "handler": handler_of(operation["operationId"]),
                "method": method.upper(),
                "path": path,
                "dialect": operation["x-error-style"],
                "body_model": _body_model(operation),
                "parameters_model": parameters_model(operation["operationId"]) if parameters else None,
                "parameters": [(each["name"], each["in"], attribute_of(each["name"])) for each in parameters],
                "media": media,
                "streams": "text/event-stream" in media,
                "open": operation.get("security", document.get("security")) == [],
                "summary": operation["summary"],
            }
        )
    return rows


def request_models(document: Document) -> dict[str, dict[str, Any]]:
    """Name and schema of every model that a request is read into: bodies, then parameters."""
    full = with_parameters(document)
    schemas = full["components"]["schemas"]
    rows = operation_rows(document)
    bodies = [row["body_model"] for row in rows if row["body_model"]]
    parameters = [row["parameters_model"] for row in rows if row["parameters_model"]]
    return {name: schemas[name] for name in dict.fromkeys(bodies + parameters)}


def field_rules(document: Document, schema: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and rule of every request field of `schema`, at any depth."""
    for path, field in request_fields(document, schema):
        contract = field["x-contract"]
        yield (
            path,
            {
                "contract_class": contract["class"],
                **{key: contract[key] for key in ("neutral", "of", "to") if key in contract},
            },
        )


def request_fields(document: Document, schema: dict[str, Any], under: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Path and schema of every request field of `schema`, at any depth."""
    for name, field in properties_of(document, schema).items():
        path = f"{under}{name}"
        yield path, field
        yield from _inside(document, field, path)


def properties_of(document: Document, schema: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The properties of an object schema, those of its `allOf` members included."""
    schema = resolved(document, schema)
    found: dict[str, dict[str, Any]] = {}
    for member in schema.get("allOf", []):
        found.update(properties_of(document, member))
    found.update(schema.get("properties", {}))
    return found


def resolved(document: Document, schema: dict[str, Any]) -> dict[str, Any]:
    """`schema`, or the component that it refers to."""
    while "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def attribute_of(name: str) -> str:
    """The Python name of a wire name, as the generator of the models writes it."""
    return re.sub(r"\W", "_", name)


def _inside(document: Document, field: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    field = resolved(document, field)
    for branch in (field, *field.get("oneOf", []), *field.get("anyOf", [])):
        branch = resolved(document, branch)
        if "items" in branch:
            yield from _items(document, resolved(document, branch["items"]), path)
        elif properties_of(document, branch):
            yield from request_fields(document, branch, path + ".")


def _items(document: Document, items: dict[str, Any], path: str) -> Iterator[tuple[str, dict[str, Any]]]:
    mapping = items.get("discriminator", {}).get("mapping")
    if mapping is None:
        if properties_of(document, items):
            yield from request_fields(document, items, f"{path}[].")
        return
    tags: dict[str, list[str]] = {}
    for tag, ref in mapping.items():
        tags.setdefault(ref, []).append(tag)
    for ref, names in tags.items():
        yield from request_fields(document, {"$ref": ref}, f"{path}[{'|'.join(names)}].")


def _body_model(operation: dict[str, Any]) -> str | None:
    for media in operation.get("requestBody", {}).get("content", {}).values():
        return str(media["schema"]["$ref"].rsplit("/", 1)[1])
    return None


def _call(name: str, arguments: dict[str, Any]) -> str:
    words = []
    for key, value in arguments.items():
        text = repr(value)
        if key == "parameters":
            text = "(" + "".join(f"Parameter{row!r}, " for row in value) + ")"
        words.append(f"{key}={text}")
    return f"{name}({', '.join(words)})"
