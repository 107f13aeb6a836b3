"""Query, path and header parameters, read into the one generated model of their operation."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from pydantic import ValidationError
from starlette.types import Scope

from troth.contract import ContractModel
from troth.edge.validation import parameters_refusal
from troth.errors import BadRequest

QUERY_FIELDS_MAX = 256


class Parameters:
    """The reader of one operation's parameters."""

    def __init__(self, model: type[ContractModel], declared: Iterable[Mapping[str, Any]]) -> None:
        self._model = model
        self._path: list[str] = []
        self._headers: dict[bytes, str] = {}
        self._lists: set[str] = set()
        is_any_required = any(field.is_required() for field in model.model_fields.values())
        self._nothing = None if is_any_required else model()  # shared: enforcing changes nothing in it
        for parameter in declared:
            name, where = parameter["name"], parameter["in"]
            if where == "path":
                self._path.append(name)
            elif where == "header":
                self._headers[name.lower().encode()] = name
            elif parameter.get("schema", {}).get("type") == "array":
                self._lists.add(name)

    def read(self, scope: Scope) -> ContractModel:
        """The checked parameters. Raises BadRequest naming the parameter that is wrong."""
        sent = self._query(scope.get("query_string", b""))
        for name in self._path:
            sent[name] = scope["path_params"][name]
        if self._headers:
            for raw_name, value in scope["headers"]:
                if raw_name in self._headers:
                    sent[self._headers[raw_name]] = value.decode("latin-1")
        if not sent and self._nothing is not None:
            return self._nothing
        try:
            return self._model.model_validate(sent, strict=False)
        except ValidationError as error:
            raise parameters_refusal(error, sent) from None

    def _query(self, query: bytes) -> dict[str, Any]:
        if not query:
            return {}
        try:
            pairs = parse_qsl(query.decode("latin-1"), keep_blank_values=True, max_num_fields=QUERY_FIELDS_MAX)
        except ValueError:
            raise BadRequest(f"The query has more than {QUERY_FIELDS_MAX} parameters.") from None
        sent: dict[str, Any] = {}
        for name, value in pairs:
            if name in self._lists:
                sent.setdefault(name, []).append(value)
            elif sent.setdefault(name, value) != value:
                raise BadRequest(
                    f"{name} is given twice with two different values: send it once.",
                    param=name,
                    code="conflicting_values",
                )
        return sent
