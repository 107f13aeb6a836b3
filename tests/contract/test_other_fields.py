"""Fields of requests other than chat keep the promise of their class. Parametrised from the document."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.support.fields import ANYTHING, Body, RequestField, asking_values, fields_of, filled, neutral_values
from tests.support.judge import published_document
from troth._generated.fields import FIELDS

Look = Callable[[httpx.Response], Any]
DOCUMENT = published_document()
CHAT = FIELDS["ChatCompletionRequest"]


@dataclass(frozen=True, slots=True)
class Route:
    """One route, a request to it that asks for little, and where an answer's text is."""

    path: str
    base: Body
    text: Look
    param: bool = True  # errors name the field in `param`
    server: str = "client"  # the fixture that asks it

    def body(self, name: str, field: str, value: Any) -> Body:
        """The base with the field at `field` set to `value`. `name`: of the request's schema."""
        return filled(name, self.base, field, value)[0]


def answer(response: httpx.Response) -> Any:
    assert response.status_code == 200, response.text
    return response.json()


SEEDED: Body = {"max_tokens": 3, "temperature": 1, "seed": 3}
HELLO = [{"role": "user", "content": "Hello"}]
ROUTES = {
    "CompletionRequest": Route(
        "/v1/completions", {"prompt": "Once upon a", **SEEDED}, lambda r: answer(r)["choices"][0]["text"]
    ),
    "NativeCompletionRequest": Route(
        "/completion", {"prompt": "Once upon a", **SEEDED}, lambda r: answer(r)["content"], param=False
    ),
    "MessagesRequest": Route(
        "/v1/messages", {"messages": HELLO, **SEEDED}, lambda r: answer(r)["content"][0]["text"], param=False
    ),
    "ResponsesRequest": Route(
        "/v1/responses", {"input": "Hello", **SEEDED}, lambda r: answer(r)["output"][0]["content"][0]["text"]
    ),
    "EmbeddingRequest": Route(
        "/v1/embeddings", {"input": "Hello", "dimensions": 3}, lambda r: answer(r)["data"], server="vectors"
    ),
    "RerankRequest": Route(
        "/v1/rerank", {"query": "Hello", "documents": ["Hi"]}, lambda r: answer(r)["results"], server="vectors"
    ),
    "TokenizeRequest": Route("/tokenize", {"content": "Hello there"}, lambda r: answer(r)["tokens"], param=False),
}


@pytest.fixture
def ask(request: pytest.FixtureRequest) -> Callable[[Route], httpx.Client]:
    """`ask(route)`: a client of the server that the route needs."""

    def client_of(route: Route) -> httpx.Client:
        found: httpx.Client = request.getfixturevalue(route.server)
        return found

    return client_of


ALIASED: dict[str, tuple[Any, Any]] = {  # two values of a field that has aliases; numbers where nothing is said
    "stop": (["a"], ["b"]),
    "prompt_name": ("a", "b"),
    "normalize": (True, False),
    "truncate": (True, False),
    "return_documents": (True, False),
}


def cases(contract_class: str) -> list[Any]:
    """The top fields, and those of plain objects, that are of this class; what chat has alike is tested there."""
    found = []
    for name in ROUTES:
        for path, field in fields_of(DOCUMENT, name).items():
            alike = path in CHAT and CHAT[path] == FIELDS[name][path] and name not in ("MessagesRequest",)
            if field.contract_class == contract_class and "[" not in path and not alike:
                found.append(pytest.param(name, field, id=f"{name}.{path}"))
    return found


@pytest.mark.parametrize(("name", "field"), cases("guarded"))
def test_a_guarded_field_is_refused_by_name_and_accepted_at_its_neutral_values(
    name: str, field: RequestField, ask: Callable[[Route], httpx.Client]
) -> None:
    route = ROUTES[name]
    client = ask(route)
    asking = asking_values(field)
    assert asking
    for value in asking:
        response = client.post(route.path, json=route.body(name, field.path, value))
        assert response.status_code == 400, response.text
        error = response.json()["error"]
        assert field.path in error["message"]
        assert field.words in error["message"]
        assert not route.param or error["param"] == field.path
    for value in (*neutral_values(field), *(() if field.required else (None,))):
        assert answer(client.post(route.path, json=route.body(name, field.path, value)))


