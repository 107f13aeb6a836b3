"""The request fields of the document at all depths, read independently of the generator, and values for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from tests.support.judge import Document, published_document
from troth.contract import Neutral

Schema = dict[str, Any]
Body = dict[str, Any]

CHAT = "ChatCompletionRequest"
QUESTION = {"role": "user", "content": "Hello"}
TEXT = "Hello"
CALL = {"role": "assistant", "function_call": {"name": TEXT, "arguments": "{}"}}
ANYTHING: tuple[Any, ...] = ({"a": [1]}, "any text", -7.5)  # values for a field whose type is not declared


@dataclass(frozen=True, slots=True)
class RequestField:
    """One field: where it stands (`messages[user].content[text].text`), its schema and its contract class."""

    path: str
    schema: Schema
    required: bool

    @property
    def contract_class(self) -> str:
        """honoured, inert, guarded, alias or clamped."""
        return str(self.schema["x-contract"]["class"])

    @property
    def neutral(self) -> Mapping[str, Any] | None:
        """The keyword that tells the values that ask for nothing."""
        found: Mapping[str, Any] | None = self.schema["x-contract"].get("neutral")
        return found

    @property
    def words(self) -> str:
        """What an error message says a client may send."""
        if self.required and self.neutral is None:
            return "leave out the object that it belongs to"
        return Neutral.of(self.neutral).words


def fields_of(document: Document, name: str = CHAT) -> dict[str, RequestField]:
    """Every field of a request, by path."""
    return {field.path: field for field in _fields(document, document["components"]["schemas"][name], "")}


def impossible(fields: Mapping[str, RequestField]) -> frozenset[str]:
    """The objects (by path) that cannot be sent: a field that they need is guarded at every value."""
    return frozenset(
        field.path.rpartition(".")[0]
        for field in fields.values()
        if field.required and field.contract_class == "guarded" and field.neutral is None
    )


def _fields(document: Document, schema: Schema, at: str) -> Iterator[RequestField]:
    schema = _resolved(document, schema)
    required = set(schema.get("required", []))
    for member in schema.get("allOf", []):
        required |= set(_resolved(document, member).get("required", []))
    for name, field in schema.get("properties", {}).items():
        yield RequestField(at + name, field, name in required)
        yield from _below(document, field, at + name)
    for member in schema.get("allOf", []):
        yield from _fields(document, member, at)


def _below(document: Document, field: Schema, at: str) -> Iterator[RequestField]:
    field = _resolved(document, field)
    options = [field, *field.get("oneOf", []), *field.get("allOf", [])]
    for option in (_resolved(document, each) for each in options):
        if option.get("properties"):
            yield from _fields(document, option, at + ".")
        items = _resolved(document, option.get("items", {}))
        if "discriminator" in items:
            by_target: dict[str, list[str]] = {}
            for tag, target in items["discriminator"]["mapping"].items():
                by_target.setdefault(target, []).append(tag)
            for target, tags in by_target.items():
                yield from _fields(document, {"$ref": target}, f"{at}[{'|'.join(tags)}].")
        elif items.get("properties"):
            yield from _fields(document, items, f"{at}[].")


def _resolved(document: Document, schema: Schema) -> Schema:
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    found: Schema = document["components"]["schemas"][name]
    return found


# ---- bodies --------------------------------------------------------------------------------------


def body_with(path: str, value: Any, **rest: Any) -> tuple[Body, str]:
    """A chat request in which the field at `path` has `value`, and how errors name that field."""
    base: Body = {"messages": [QUESTION], **rest}
    if path.startswith("tool_choice."):
        base["tools"] = [{"type": "function", "function": {"name": TEXT}}]
    body, at = filled(CHAT, base, path, value)
    if path.startswith("messages[function]"):  # a result stands behind the call that it answers
        body["messages"] = [CALL, *body["messages"], QUESTION]
        return body, at.replace("messages.0.", "messages.1.")
    if path.startswith("messages["):
        body["messages"] = [*body["messages"], QUESTION]
    return body, at


def filled(name: str, base: Body, path: str, value: Any) -> tuple[Body, str]:
    """The request `base` with `value` in the field at `path`, and how errors name that field.

    Objects on the way there that `base` lacks are made, with what they require and nothing else.
    """
    document = published_document()
    body = json.loads(json.dumps(base))
    schema: Schema = {"$ref": f"#/components/schemas/{name}"}
    here, at = body, ""
    steps = _steps(document, path)
    for (step, tag), (following, _) in pairwise(steps):
        schema = _property(document, schema, step)
        at += f"{step}."
        if tag is None:
            options: list[Schema] = [each for each in schema.get("oneOf", []) if _property(document, each, following)]
            if not isinstance(here.get(step), dict):
                here[step] = minimal(options[0] if options else schema, document)
            here = here[step]
        else:
            schema = _items(document, schema, tag)
            here[step] = [minimal(schema, document, tag)]
            here, at = here[step][0], f"{at}0."
    last = steps[-1][0]
    here[last] = value
    return body, at + last


def minimal(schema: Schema, document: Document, tag: str = "") -> Any:
    """A value that the schema takes: what is required, at its first legal value. `tag` tells variants apart."""
    schema = _resolved(document, schema)
    contract = schema.get("x-contract", {})
    if contract.get("class") == "guarded" and "enum" in (contract.get("neutral") or {}):
        return contract["neutral"]["enum"][0]
    if "example" in schema:
        return schema["example"]
    if schema.get("enum"):
        return tag if tag in schema["enum"] else schema["enum"][0]
    for union in ("oneOf", "anyOf"):
        if union in schema:
            return minimal(schema[union][0], document, tag)
    members = schema.get("allOf", [])
    match schema.get("type"):
        case "string":
            return TEXT
        case "integer" | "number":
            return schema.get("minimum", 0)
        case "boolean":
            return False
        case "array":
            return [minimal(schema["items"], document)] * schema.get("minItems", 0)
        case _:
            made: Body = {}
            for member in members:
                made |= minimal(member, document, tag)
            for name in schema.get("required", []):
                made[name] = minimal(_property(document, schema, name), document, tag)
            return made


def _steps(document: Document, path: str) -> list[tuple[str, str | None]]:
    """The names on a path, each with the variant of the items that it is about; None where it is no list."""
    if path.startswith("speculative."):
        return [(path, None)]
    steps: list[tuple[str, str | None]] = []
    for part in path.split("."):
        name, bracket, variant = part.partition("[")
        steps.append((name, variant.rstrip("]").split("|")[0] if bracket else None))
    return steps


def _property(document: Document, schema: Schema, name: str) -> Schema:
    schema = _resolved(document, schema)
    if name in schema.get("properties", {}):
        return dict(schema["properties"][name])
    for member in (*schema.get("allOf", []), *schema.get("oneOf", [])):
        if found := _property(document, member, name):
            return found
    return {}


def _items(document: Document, schema: Schema, tag: str) -> Schema:
    """What the items of a list are, of the variant `tag`."""
    for option in [schema, *schema.get("oneOf", [])]:
        if "items" in option:
            items = _resolved(document, option["items"])
            mapping = items.get("discriminator", {}).get("mapping", {})
            return {"$ref": mapping[tag]} if tag in mapping else items
    raise AssertionError(f"no list: {schema}")


# ---- values --------------------------------------------------------------------------------------


def neutral_values(field: RequestField) -> list[Any]:
    """The values of a field, null aside, that ask for nothing."""
    if not field.neutral:
        return []
    ((keyword, bound),) = field.neutral.items()
    empty: Mapping[str, Any] = {"maxItems": [], "maxProperties": {}, "maxLength": ""}
    if keyword == "enum":
        return list(bound)
    if keyword == "maximum":
        return sorted({bound, field.schema.get("minimum", bound)})
    return [empty[keyword]]


def asking_values(field: RequestField) -> list[Any]:
    """Legal values of a field that ask for something."""
    neutral = Neutral.of(field.neutral)
    samples = _samples(field.schema, published_document())
    return [value for value in samples if value is not None and not neutral.accepts(value)]


def _samples(schema: Schema, document: Document) -> Iterator[Any]:
    match schema.get("type"):
        case "boolean":
            yield from (True, False)
        case "integer":
            yield from _numbers(schema, (2, 1, 0, 3))
        case "number":
            yield from _numbers(schema, (0.5, 1.5))
        case "string":
            yield from schema.get("enum", ["t" if "pattern" in schema else "other"])
        case "array":
            yield [next(_samples(schema["items"], document))] * schema.get("minItems", 1)
        case "object":
            yield from _objects(schema, document)
        case None if "$ref" in schema:
            yield from _samples(_resolved(document, schema), document)
        case None if "oneOf" in schema or "anyOf" in schema:
            for option in schema.get("oneOf") or schema["anyOf"]:
                yield from _samples(option, document)
        case None:
            yield from ANYTHING


def _objects(schema: Schema, document: Document) -> Iterator[Any]:
    """Objects with what they require, once for each value of a field that has few."""
    required = schema.get("required", [])
    least = minimal({key: value for key, value in schema.items() if key != "x-contract"}, document)
    choices = [name for name in required if "enum" in _property(document, schema, name)]
    if not required:
        yield {"a": 1}
    elif not choices:
        yield least
    for name in choices[:1]:
        yield from ({**least, name: value} for value in _property(document, schema, name)["enum"])


def _numbers(schema: Schema, candidates: tuple[Any, ...]) -> Iterator[Any]:
    low, high = schema.get("minimum", 0), schema.get("maximum", 1)
    yield from (number for number in candidates if low <= number <= high)


def as_json(value: Any) -> str:
    """`value` as an error message writes it."""
    return json.dumps(value)
