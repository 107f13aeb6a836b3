from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from starlette.types import Message

from tests.unit.edge.small_server import SmallServer, run, small_document, small_tables
from troth.domain import Answer, Call, Whole
from troth.edge.assembly import create_asgi
from troth.edge.settings import EdgeSettings
from troth.watch.metrics import Metrics


async def nothing(call: Call) -> Answer:
    return Whole(None)


def test_an_operation_without_a_handler_stops_the_start_by_name() -> None:
    handlers = dict.fromkeys(("speak", "list_models", "ping"), nothing)

    with pytest.raises(ValueError, match=r"no handler for the operations: find, health"):
        create_asgi(small_document(), handlers, EdgeSettings(), Metrics(), tables=small_tables())


def test_a_handler_without_an_operation_stops_the_start_by_name() -> None:
    handlers = dict.fromkeys(("speak", "find", "list_models", "health", "ping", "sing"), nothing)

    with pytest.raises(ValueError, match=r"no operation for the handlers: sing"):
        create_asgi(small_document(), handlers, EdgeSettings(), Metrics(), tables=small_tables())


def test_a_guard_that_names_no_field_stops_the_start() -> None:
    with pytest.raises(ValueError, match=r"contract\.guard: no route has a field heats; did you mean heat\?"):
        SmallServer(EdgeSettings(guard=("heats",)))


def test_the_lifespan_runs_around_the_server() -> None:
    steps: list[str] = []

    @asynccontextmanager
    async def lifespan(app: Any) -> AsyncIterator[None]:
        steps.append("started")
        yield
        steps.append("stopped")

    handlers = dict.fromkeys(("speak", "find", "list_models", "health", "ping"), nothing)
    app = create_asgi(small_document(), handlers, EdgeSettings(), Metrics(), tables=small_tables(), lifespan=lifespan)

    async def live() -> list[str]:
        inbox: asyncio.Queue[Message] = asyncio.Queue()
        inbox.put_nowait({"type": "lifespan.startup"})
        inbox.put_nowait({"type": "lifespan.shutdown"})
        outbox: list[str] = []

        async def send(message: Message) -> None:
            outbox.append(message["type"])

        await app({"type": "lifespan", "asgi": {"version": "3.0"}, "state": {}}, inbox.get, send)
        return outbox

    assert run(live()) == ["lifespan.startup.complete", "lifespan.shutdown.complete"]
    assert steps == ["started", "stopped"]


def test_a_page_of_any_origin_may_read_answers_and_errors() -> None:
    server = SmallServer(EdgeSettings(api_keys=("k",)))

    preflight = server.ask(
        "OPTIONS", "/v1/speak", headers={"origin": "http://page", "access-control-request-method": "POST"}
    )
    refused = server.ask("POST", "/v1/speak", headers={"origin": "http://page"})

    assert preflight.status_code == 200
    assert refused.status_code == 401
    assert refused.headers["access-control-allow-origin"] == "*"
    assert "X-Request-Id" in refused.headers["access-control-expose-headers"]
    assert "access-control-allow-credentials" not in refused.headers


def test_cors_can_be_switched_off() -> None:
    response = SmallServer(EdgeSettings(cors=False)).ask("GET", "/health", headers={"origin": "http://page"})

    assert "access-control-allow-origin" not in response.headers


def test_the_document_that_was_handed_in_is_left_as_it_was() -> None:
    document = small_document()
    handlers = dict.fromkeys(("speak", "find", "list_models", "health", "ping"), nothing)

    create_asgi(document, handlers, EdgeSettings(), Metrics(), tables=small_tables())

    assert document == small_document()