@pytest.mark.parametrize(("name", "field"), cases("inert"))
def test_an_inert_field_changes_no_byte_of_the_answer(
    name: str, field: RequestField, ask: Callable[[Route], httpx.Client]
) -> None:
    route = ROUTES[name]
    client = ask(route)
    plain = route.text(client.post(route.path, json=route.body(name, field.path, None)))
    for value in ANYTHING:
        assert route.text(client.post(route.path, json=route.body(name, field.path, value))) == plain


@pytest.mark.parametrize(("name", "field"), cases("alias"))
def test_an_alias_with_another_value_is_refused(
    name: str, field: RequestField, ask: Callable[[Route], httpx.Client]
) -> None:
    route = ROUTES[name]
    client = ask(route)
    of = field.schema["x-contract"]["of"]
    one, other = ALIASED.get(of, (1, 2))
    body = {**{key: value for key, value in route.base.items() if key != of}, of: one, field.path: other}
    response = client.post(route.path, json=body)
    assert response.status_code == 400
    assert of in response.json()["error"]["message"]
    assert field.path in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("name", "field", "one", "other", "look"),
    [
        (
            "MessagesRequest",
            "system",
            None,
            "Answer in French, and shout.",
            lambda r: answer(r)["usage"]["input_tokens"],
        ),
        ("MessagesRequest", "stream", False, True, lambda r: r.headers["content-type"]),
        ("MessagesRequest", "stop_sequences", None, ["e", "o", "i", "a"], lambda r: answer(r)["stop_reason"]),
        ("ResponsesRequest", "instructions", None, "Answer in French.", lambda r: answer(r)["usage"]["input_tokens"]),
        ("ResponsesRequest", "stream", False, True, lambda r: r.headers["content-type"]),
        ("ResponsesRequest", "max_output_tokens", 1, 2, lambda r: answer(r)["usage"]["output_tokens"]),
        ("CompletionRequest", "prompt", "One", "Two", lambda r: answer(r)["choices"][0]["text"]),
        ("CompletionRequest", "echo", False, True, lambda r: answer(r)["choices"][0]["text"]),
        ("CompletionRequest", "logprobs", None, 1, lambda r: answer(r)["choices"][0]["logprobs"] is None),
        ("CompletionRequest", "logit_bias", {}, {"198": -100, "28": 100}, lambda r: answer(r)["choices"][0]["text"]),
        ("NativeCompletionRequest", "n_probs", 0, 2, lambda r: "completion_probabilities" in answer(r)),
        ("NativeCompletionRequest", "return_tokens", False, True, lambda r: len(answer(r)["tokens"])),
        ("NativeCompletionRequest", "response_fields", [], ["content"], lambda r: len(answer(r))),
        ("NativeCompletionRequest", "n", 1, 2, lambda r: type(answer(r))),
        ("TokenizeRequest", "content", "one", "one two", lambda r: answer(r)["count"]),
        ("TokenizeRequest", "with_pieces", False, True, lambda r: type(answer(r)["tokens"][0])),
        ("TokenizeRequest", "return_token_strs", False, True, lambda r: "token_strs" in answer(r)),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_an_honoured_field_changes_the_answer(
    name: str, field: str, one: Any, other: Any, look: Look, client: httpx.Client
) -> None:
    route = ROUTES[name]
    base = route.base if field != "max_output_tokens" else {"input": "Hello"}
    bodies = [{**base, field: value} for value in (one, other)]
    if field == "stop_sequences":
        bodies = [{**body, "max_tokens": 30} for body in bodies]
    seen = [look(client.post(route.path, json=body)) for body in bodies]
    assert seen[0] != seen[1]
