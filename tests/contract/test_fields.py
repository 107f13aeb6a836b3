"""Every field of the document keeps the promise of its class, at every depth. Parametrised from the document."""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.demonstrations import SINGING, choices, content, user
from tests.support.fields import (
    ANYTHING,
    CHAT,
    QUESTION,
    Body,
    RequestField,
    as_json,
    asking_values,
    body_with,
    fields_of,
    impossible,
    neutral_values,
)
from tests.support.judge import chunks_of, published_document
from troth._generated.fields import FIELDS, PREFIXES

ClientFor = Callable[[str], httpx.Client]

PATH = "/v1/chat/completions"
FIELD = fields_of(published_document())
UNSENDABLE = impossible(FIELD)
NOTHING = {"max_tokens": 0}
SEEDED = {"max_tokens": 4, "temperature": 1, "seed": 3}


def of_class(name: str) -> list[str]:
    return [path for path, field in FIELD.items() if field.contract_class == name]


def top(path: str) -> bool:
    return "." not in path


def is_sendable(path: str) -> bool:
    return path.rpartition(".")[0] not in UNSENDABLE


@pytest.fixture
def client_for(request: pytest.FixtureRequest) -> ClientFor:
    """`client_for(path)`: a client of a server whose model can do what goes with this field."""

    def choose(path: str) -> httpx.Client:
        senses = any(part in path for part in ("[image_url]", "[input_image]", "[input_audio]"))
        found: httpx.Client = request.getfixturevalue("sighted" if senses else "client")
        return found

    return choose


def refusal(response: httpx.Response, param: str, code: str) -> str:
    """The message of a 400 that names `param`."""
    assert response.status_code == 400, response.text
    error = response.json()["error"]
    assert (error["param"], error["code"], error["type"]) == (param, code, "invalid_request_error")
    return str(error["message"])


def test_the_generated_table_is_what_the_document_says() -> None:
    said = {
        path: (field.contract_class, field.neutral, field.schema["x-contract"].get("of"))
        for path, field in FIELD.items()
    }
    assert said == {path: (rule.contract_class, rule.neutral, rule.of) for path, rule in FIELDS[CHAT].items()}


# ---- guarded -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", of_class("guarded"))
def test_a_guarded_field_is_refused_by_name_with_what_is_accepted(path: str, client: httpx.Client) -> None:
    field = FIELD[path]
    for asking in asking_values(field):
        body, param = body_with(path, asking)
        message = refusal(client.post(PATH, json=body), param, "unsupported_value")
        assert param in message
        assert field.words in message
        if field.neutral and "enum" in field.neutral:
            assert all(as_json(value) in message for value in field.neutral["enum"])


def test_every_guarded_field_has_a_value_that_asks_for_something() -> None:
    assert [path for path in of_class("guarded") if not asking_values(FIELD[path])] == []


@pytest.mark.parametrize("path", [path for path in of_class("guarded") if FIELD[path].neutral and is_sendable(path)])
def test_a_guarded_field_is_accepted_at_its_neutral_values(path: str, client_for: ClientFor) -> None:
    client = client_for(path)
    for neutral in neutral_values(FIELD[path]):
        body, _ = body_with(path, neutral, **NOTHING)
        assert client.post(PATH, json=body).status_code == 200


# ---- inert ---------------------------------------------------------------------------------------


INERT = [path for path in of_class("inert") if is_sendable(path)]


@pytest.mark.parametrize(("path", "value"), list(zip(INERT, cycle(ANYTHING), strict=False)))
def test_an_inert_field_changes_no_byte_of_the_answer(path: str, value: Any, client_for: ClientFor) -> None:
    client = client_for(path)
    with_it, without = (body_with(path, said, **SEEDED)[0] for said in (value, None))
    assert content(client.post(PATH, json=with_it)) == content(client.post(PATH, json=without))


@pytest.mark.parametrize("value", ANYTHING)
def test_all_inert_fields_together_change_no_byte(value: Any, client: httpx.Client) -> None:
    plain = {"messages": [QUESTION], **SEEDED}
    inert = {path: value for path in INERT if top(path)}
    assert content(client.post(PATH, json=plain | inert)) == content(client.post(PATH, json=plain))


