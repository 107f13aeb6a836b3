"""The judge: every answer of the server must be one that the published document declares.

Whole answers are judged by openapi-core, events of a stream one by one against `x-event-schema`. The
judge reads a closed view of the document: where a response schema lists properties, others are faults.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import Any
from urllib.parse import quote, unquote

import httpx
from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.exceptions import OpenAPIError
from openapi_schema_validator import OAS30ReadValidator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT4
from werkzeug.datastructures import Headers

Document = dict[str, Any]

SCHEMAS = "#/components/schemas/"
URN = "urn:document"
LATER = {"judge": "later"}  # request extension: the caller reads a stream as it comes and judges it at the end


@cache
def published_document() -> Document:
    """The document that the server publishes, as generated."""
    text = resources.files("troth._generated").joinpath("openapi.json").read_text("utf-8")
    document: Document = json.loads(text)
    return document


class Violation(AssertionError):
    """The server sent what the document does not declare."""


def events_of(text: str) -> list[str]:
    """The `data` of every event in the body of a stream; comments are left out."""
    return [line.removeprefix("data: ") for line in text.splitlines() if line.startswith("data: ")]


def chunks_of(text: str) -> list[dict[str, Any]]:
    """The JSON events of a stream, `[DONE]` left out."""
    return [json.loads(data) for data in events_of(text) if data != "[DONE]"]


def closed_view(document: Document) -> Document:
    """A copy in which objects of responses may hold nothing but the properties that are listed."""
    view = copy.deepcopy(document)
    waiting: list[Any] = [
        operation["responses"]
        for item in view["paths"].values()
        for operation in item.values()
        if isinstance(operation, dict)
    ]
    seen: set[str] = set()
    while waiting:
        node = waiting.pop()
        if isinstance(node, list):
            waiting.extend(node)
        elif isinstance(node, dict):
            assert "allOf" not in node, "the judge cannot close a response schema that is joined from several"
            if node.get("properties") and node.get("type") == "object":
                node.setdefault("additionalProperties", False)
            target = node.get("$ref")
            if isinstance(target, str) and target not in seen:
                seen.add(target)
                waiting.append(_resolve(view, target))
            waiting.extend(value for key, value in node.items() if key != "examples")
    return view


class Judge:
    """Judges answers by one document."""

    def __init__(self, document: Document) -> None:
        self._view = closed_view(document)
        plain_text = dict.fromkeys(("text/event-stream", "text/html", "text/plain"), _decoded)
        self._api = OpenAPI.from_dict(self._view, config=Config(extra_media_type_deserializers=plain_text))
        self._registry = Registry().with_resource(URN, Resource(contents=self._view, specification=DRAFT4))
        self._validators: dict[str, OAS30ReadValidator] = {}
        self._paths = [(re.compile(_pattern(path)), path) for path in sorted(self._view["paths"], key=_templates)]

    def hook(self, response: httpx.Response) -> None:
        """For httpx's event hooks: the answer has been read and judged, unless its request says LATER."""
        if response.request.extensions.get("judge") != LATER["judge"]:
            response.read()
            self.judge(response)

    def judge(self, response: httpx.Response) -> None:
        """The answer, read to its end, is one that the document declares. Raises Violation."""
        path, parameters = self._find(unquote(response.request.url.raw_path.split(b"?")[0].decode()))
        operation = self._view["paths"].get(path, {}).get(response.request.method.lower())
        if operation is None:
            self._judge_stray(response)
            return
        declared = operation["responses"].get(str(response.status_code)) or operation["responses"].get("default")
        if declared is None:
            raise Violation(f"{_name(response)}: status {response.status_code} is not declared")
        try:
            self._api.validate_response(_Asked(response.request, path, parameters), _Answered(response))
        except OpenAPIError as error:
            raise Violation(f"{_name(response)}: {_reasons(error)}\n{response.text[:2000]}") from error
        media = self._dereferenced(declared).get("content", {}).get(_media_type(response), {})
        if _media_type(response) == "text/event-stream":
            self._judge_events(response, media["x-event-schema"])

    def judge_value(self, value: Any, schema: Mapping[str, Any]) -> None:
        """`value` is what `schema`, which may refer into the document, says. Raises Violation."""
        key = json.dumps(schema, sort_keys=True)
        validator = self._validators.get(key)
        if validator is None:
            outside = json.loads(key.replace('"#/', f'"{URN}#/'))
            validator = self._validators[key] = OAS30ReadValidator(outside, registry=self._registry)
        faults = [f"{fault.json_path}: {fault.message}" for fault in validator.iter_errors(value)]
        if faults:
            raise Violation("\n".join(faults) + f"\n{json.dumps(value)[:2000]}")

    def _judge_stray(self, response: httpx.Response) -> None:
        """What no operation answered: an error of the usual shape, a file of the docs page, or a preflight."""
        if response.status_code < 400:
            if response.request.method != "OPTIONS" and not response.url.path.startswith("/docs/assets/"):
                raise Violation(f"{_name(response)}: {response.status_code} on a path that is not in the document")
            return
        if response.request.method != "HEAD":
            name = "AnthropicError" if response.url.path.startswith("/v1/messages") else "Error"
            self.judge_value(response.json(), {"$ref": SCHEMAS + name})

    def _judge_events(self, response: httpx.Response, schema: Mapping[str, Any]) -> None:
        for data in events_of(response.text):
            if data == "[DONE]":
                continue
            event = json.loads(data)
            is_bare_error = "error" in event and "type" not in event  # typed events declare their errors themselves
            self.judge_value(event, {"$ref": SCHEMAS + "Error"} if is_bare_error else schema)

    def _find(self, path: str) -> tuple[str, dict[str, str]]:
        for pattern, template in self._paths:
            if match := pattern.fullmatch(path):
                return template, match.groupdict()
        return "", {}

    def _dereferenced(self, node: dict[str, Any]) -> dict[str, Any]:
        return _resolve(self._view, node["$ref"]) if "$ref" in node else node


