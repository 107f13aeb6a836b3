"""What a setting accepts, in words, read from the JSON schema of its class.

One description serves the fault messages and `config/reference.yaml`, for Troth's own sections and for the
options of any engine.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import BaseModel

from troth.config.faults import KeyPath, nearest


@dataclass(frozen=True, slots=True)
class Shape:
    """One place in a JSON schema."""

    node: Mapping[str, Any]
    definitions: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, model: type[BaseModel]) -> Shape:
        """The shape of a whole class."""
        schema = model.model_json_schema()
        return cls(schema, schema.get("$defs", {}))

    def _with(self, node: Mapping[str, Any]) -> Shape:
        if "$ref" in node:
            target = self.definitions[node["$ref"].rpartition("/")[2]]
            node = {**target, **{key: value for key, value in node.items() if key != "$ref"}}
        return Shape(node, self.definitions)

    def _options(self) -> list[Shape]:
        return [self._with(node) for node in self.node.get("anyOf", ())] or [self]

    def child(self, part: str | int) -> Shape:
        """The shape of one key or one list item; a shape that accepts anything where none is declared."""
        for option in self._options():
            node: Any = option.node
            if isinstance(part, int) and isinstance(node.get("items"), Mapping):
                return self._with(node["items"])
            if part in node.get("properties", {}):
                return self._with(node["properties"][part])
            if isinstance(node.get("additionalProperties"), Mapping):
                return self._with(node["additionalProperties"])
        return Shape({})

    def at(self, path: KeyPath) -> Shape:
        """The shape at the end of `path`."""
        shape = self
        for part in path:
            shape = shape.child(part)
        return shape

    def secret_at(self, path: KeyPath) -> bool:
        """True when the value at `path`, or anything that holds it, must not be printed."""
        return any(self.at(path[:end]).node.get("secret") for end in range(len(path) + 1))

    @property
    def names(self) -> tuple[str, ...]:
        """The keys that are accepted here."""
        return tuple(name for option in self._options() for name in option.node.get("properties", {}))

    @property
    def takes_text(self) -> bool:
        """True when some text is accepted here."""
        return any(option.node.get("type") == "string" for option in self._options())

    def may_mean(self, word: str) -> bool:
        """True when `word`, put in quotes, could be accepted here."""
        return any(
            word in option._choices() if option._choices() else option.node.get("type") == "string"
            for option in self._options()
        )

    @property
    def is_plain(self) -> bool:
        """True for one number, truth value or text; False for lists, mappings and anything."""
        types = {option.node.get("type") for option in self._options()}
        return types <= {"integer", "number", "boolean", "string", "null"}

    def _choices(self) -> list[Any]:
        return [self.node["const"]] if "const" in self.node else list(self.node.get("enum", ()))

    def meant(self, value: Any) -> str | None:
        """The accepted word that the text `value` most likely meant."""
        words = [choice for option in self._options() for choice in option._choices() if isinstance(choice, str)]
        return nearest(value, words) if isinstance(value, str) else None

    @property
    def words(self) -> str:
        """What is accepted: 'an integer of at least 1 or null'."""
        options = self._options()
        kinds = [option._words() for option in options if option.node.get("type") != "null"]
        if "form" in self.node:
            kinds = [self.node["form"]]
        if len(kinds) < len(options) and any(option.node.get("type") == "null" for option in options):
            kinds.append("null")
        return " or ".join(kinds)

    def _words(self) -> str:
        node = self.node
        if "form" in node:
            return str(node["form"])
        choices = [json.dumps(choice) for choice in self._choices()]
        if choices:
            return choices[0] if len(choices) == 1 else "one of " + ", ".join(choices)
        match node.get("type"):
            case "integer":
                return "an integer" + self._bounds()
            case "number":
                return "a number" + self._bounds()
            case "boolean":
                return "true or false"
            case "string":
                return "text" + (", not empty" if node.get("minLength") else "") + self._pattern()
            case "array":
                return self._list_words()
            case "object":
                return "a mapping" + (f" with the keys {', '.join(self.names)}" if self.names else "")
        return "a value"

    def _list_words(self) -> str:
        least = self.node.get("minItems")
        words = "a list" if least is None else f"a list of at least {least}"
        item = self.child(0)
        return f"{words}, each entry {item.words}" if item.is_plain else words

    def _pattern(self) -> str:
        return f" that matches {self.node['pattern']}" if "pattern" in self.node else ""

    def _bounds(self) -> str:
        node = self.node
        low, high = node.get("minimum"), node.get("maximum")
        if low is not None and high is not None:
            return f" from {_number(low)} to {_number(high)}"
        limits = (
            ("of at least", low),
            ("above", node.get("exclusiveMinimum")),
            ("of at most", high),
            ("below", node.get("exclusiveMaximum")),
        )
        words = [f"{word} {_number(limit)}" for word, limit in limits if limit is not None]
        return (" " + " and ".join(words)) if words else ""


def _number(limit: float) -> str:
    return str(int(limit)) if float(limit).is_integer() else str(limit)
