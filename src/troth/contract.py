"""The contract classes: marks that the generated models carry, and the base class of those models.

A mark is written once, in `openapi/`, as `x-contract`, and arrives here through the generator as
`Annotated[…, Mark(…)]`. A request field without a mark on it is honoured. This module knows no HTTP,
no model and no engine; `edge/enforcement.py` applies the marks, for every route, in one place.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, GetCoreSchemaHandler
from pydantic_core import CoreSchema


def _stop_at_the_first_fault(schema: Any) -> None:
    if isinstance(schema, dict):
        if schema.get("type") in ("list", "dict"):
            schema["fail_fast"] = True
        for part in schema.values():
            _stop_at_the_first_fault(part)
    elif isinstance(schema, list | tuple):
        for part in schema:
            _stop_at_the_first_fault(part)


class ContractModel(BaseModel):
    """Base of every generated model: strict types, no NaN, unknown keys kept aside for the contract."""

    model_config = ConfigDict(
        strict=True, allow_inf_nan=False, protected_namespaces=(), extra="allow", revalidate_instances="never"
    )

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        """Every list and dictionary below stops at its first fault.

        Otherwise one megabyte of wrong items holds 400 MB of complaints, and the event loop for a second.
        """
        schema = handler(source)
        _stop_at_the_first_fault(schema)
        return schema


@dataclass(frozen=True, slots=True)
class Neutral:
    """The values of a field that ask for nothing, as one JSON-schema keyword.

    `enum` lists them; `maximum` bounds a number; `maxItems`, `maxProperties`, `maxLength` (always 0)
    mean empty. Without a keyword only leaving the field out (or null) is neutral.
    """

    keyword: str | None = None
    bound: Any = None  # JSON data straight from the document

    @classmethod
    def of(cls, fragment: Mapping[str, Any] | None) -> Neutral:
        """Read a fragment such as {"enum": [0]}. Raises ValueError for any other keyword."""
        if not fragment:
            return cls()
        ((keyword, bound),) = fragment.items()
        if keyword not in ("enum", "maximum", "maxItems", "maxProperties", "maxLength"):
            raise ValueError(f"x-contract neutral: unknown keyword {keyword}")
        return cls(keyword, bound)

    def accepts(self, value: Any) -> bool:
        """True when `value` (JSON data, not null) asks for nothing."""
        if self.keyword == "enum":
            for option in self.bound:  # noqa: SIM110  # a loop: it runs for every field of every request
                if value == option and isinstance(value, bool) == isinstance(option, bool):
                    return True
            return False
        if self.keyword == "maximum":
            return isinstance(value, int | float) and not isinstance(value, bool) and value <= self.bound
        if self.keyword is not None:
            return isinstance(value, str | list | dict) and len(value) <= self.bound
        return False

    @property
    def words(self) -> str:
        """What a client may send, for an error message: 'leave it out or send 0'."""
        if self.keyword == "enum":
            return "leave it out or send " + " or ".join(json.dumps(option) for option in self.bound)
        if self.keyword == "maximum":
            return f"leave it out or send at most {self.bound}"
        if self.keyword is not None:
            empty = {"maxItems": "[]", "maxProperties": "{}", "maxLength": '""'}[self.keyword]
            return f"leave it out or send {empty}"
        return "leave it out"


@dataclass(frozen=True, slots=True)
class Honoured:
    """The field does what its document says. `neutral` is what an engine that cannot do it accepts."""

    neutral: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Inert:
    """The field cannot change the answer: any value is accepted and ignored."""


@dataclass(frozen=True, slots=True)
class Guarded:
    """The field is known and not done: accepted at its neutral values, refused by name otherwise.

    `instead` says what does it.
    """

    neutral: Mapping[str, Any] | None = None
    instead: str = ""


@dataclass(frozen=True, slots=True)
class Alias:
    """Another spelling of the field `of` of the same object; two different values are refused."""

    of: str


@dataclass(frozen=True, slots=True)
class Clamped:
    """The field is cut to the limit named `to`, served, and the cut is reported."""

    to: str


Mark = Honoured | Inert | Guarded | Alias | Clamped