@pytest.mark.parametrize("prefix", PREFIXES[CHAT])
def test_a_family_of_inert_fields_changes_no_byte(prefix: str, client: httpx.Client) -> None:
    assert PREFIXES[CHAT][prefix] == "inert"
    family: list[Body] = [{}, {f"{prefix}x": 1}, {f"{prefix}y": {}}]
    answers = {content(client.post(PATH, json={"messages": [QUESTION], **SEEDED, **more})) for more in family}
    assert len(answers) == 1


# ---- aliases -------------------------------------------------------------------------------------

# Of each field that has aliases: two values, and what shows which one was taken.
ALIASED: dict[str, tuple[Any, Any, Any]] = {
    "max_tokens": (2, 3, lambda response: response.json()["usage"]["completion_tokens"]),
    "n": (1, 2, choices),
    "stop": ([], ["la"], content),
    "repeat_penalty": (1, 2.5, content),
    "thinking_token_budget": (-1, 100, lambda response: response.status_code),
}
ALIASES = [path for path in of_class("alias") if top(path)]


def aliased(path: str) -> tuple[str, Any, Any, Any]:
    """The field that an alias stands for, two values, and what tells them apart."""
    field = str(FIELD[path].schema["x-contract"]["of"])
    return (field, *ALIASED[field])


def test_every_field_with_aliases_has_values() -> None:
    assert {FIELD[path].schema["x-contract"]["of"] for path in ALIASES} == set(ALIASED)


@pytest.mark.parametrize("path", ALIASES)
def test_an_alias_does_what_its_field_does(path: str, client: httpx.Client) -> None:
    field, one, other, look = aliased(path)
    base: Body = {"messages": SINGING, "temperature": 0, "max_tokens": None if field == "max_tokens" else 8}
    seen = [[look(client.post(PATH, json=base | {name: value})) for value in (one, other)] for name in (field, path)]
    assert seen[0] == seen[1]
    assert seen[0][0] != seen[0][1]


@pytest.mark.parametrize("path", ALIASES)
def test_two_names_with_two_values_are_refused_naming_both(path: str, client: httpx.Client) -> None:
    field, one, other, _ = aliased(path)
    body = {"messages": [QUESTION], field: one, path: other}
    message = refusal(client.post(PATH, json=body), path, "conflicting_values")
    assert field in message
    assert path in message


@pytest.mark.parametrize("path", ALIASES)
def test_two_names_with_one_value_are_one_field(path: str, client: httpx.Client) -> None:
    field, one, _, _ = aliased(path)
    body = {"messages": [QUESTION], **NOTHING, field: one, path: one}
    assert client.post(PATH, json=body).status_code == 200


def test_two_aliases_with_two_values_are_refused_naming_both(client: httpx.Client) -> None:
    body = {"messages": [QUESTION], "n_predict": 1, "max_completion_tokens": 2}
    message = refusal(client.post(PATH, json=body), "n_predict", "conflicting_values")
    assert "max_completion_tokens" in message


def test_an_alias_below_the_top_is_the_field_that_it_stands_for(client: httpx.Client) -> None:
    assert [path for path in of_class("alias") if not top(path)] == ["messages[assistant].reasoning"]
    assistant = {"role": "assistant", "content": "a", "reasoning": "b", "reasoning_content": "c"}
    response = client.post(PATH, json={"messages": [assistant, QUESTION], **NOTHING})
    refusal(response, "messages.0.reasoning", "conflicting_values")


# ---- clamped -------------------------------------------------------------------------------------


def test_only_the_budget_is_clamped() -> None:
    assert of_class("clamped") == ["max_tokens"]


@pytest.mark.parametrize("name", ["max_tokens", *(path for path in ALIASES if aliased(path)[0] == "max_tokens")])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_budget_above_the_cap_is_cut_and_reported(
    name: str, streamed: bool, serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(servers.small()))
    response = client.post(PATH, json={"messages": user(), name: 1000, "stream": streamed})
    assert response.status_code == 200
    last = last_of(response)
    assert last["choices"][0]["finish_reason"] == "length"
    timings = last["timings"]
    assert (timings["max_tokens_clamped_from"], timings["max_tokens_clamped_to"]) == (1000, 5)
    assert timings["predicted_n"] == 5