def judged_client(url: str, judge: Judge, **options: Any) -> httpx.Client:
    """A client of the server at `url` whose every answer is judged."""
    return httpx.Client(base_url=url, event_hooks={"response": [judge.hook]}, timeout=60.0, trust_env=False, **options)


@dataclass
class _Asked:
    """A request as openapi-core reads it."""

    request: httpx.Request
    template: str
    path_parameters: Mapping[str, str]
    content_type: str = "application/json"
    body: bytes | None = None
    host_url: str = ""
    parameters: RequestParameters = field(init=False)

    def __post_init__(self) -> None:
        self.parameters = RequestParameters(header=Headers(dict(self.request.headers)))
        self.method = self.request.method.lower()
        self.host_url = f"{self.request.url.scheme}://{self.request.url.netloc.decode()}"
        # A parameter that holds slashes is one segment to openapi-core only when they are quoted.
        self.path = self.template.format(**{k: quote(v, safe="") or "-" for k, v in self.path_parameters.items()})


@dataclass
class _Answered:
    """A response as openapi-core reads it."""

    response: httpx.Response

    def __post_init__(self) -> None:
        self.status_code = self.response.status_code
        self.headers = Headers(dict(self.response.headers))
        self.content_type = self.response.headers.get("content-type", "")
        self.data = self.response.content


def _decoded(raw: bytes, **parameters: str) -> str:
    return raw.decode()


def _media_type(response: httpx.Response) -> str:
    return str(response.headers.get("content-type", "")).partition(";")[0].strip()


def _name(response: httpx.Response) -> str:
    return f"{response.request.method} {response.request.url.path} {response.status_code}"


def _pattern(path: str) -> str:
    parts = re.split(r"(\{\w+\})", path)
    return "".join(f"(?P<{part[1:-1]}>.+)" if part.startswith("{") else re.escape(part) for part in parts)


def _templates(path: str) -> tuple[bool, int]:
    """Paths without a parameter come first, then those that say more."""
    return "{" in path, -len(path)


def _resolve(document: Document, target: str) -> dict[str, Any]:
    node: Any = document
    for step in target.removeprefix("#/").split("/"):
        node = node[step]
    assert isinstance(node, dict)
    return node


def _reasons(error: BaseException) -> str:
    return "; ".join(_causes(error))


def _causes(error: BaseException) -> Iterator[str]:
    yield f"{type(error).__name__}: {error}"
    for fault in getattr(error, "schema_errors", ()):
        yield f"{fault.json_path}: {fault.message}"
    if error.__cause__ is not None:
        yield from _causes(error.__cause__)
