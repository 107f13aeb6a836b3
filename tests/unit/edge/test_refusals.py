from __future__ import annotations

import pytest

from tests.unit.edge.small_server import SmallServer
from troth.domain import Answer, Call
from troth.edge.settings import EdgeSettings
from troth.errors import EngineFault, NotImplementedHere, OverContext, QueueFull


def server_that_raises(error: Exception) -> SmallServer:
    async def speak(call: Call) -> Answer:
        raise error

    return SmallServer(speak=speak)


def test_openai_routes_say_refusals_in_openai_shape() -> None:
    error = SmallServer().say(best_of=2).json()["error"]

    assert error == {
        "message": "best_of is not supported here: leave it out or send at most 1.",
        "type": "invalid_request_error",
        "param": "best_of",
        "code": "unsupported_value",
    }


def test_messages_routes_say_refusals_in_anthropic_shape() -> None:
    response = SmallServer().say("/v1/messages", best_of=2)

    assert response.json() == {
        "type": "error",
        "error": {
            "type": "invalid_request_error",
            "message": "best_of is not supported here: leave it out or send at most 1.",
        },
        "request_id": response.headers["x-request-id"],
    }


def test_native_routes_carry_the_status_as_code() -> None:
    error = SmallServer().say("/native", best_of=2).json()["error"]

    assert error["code"] == 400
    assert error["type"] == "invalid_request_error"


@pytest.mark.parametrize("path", ["/v1/speak", "/v1/messages", "/native"])
def test_counts_of_an_over_long_prompt_stand_beside_the_message_in_every_shape(path: str) -> None:
    response = server_that_raises(OverContext(9000, 8192)).say(path)

    assert response.status_code == 400
    error = response.json()["error"]
    assert (error["n_prompt_tokens"], error["n_ctx"], error["n_surplus_tokens"]) == (9000, 8192, 809)


def test_a_full_queue_says_when_to_come_back() -> None:
    response = server_that_raises(QueueFull(64, 3)).say()

    assert response.status_code == 429
    assert response.headers["retry-after"] == "3"


def test_a_permanent_refusal_asks_not_to_be_retried() -> None:
    response = server_that_raises(NotImplementedHere("No model here hears.")).say()

    assert response.status_code == 501
    assert response.headers["x-should-retry"] == "false"


def test_an_engine_fault_is_a_500_in_its_own_words() -> None:
    response = server_that_raises(EngineFault("The engine stopped.")).say()

    assert response.status_code == 500
    assert response.json()["error"]["message"] == "The engine stopped."


def test_our_own_fault_is_logged_and_says_nothing_private(caplog: pytest.LogCaptureFixture) -> None:
    response = server_that_raises(RuntimeError("the safe is behind the picture")).say()

    assert response.status_code == 500
    assert response.json()["error"]["code"] == "internal_error"
    assert "safe" not in response.text
    assert "the safe is behind the picture" in caplog.text
    assert response.headers["x-request-id"]


@pytest.mark.parametrize("path", ["/v1/speak", "/native"])
def test_hal0s_envelope_takes_the_place_of_openais_and_the_native_one(path: str) -> None:
    server = SmallServer(EdgeSettings(envelope="hal0"))

    assert server.say(path, best_of=2).json() == {
        "error": {
            "code": "request.unsupported_field",
            "message": "best_of is not supported here: leave it out or send at most 1.",
            "details": {"param": "best_of"},
        }
    }


def test_hal0s_envelope_leaves_anthropics_routes_alone() -> None:
    response = SmallServer(EdgeSettings(envelope="hal0")).say("/v1/messages", best_of=2)

    assert response.json()["error"]["type"] == "invalid_request_error"


def test_what_no_operation_answers_is_said_in_hal0s_envelope_too() -> None:
    server = SmallServer(EdgeSettings(envelope="hal0"))

    assert server.ask("GET", "/nowhere").json()["error"]["code"] == "resource.not_found"
    assert server.ask("DELETE", "/v1/speak").json()["error"]["code"] == "system.http_405"


def test_refusals_are_counted_by_field_and_only_fields_of_the_document_become_labels() -> None:
    server = SmallServer()

    server.say(best_of=2)
    server.say(turns=[{"role": "user", "content": 5}])
    server.ask("GET", "/nowhere")

    scrape = server.scrape()
    assert 'troth:refusals_total{code="unsupported_value",field="best_of",operation="speak"} 1.0' in scrape
    assert 'troth:refusals_total{code="invalid_value",field="turns",operation="speak"} 1.0' in scrape
    assert 'troth:refusals_total{code="not_found",field="",operation="none"} 1.0' in scrape
