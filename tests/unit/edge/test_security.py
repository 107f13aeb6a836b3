from __future__ import annotations

import hmac

import pytest

from tests.unit.edge.small_server import ROWS, SmallServer
from troth.edge.security import Keyring
from troth.edge.settings import EdgeSettings

KEYED = EdgeSettings(api_keys=("first", "schlüssel"))
BODY = {"turns": [{"role": "user", "content": "hello"}]}


def test_without_configured_keys_everybody_is_let_in() -> None:
    assert SmallServer().say().status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"authorization": "Bearer first"},
        {"authorization": "bearer  first "},
        {"x-api-key": "first"},
        {"authorization": "Bearer wrong", "x-api-key": "first"},
        {"authorization": "Bearer first", "x-api-key": "wrong"},
        {"authorization": "Basic Zmlyc3Q=", "x-api-key": "first"},
        {"x-api-key": "first", "authorization": "nonsense"},
    ],
)
def test_one_right_key_is_enough(headers: dict[str, str]) -> None:
    assert SmallServer(KEYED).ask("POST", "/v1/speak", json=BODY, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"authorization": "Bearer wrong"},
        {"x-api-key": ""},
        {"x-api-key": "firs"},
        {"authorization": "first"},
        {"x-api-key": "é"},
    ],
)
def test_without_a_right_key_the_answer_says_which_headers_to_send(headers: dict[str, str]) -> None:
    raw = {name: value.encode() for name, value in headers.items()}

    response = SmallServer(KEYED).ask("POST", "/v1/speak", json=BODY, headers=raw)

    assert response.status_code == 401
    assert response.headers["www-authenticate"] == "Bearer"
    error = response.json()["error"]
    assert error["code"] == "invalid_api_key"
    assert "Authorization: Bearer" in error["message"]
    assert "x-api-key" in error["message"]


def test_the_right_shape_of_401_on_messages() -> None:
    error = SmallServer(KEYED).ask("POST", "/v1/messages", json=BODY).json()

    assert error["error"]["type"] == "authentication_error"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.id)
def test_every_operation_needs_a_key_unless_the_document_opens_it(row: object) -> None:
    method, path = row.method, row.path  # type: ignore[attr-defined]

    response = SmallServer(KEYED).ask(method, path.replace("{key}", "a"), json=BODY if method == "POST" else None)

    assert response.status_code == (200 if path in ("/health", "/ping", "/docs") else 401)


def test_open_models_opens_the_lists_and_nothing_else() -> None:
    server = SmallServer(EdgeSettings(api_keys=("first",), open_models=True))

    assert server.ask("GET", "/v1/models").status_code == 200
    assert server.ask("GET", "/v1/things/a").status_code == 401


def test_a_wrong_key_is_not_read_further(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG"):
        SmallServer(KEYED).ask("POST", "/v1/speak", json=BODY, headers={"x-api-key": "hunter2"})

    assert "hunter2" not in caplog.text


def test_a_keyring_holds_its_keys_and_no_others() -> None:
    keyring = Keyring(["first", "schlüssel"])

    assert keyring.holds("first")
    assert keyring.holds("schlüssel")
    assert not keyring.holds("")
    assert not keyring.holds("\udcff")


def test_keys_are_compared_all_of_them_as_digests_of_one_length(monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[tuple[int, int]] = []

    def compare(one: bytes, other: bytes) -> bool:
        compared.append((len(one), len(other)))
        return one == other

    monkeypatch.setattr(hmac, "compare_digest", compare)
    keyring = Keyring(["first", "second, and much longer", "third"])

    for key, is_held in (("first", True), ("third", True), ("x", False), ("second" * 1000, False)):
        compared.clear()
        assert keyring.holds(key) == is_held
        assert compared == [(32, 32)] * 3
