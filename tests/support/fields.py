"""The request fields of the document at all depths, read independently of the generator, and values for them."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.support.judge import Document
from troth.contract import Neutral

Schema = dict[str, Any]
Body = dict[str, Any]

CHAT = "ChatCompletionRequest"
QUESTION = {"role": "user", "content": "Hello"}
TEXT = "Hello"
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
    if field.get("properties"):
        yield from _fields(document, field, at + ".")
    for option in [field, *field.get("oneOf", [])]:
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
    if not path.startswith("messages["):
        body: Body = {"messages": [QUESTION], **rest}
        return _put(body, path, value), path
    variant, _, inner = path.removeprefix("messages[").partition("].")
    role = variant.split("|")[0]
    message: Body = {"role": role, "content": TEXT}
    at = "messages.0."
    if inner.startswith("content["):
        kind, _, inner = inner.removeprefix("content[").partition("].")
        part: Body = {"type": kind or "text", kind or "text": TEXT}
        message["content"] = [_put(part, inner, value)]
        at += "content.0."
    else:
        _put(message, inner, value)
    return {"messages": [message, QUESTION], **rest}, at + inner


def _put(target: Body, path: str, value: Any) -> Body:
    here = target
    *parents, last = [path] if path in target or path.startswith("speculative") else path.split(".")
    for name in parents:
        here = here.setdefault(name, {})
    here[last] = value
    return target


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
    return [value for value in _samples(field.schema) if not neutral.accepts(value)]


def _samples(schema: Schema) -> Iterator[Any]:
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
            yield [next(_samples(schema["items"]))] * schema.get("minItems", 1)
        case "object":
            yield {"a": 1}
        case None if "oneOf" in schema or "anyOf" in schema:
            for option in schema.get("oneOf") or schema["anyOf"]:
                yield from _samples(option)
        case None if "$ref" in schema:
            yield from ["top_k"]
        case None:
            yield from ANYTHING


def _numbers(schema: Schema, candidates: tuple[Any, ...]) -> Iterator[Any]:
    low, high = schema.get("minimum", 0), schema.get("maximum", 1)
    yield from (number for number in candidates if low <= number <= high)


def as_json(value: Any) -> str:
    """`value` as an error message writes it."""
    return json.dumps(value)
