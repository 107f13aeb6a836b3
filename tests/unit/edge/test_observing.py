from __future__ import annotations

import asyncio
import re

import pytest
from starlette.types import Message, Receive, Scope, Send

from tests.unit.edge.small_server import SmallServer
from troth.domain import Answer, Call, Whole
from troth.edge.observing import Observing
from troth.watch.metrics import Metrics


def test_a_plain_request_id_comes_back() -> None:
    response = SmallServer().ask("GET", "/health", headers={"x-request-id": "client-7:a.b_c"})

    assert response.headers["x-request-id"] == "client-7:a.b_c"


@pytest.mark.parametrize("sent", ["", "a b", "a" * 129, "a\tb", "é"])
def test_an_odd_request_id_is_replaced(sent: str) -> None:
    response = SmallServer().ask("GET", "/nowhere", headers={"x-request-id": sent.encode()})

    assert re.fullmatch(r"[0-9a-f]{24}", response.headers["x-request-id"])


def test_a_request_leaves_one_line_with_what_it_cost(caplog: pytest.LogCaptureFixture) -> None:
    async def speak(call: Call) -> Answer:
        call.account.model, call.account.prompt_tokens, call.account.answer_tokens = "m", 7, 3
        return Whole({})

    server = SmallServer(speak=speak)

    with caplog.at_level("INFO", logger="troth.access"):
        response = server.say(user="secret words")

    (record,) = caplog.records
    request_id = response.headers["x-request-id"]
    assert record.getMessage().startswith(
        f"id={request_id} operation=speak status=200 model=m route=- prompt_tokens=7 cached_tokens=0 answer_tokens=3 "
    )
    assert "secret" not in caplog.text


def test_a_refusal_leaves_its_code_in_the_line(caplog: pytest.LogCaptureFixture) -> None:
    server = SmallServer()

    with caplog.at_level("INFO", logger="troth.access"):
        server.say(best_of=2)

    assert "operation=speak status=400" in caplog.text
    assert "code=unsupported_value" in caplog.text


def test_health_is_neither_counted_nor_logged_above_debug(caplog: pytest.LogCaptureFixture) -> None:
    server = SmallServer()

    with caplog.at_level("DEBUG", logger="troth.access"):
        server.ask("GET", "/health")

    assert [record.levelname for record in caplog.records] == ["DEBUG"]
    assert 'operation="health"' not in server.scrape()


def test_responses_are_counted_by_operation_and_status() -> None:
    server = SmallServer()

    server.say()
    server.say("/speak")
    server.say(best_of=2)
    server.ask("GET", "/nowhere")

    scrape = server.scrape()
    assert 'troth:http_responses_total{operation="speak",status="200"} 2.0' in scrape
    assert 'troth:http_responses_total{operation="speak",status="400"} 1.0' in scrape
    assert 'troth:http_responses_total{operation="none",status="404"} 1.0' in scrape
    assert 'troth:requests_total{operation="speak"} 3.0' in scrape


def test_a_request_that_a_stopping_server_cuts_off_leaves_its_line_and_nothing_else(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def stuck(scope: Scope, receive: Receive, send: Send) -> None:
        await asyncio.Event().wait()

    async def cut_off() -> None:
        app = Observing(stuck, metrics=Metrics(own_prefix="troth", version="0"), quiet=frozenset())
        request = asyncio.create_task(app({"type": "http", "headers": []}, idle, ignore))
        await asyncio.sleep(0)
        request.cancel()
        await request

    with caplog.at_level("INFO", logger="troth.access"):
        asyncio.run(cut_off())

    (record,) = caplog.records
    assert "code=stopping" in record.getMessage()


async def idle() -> Message:
    return {"type": "http.disconnect"}


async def ignore(message: Message) -> None:
    assert message["type"]
