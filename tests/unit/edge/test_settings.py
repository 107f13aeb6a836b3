"""The document that Troth ships, served over a real socket with the tables that were generated from it."""

from __future__ import annotations

import asyncio
import json
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.resources import files
from typing import Any

import httpx
import pytest
import uvicorn

from tests.unit.edge.small_server import run
from troth._generated.operations import OPERATIONS
from troth.domain import Answer, Call, Whole
from troth.edge.assembly import create_asgi
from troth.edge.settings import EdgeSettings, generated_tables
from troth.watch.metrics import Metrics

MESSAGES = [{"role": "user", "content": "hello"}]
BUILT_IN = ("docs_page", "openapi_document")


async def served(call: Call) -> Answer:
    return Whole({"operation": call.operation, "given": sorted(call.given)})


@asynccontextmanager
async def shipped_server(**settings: Any) -> AsyncIterator[httpx.AsyncClient]:
    """A client of the shipped document on a loopback port."""
    document = json.loads(files("troth._generated").joinpath("openapi.json").read_text("utf-8"))
    handlers = {row.handler: served for row in OPERATIONS.values() if row.handler not in BUILT_IN}
    app = create_asgi(document, handlers, EdgeSettings(**settings), Metrics())
    with socket.create_server(("127.0.0.1", 0)) as listener:
        config = uvicorn.Config(app, lifespan="on", log_config=None, access_log=False, ws="none")
        server = uvicorn.Server(config)
        serving = asyncio.create_task(server.serve(sockets=[listener]))
        host, port = listener.getsockname()
        async with httpx.AsyncClient(base_url=f"http://{host}:{port}") as client:
            yield client
        server.should_exit = True
        await serving


def ask(method: str, path: str, settings: dict[str, Any] | None = None, **options: Any) -> httpx.Response:
    async def asking() -> httpx.Response:
        async with shipped_server(**(settings or {})) as client:
            return await client.request(method, path, **options)

    return run(asking())


def test_every_class_of_the_tables_exists() -> None:
    tables = generated_tables()

    for row in tables.operations.values():
        for name in (row.body_model, row.parameters_model):
            assert name is None or tables.model(name).__name__ == name


def test_a_chat_request_reaches_its_handler() -> None:
    body = {"messages": MESSAGES, "max_completion_tokens": 5, "best_of": 1, "logit_bias": {}, "speculative.n_max": 3}

    response = ask("POST", "/v1/chat/completions", json=body)

    assert response.json() == {"operation": "create_chat_completion", "given": ["max_tokens", "messages"]}


@pytest.mark.parametrize("path", ["/v1/chat/completions", "/chat/completions"])
def test_a_guarded_field_of_the_document_is_refused(path: str) -> None:
    response = ask("POST", path, json={"messages": MESSAGES, "best_of": 2})

    assert response.status_code == 400
    assert response.json()["error"]["param"] == "best_of"


def test_a_model_id_with_slashes_and_escapes_is_one_parameter() -> None:
    assert ask("GET", "/v1/models/org%2Fname/file").json()["operation"] == "retrieve_model"


def test_a_body_too_large_is_refused_while_it_is_being_sent() -> None:
    response = ask("POST", "/v1/chat/completions", {"body_bytes_max": 1000}, content=b" " * 5_000_000)

    assert response.status_code == 413


def test_a_deep_body_over_the_wire_is_a_400() -> None:
    response = ask("POST", "/v1/chat/completions", content=b'{"messages":' + b"[" * 100_000)

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_json"


def test_head_over_the_wire_has_no_body() -> None:
    response = ask("HEAD", "/health")

    assert response.status_code == 200
    assert response.content == b""


def test_a_guard_of_the_operator_holds_for_the_shipped_document() -> None:
    response = ask("POST", "/v1/chat/completions", {"guard": ("mirostat",)}, json={"messages": MESSAGES, "mirostat": 2})

    assert response.json()["error"]["message"] == ("mirostat is switched off on this server: leave it out or send 0.")
