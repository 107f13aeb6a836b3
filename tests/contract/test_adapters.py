"""LoRA adapters and a control vector by request, on a live server: side by side, and each by itself."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import Settings

NATIVE = "/completion"
ASKED: dict[str, Any] = {"prompt": "A story of a fox: " * 12, "n_predict": 8, "temperature": 0}
SETS: list[dict[str, Any]] = [
    {},
    {"lora": [{"id": 0, "scale": 1}]},
    {"lora": [{"id": 1, "scale": 1}]},
    {"control_vector": True},
]


@pytest.fixture(scope="module")
def adapting(adapted: Settings, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with adapters."""
    return connect(serve_with(adapted))


def text(client: httpx.Client, **fields: Any) -> str:
    response = client.post(NATIVE, json=ASKED | fields)
    assert response.status_code == 200, response.text
    return str(response.json()["content"])


def test_requests_with_different_adapters_side_by_side_say_what_they_say_alone(adapting: httpx.Client) -> None:
    alone = [text(adapting, **each) for each in SETS]
    assert len(set(alone)) == len(SETS)
    with ThreadPoolExecutor(len(SETS)) as pool:
        together = list(pool.map(lambda each: text(adapting, **each), SETS))
    assert together == alone


@pytest.mark.parametrize(
    ("fields", "param"),
    [
        ({"lora": [{"id": 2, "scale": 1}]}, "lora.0.id"),
        ({"lora": [{"id": 0, "scale": 1}, {"id": 0, "scale": 1}]}, "lora.1.id"),
        ({"lora": [{"id": 0}]}, "lora.0.scale"),
        ({"lora": [{"id": 0, "scale": 1e9}]}, "lora.0.scale"),
    ],
)
def test_an_adapter_that_there_is_not_is_refused(fields: dict[str, Any], param: str, adapting: httpx.Client) -> None:
    response = adapting.post("/v1/completions", json={"prompt": "a", "max_tokens": 1, **fields})
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param


@pytest.mark.parametrize("field", ["lora", "control_vector"])
def test_a_model_without_any_names_the_setting(field: str, client: httpx.Client) -> None:
    value = [{"id": 0, "scale": 1}] if field == "lora" else True
    response = client.post("/v1/completions", json={"prompt": "a", "max_tokens": 1, field: value})
    assert response.status_code == 400
    assert f"`options.{field}`" in response.json()["error"]["message"]
