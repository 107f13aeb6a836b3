from __future__ import annotations

import json
from typing import Any

import pytest
from pydantic import ValidationError

from tests.unit.edge.small_server import SmallServer, SpeakRequest

DEEP = b"[" * 100_000


@pytest.mark.parametrize("body", [b"", b"  ", b"{", b"nope", b"\xff\xfe", DEEP, b'{"turns": ' + DEEP, b'{"a": "\xff"}'])
def test_what_is_no_json_is_refused_as_such(body: bytes) -> None:
    response = SmallServer().ask("POST", "/v1/speak", content=body)

    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_json"


@pytest.mark.parametrize("body", [b"[]", b"1", b'"text"', b"null", b"true"])
def test_a_body_that_is_no_object_is_refused(body: bytes) -> None:
    response = SmallServer().ask("POST", "/v1/speak", content=body)

    assert response.status_code == 400
    assert response.json()["error"]["message"] == "The request body: Input should be an object."


@pytest.mark.parametrize(
    ("fields", "param", "words"),
    [
        ({"max_tokens": "5"}, "max_tokens", "Input should be a valid integer"),
        ({"max_tokens": True}, "max_tokens", "Input should be a valid integer"),
        ({"max_tokens": 1.0}, "max_tokens", "Input should be a valid integer"),
        ({"max_tokens": -2}, "max_tokens", "Input should be greater than or equal to -1"),
        ({"heat": 3}, "heat", "less than or equal to 2"),
        ({"turns": "hi"}, "turns", "Input should be a valid array"),
        ({"turns": [1]}, "turns.0", "Input should be an object"),
        (
            {"turns": [{"role": "user", "content": 5}]},
            "turns.0.content",
            "Input should be a valid string or a valid array",
        ),
        ({"turns": [{"role": "zebra"}]}, "turns.0.role", "Input should be one of 'user', 'system', 'developer'"),
        (
            {"turns": [{"role": "user", "content": [{"type": "zebra"}]}]},
            "turns.0.content.0.type",
            "one of 'text', 'picture'",
        ),
        ({"bias": {"a": "b"}}, "bias.a", "Input should be a valid number"),
    ],
)
def test_a_wrong_value_is_named_by_its_path_with_what_is_accepted(
    fields: dict[str, Any], param: str, words: str
) -> None:
    error = SmallServer().say(**fields).json()["error"]

    assert error["code"] == "invalid_value"
    assert error["param"] == param
    assert error["message"].startswith(f"{param}: ")
    assert words in error["message"]
    assert "zebra" not in json.dumps(error)


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "turns"),
        ({"turns": [{"content": "hello"}]}, "turns.0.role"),
        ({"turns": [{"role": "user"}]}, "turns.0.content"),
        ({"turns": [{"role": "user", "content": [{"type": "text"}]}]}, "turns.0.content.0.text"),
    ],
)
def test_a_missing_field_is_named_by_its_path(body: dict[str, Any], param: str) -> None:
    error = SmallServer().ask("POST", "/v1/speak", json=body).json()["error"]

    assert error["message"] == f"{param}: Field required."
    assert error["code"] == "missing_required_parameter"
    assert error["param"] == param


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-Infinity"])
def test_numbers_that_are_none_are_refused(number: str) -> None:
    body = f'{{"turns": [{{"role": "user", "content": "a"}}], "heat": {number}}}'

    response = SmallServer().ask("POST", "/v1/speak", content=body.encode())

    assert response.status_code == 400
    assert response.json()["error"]["param"] == "heat"


def test_the_error_stays_small_and_keeps_the_payload_out() -> None:
    payload = "secret" * 2000

    response = SmallServer().say(bias={payload: payload})
    many = SmallServer().say(turns=[payload] * 5000)

    assert len(response.content) < 4096
    assert f'"{payload}"' not in response.text
    assert len(many.content) < 4096
    assert "secret" not in many.text


@pytest.mark.parametrize(
    "body", [{"turns": [1] * 100_000}, {"turns": [], "bias": {str(n): "x" for n in range(100_000)}}]
)
def test_a_hundred_thousand_faults_cost_no_more_than_the_first(body: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        SpeakRequest.model_validate_json(json.dumps(body))

    assert refused.value.error_count() == 1