def test_a_budget_above_the_context_is_cut_to_what_is_left(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.cramped()))
    response = client.post(PATH, json={"messages": user(), "max_tokens": 1000, "ignore_eos": True}).json()
    left = 64 - response["usage"]["prompt_tokens"]
    assert response["usage"]["completion_tokens"] == left
    assert response["timings"]["max_tokens_clamped_to"] == left


def test_a_budget_within_the_cap_reports_no_clamp(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.small()))
    response = client.post(PATH, json={"messages": user(), "max_tokens": 5})
    assert "max_tokens_clamped_from" not in response.json()["timings"]


def test_no_limit_is_no_number_to_clamp(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.small()))
    for limit in (-1, None):
        response = client.post(PATH, json={"messages": user(), "max_tokens": limit}).json()
        assert response["usage"]["completion_tokens"] <= 5
        assert "max_tokens_clamped_from" not in response["timings"]


def test_a_budget_above_the_cap_is_refused_where_the_operator_says_so(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.impatient()))
    message = refusal(client.post(PATH, json={"messages": user(), "max_tokens": 901}), "max_tokens", "invalid_value")
    assert "900" in message


# ---- null ----------------------------------------------------------------------------------------


OPTIONAL = [path for path, field in FIELD.items() if not field.required and is_sendable(path)]


@pytest.mark.parametrize("place", sorted({path.rpartition(".")[0] for path in OPTIONAL} - {""}))
def test_the_optional_fields_of_a_part_accept_null(place: str, client_for: ClientFor) -> None:
    client = client_for(place)
    nulls = [path for path in OPTIONAL if path.rpartition(".")[0] == place]
    for path in nulls:
        body, _ = body_with(path, None, max_tokens=0)
        assert client.post(PATH, json=body).status_code == 200, path


def test_null_everywhere_is_as_if_nothing_was_sent(client: httpx.Client) -> None:
    nulls: Body = {path: None for path in OPTIONAL if top(path)}
    body = {"messages": [QUESTION], **SEEDED}
    assert content(client.post(PATH, json=nulls | body)) == content(client.post(PATH, json=body))


# ---- unknown -------------------------------------------------------------------------------------


def test_unknown_fields_are_ignored(client: httpx.Client) -> None:
    body = {"messages": [QUESTION], **SEEDED}
    unknown = {"temprature": 2, "messages": [QUESTION | {"colour": "red"}]}
    assert content(client.post(PATH, json=body | unknown)) == content(client.post(PATH, json=body))


# ---- what the operator switches off --------------------------------------------------------------


@pytest.fixture(scope="session")
def strict(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A server that guards all it can and refuses unknown fields."""
    return connect(serve_with(servers.guarding(FIELD)))


def switched_off() -> list[RequestField]:
    return [FIELD[path] for path in servers.guardable(FIELD)]


@pytest.mark.parametrize("field", switched_off(), ids=lambda field: field.path)
def test_an_honoured_field_that_the_operator_guards_is_refused_by_name(
    field: RequestField, strict: httpx.Client
) -> None:
    for asking in asking_values(field):
        body, param = body_with(field.path, asking)
        assert field.words in refusal(strict.post(PATH, json=body), param, "unsupported_value")
    for neutral in (*neutral_values(field), None):
        body, _ = body_with(field.path, neutral, max_completion_tokens=0)
        assert strict.post(PATH, json=body).status_code == 200


@pytest.mark.parametrize(
    ("unknown", "param", "near"),
    [
        ({"temprature": 2}, "temprature", "temperature"),
        ({"messages": [QUESTION | {"contnt": "x"}]}, "messages.0.contnt", "content"),
    ],
)
def test_unknown_fields_are_refused_with_the_nearest_name(
    unknown: Body, param: str, near: str, strict: httpx.Client
) -> None:
    message = refusal(strict.post(PATH, json={"messages": [QUESTION], **unknown}), param, "unknown_field")
    assert near in message


def test_inert_families_are_known_where_unknown_fields_are_refused(strict: httpx.Client) -> None:
    body = {"messages": [QUESTION], "max_completion_tokens": 1, "speculative.n_max": 16, "unknown_but_null": None}
    assert strict.post(PATH, json=body).status_code == 200


def last_of(response: httpx.Response) -> dict[str, Any]:
    """The answer, or the last chunk of a stream."""
    if response.headers["content-type"].startswith("text/event-stream"):
        return chunks_of(response.text)[-1]
    whole: dict[str, Any] = response.json()
    return whole
