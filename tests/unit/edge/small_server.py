"""A small document with a class of every kind, and a way to ask it over the real ASGI app."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any, Literal, TypeVar

import httpx
from pydantic import Field
from starlette.types import ASGIApp

from troth.contract import Alias, Clamped, ContractModel, Guarded, Honoured, Inert
from troth.domain import Answer, Call, Whole
from troth.edge.assembly import create_asgi
from troth.edge.operation import Handler
from troth.edge.settings import EdgeSettings, Tables
from troth.watch.metrics import Metrics

T = TypeVar("T")


class Picture(ContractModel):
    url: str
    detail: Annotated[str | None, Guarded(neutral={"enum": ["auto"]})] = None


class TextPart(ContractModel):
    type: Literal["text"]
    text: str


class PicturePart(ContractModel):
    type: Literal["picture"]
    picture: Annotated[Picture | None, Guarded()] = None


class UserTurn(ContractModel):
    role: Literal["user"]
    content: str | list[Annotated[TextPart | PicturePart, Field(discriminator="type")]]


class SystemTurn(ContractModel):
    role: Literal["system", "developer"]
    content: str


class StreamOptions(ContractModel):
    include_usage: bool | None = None
    usage: Annotated[bool | None, Alias(of="include_usage")] = None


class SpeakRequest(ContractModel):
    turns: list[Annotated[UserTurn | SystemTurn, Field(discriminator="role")]]
    heat: Annotated[float | None, Field(ge=0, le=2)] = None
    bias: Annotated[dict[str, float] | None, Honoured(neutral={"maxProperties": 0})] = None
    max_tokens: Annotated[int | None, Field(ge=-1), Clamped(to="answer_tokens")] = None
    n_predict: Annotated[int | None, Field(ge=-1), Alias(of="max_tokens")] = None
    max_completion_tokens: Annotated[int | None, Field(ge=-1), Alias(of="max_tokens")] = None
    best_of: Annotated[int | None, Guarded(neutral={"maximum": 1})] = None
    suffix: Annotated[str | None, Guarded(neutral={"maxLength": 0})] = None
    grammar: Annotated[str | None, Guarded()] = None
    format: Annotated[dict[str, Any] | None, Guarded(neutral={"enum": [{"type": "text"}]})] = None
    user: Annotated[Any, Inert()] = None
    stream: bool | None = False
    stream_options: StreamOptions | None = None


class FindParameters(ContractModel):
    key: str
    limit: Annotated[int | None, Field(ge=1, le=10)] = None
    tags: list[str] | None = None
    all_of_it: Annotated[bool | None, Field(alias="all")] = None
    x_filter: Annotated[str | None, Field(alias="X-Filter")] = None


MODELS: dict[str, type[ContractModel]] = {"SpeakRequest": SpeakRequest, "FindParameters": FindParameters}


@dataclass(frozen=True)
class Row:
    """One row of the small document's operation table."""

    id: str
    method: str
    path: str
    dialect: str = "openai"
    body_model: str | None = None
    parameters_model: str | None = None

    @property
    def handler(self) -> str:
        return self.id.partition("__")[0]


ROWS = (
    Row("speak", "POST", "/v1/speak", body_model="SpeakRequest"),
    Row("speak__alias1", "POST", "/speak", body_model="SpeakRequest"),
    Row("speak__native", "POST", "/native", dialect="native", body_model="SpeakRequest"),
    Row("speak__messages", "POST", "/v1/messages", dialect="anthropic", body_model="SpeakRequest"),
    Row("find", "GET", "/v1/things/{key}", parameters_model="FindParameters"),
    Row("list_models", "GET", "/v1/models"),
    Row("health", "GET", "/health"),
    Row("ping", "GET", "/ping"),
    Row("ping__post", "POST", "/ping"),
    Row("docs_page", "GET", "/docs"),
    Row("openapi_document", "GET", "/openapi.json"),
)
OPEN = ("/health", "/ping", "/docs")


def small_document() -> dict[str, Any]:
    """The small document, as codegen would have bundled it."""
    paths: dict[str, dict[str, Any]] = {}
    for row in ROWS:
        operation: dict[str, Any] = {"operationId": row.id, "responses": {"200": {"description": "An answer."}}}
        if row.body_model:
            operation["requestBody"] = {"required": True, "content": {"application/json": {"schema": {}}}}
        if row.parameters_model:
            operation["parameters"] = [
                {"name": "key", "in": "path", "required": True, "schema": {"type": "string", "format": "path"}},
                {"name": "limit", "in": "query", "schema": {"type": "integer"}},
                {"name": "tags", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
                {"name": "all", "in": "query", "schema": {"type": "boolean"}},
                {"name": "X-Filter", "in": "header", "schema": {"type": "string"}},
            ]
        if row.path in OPEN:
            operation["security"] = []
        paths.setdefault(row.path, {})[row.method.lower()] = operation
    return {
        "openapi": "3.0.3",
        "info": {"title": "Small", "version": "1"},
        "security": [{"bearerAuth": []}, {"apiKeyAuth": []}],
        "paths": paths,
        "components": {
            "securitySchemes": {
                "bearerAuth": {"type": "http", "scheme": "bearer"},
                "apiKeyAuth": {"type": "apiKey", "in": "header", "name": "x-api-key"},
            }
        },
    }


def small_tables() -> Tables:
    """The generated tables of the small document."""
    return Tables(
        operations={row.id: row for row in ROWS},
        model=MODELS.__getitem__,
        prefixes={"SpeakRequest": {"speculative.": "inert"}},
    )


@dataclass
class SmallServer:
    """The small document, served by handlers that answer with what they were called with."""

    settings: EdgeSettings = field(default_factory=EdgeSettings)
    speak: Handler | None = None
    calls: list[Call] = field(default_factory=list)
    metrics: Metrics = field(default_factory=Metrics)
    app: ASGIApp = field(init=False)

    def __post_init__(self) -> None:
        handlers: Mapping[str, Handler] = {
            "speak": self.speak or self.echo,
            "find": self.echo,
            "list_models": self.echo,
            "health": self.echo,
            "ping": self.echo,
        }
        self.app = create_asgi(small_document(), handlers, self.settings, self.metrics, tables=small_tables())

    async def echo(self, call: Call) -> Answer:
        """What the edge made of the request, so that tests can look at it."""
        self.calls.append(call)
        return Whole({"given": sorted(call.given)})

    def ask(self, method: str, path: str, **options: Any) -> httpx.Response:
        """The response to one request."""

        async def asking() -> httpx.Response:
            transport = httpx.ASGITransport(self.app, raise_app_exceptions=False)
            async with httpx.AsyncClient(transport=transport, base_url="http://small") as client:
                return await client.request(method, path, **options)

        return run(asking())

    def say(self, _path: str = "/v1/speak", **fields: Any) -> httpx.Response:
        """The response to a well-formed request with these fields beside it."""
        return self.ask("POST", _path, json={"turns": [{"role": "user", "content": "hello"}], **fields})

    def scrape(self) -> str:
        """What a scrape of the metrics reads now."""
        return self.metrics.render().decode()


def run(work: Coroutine[Any, Any, T]) -> T:
    """What `work` returns, from a loop of its own, within ten seconds."""

    async def bounded() -> T:
        async with asyncio.timeout(10):
            return await work

    return asyncio.run(bounded())
