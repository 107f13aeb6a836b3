"""The document's own examples: each request is sent, and its answer has the shape of the example's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.support.judge import Judge, chunks_of, events_of, published_document
from troth._generated.operations import OPERATIONS, Operation

DOCUMENT = published_document()
OTHERS = {  # these need other models than the usual server has
    "create_embedding": "vectors",
    "create_rerank": "vectors",
    "decide": "judges",
    "moderate": "judges",
}
JSON, EVENTS = "application/json", "text/event-stream"


def item_of(operation: Operation) -> dict[str, Any]:
    found: dict[str, Any] = DOCUMENT["paths"][operation.path][operation.method.lower()]
    return found


def request_examples() -> Iterator[Any]:
    for operation in OPERATIONS.values():
        media = item_of(operation).get("requestBody", {}).get("content", {}).get(JSON, {})
        for name, example in media.get("examples", {}).items():
            yield pytest.param(operation, name, example["value"], id=f"{operation.id}-{name}")


def answer_examples() -> Iterator[Any]:
    for operation in OPERATIONS.values():
        for status, answer in item_of(operation)["responses"].items():
            answer = resolved(answer)
            for media_type, media in answer.get("content", {}).items():
                for name, example in media.get("examples", {}).items():
                    label = f"{operation.id}-{status}-{name}"
                    yield pytest.param(media_type, media, example["value"], id=label)


def resolved(node: dict[str, Any]) -> dict[str, Any]:
    here: Any = DOCUMENT
    if "$ref" not in node:
        return node
    for step in node["$ref"].removeprefix("#/").split("/"):
        here = here[step]
    assert isinstance(here, dict)
    return here


@pytest.mark.parametrize(("operation", "name", "body"), list(request_examples()))
def test_an_example_is_answered_as_the_document_shows(
    operation: Operation, name: str, body: Any, client: httpx.Client, request: pytest.FixtureRequest
) -> None:
    if operation.handler in OTHERS:
        client = request.getfixturevalue(OTHERS[operation.handler])
    response = client.request(operation.method, operation.path, json=body)
    if operation.handler == "infill":  # the embedded model has no tokens for gaps
        assert response.status_code == 501
        return
    assert response.status_code == 200
    media = item_of(operation)["responses"]["200"]["content"][response.headers["content-type"].partition(";")[0]]
    shown = media["examples"][name]["value"]
    if isinstance(shown, str):
        assert set(events_of(shown)) & {"[DONE]"} == set(events_of(response.text)) & {"[DONE]"}
        assert_has_shape(joined(response.text), joined(shown))
    else:
        assert_has_shape(response.json(), shown)


def readable() -> list[Operation]:
    """The operations that need nothing but the name of a model."""
    reads = [operation for operation in OPERATIONS.values() if operation.method == "GET"]
    return [operation for operation in reads if "{" not in operation.path.replace("{model_id}", "")]


@pytest.mark.parametrize("operation", readable(), ids=lambda operation: operation.id)
def test_what_is_read_looks_as_the_document_shows(operation: Operation, client: httpx.Client) -> None:
    [model] = client.get("/v1/models").json()["data"]
    response = client.get(operation.path.format(model_id=model["id"]))
    for media_type, media in item_of(operation)["responses"]["200"]["content"].items():
        assert response.headers["content-type"].partition(";")[0] == media_type
        for example in media["examples"].values():
            if media_type == JSON:
                assert_has_shape(response.json(), example["value"])


@pytest.mark.parametrize(("media_type", "media", "example"), list(answer_examples()))
def test_an_example_of_an_answer_fits_its_schema(media_type: str, media: Any, example: Any, judge: Judge) -> None:
    if media_type == EVENTS:
        for chunk in chunks_of(example):
            judge.judge_value(chunk, media["x-event-schema"])
    elif media_type == JSON:
        judge.judge_value(example, media["schema"])


def assert_has_shape(answer: Any, example: Any, at: str = "$") -> None:
    """`answer` has everything that `example` shows, of the same types.

    Of lists the first item is looked at; lists, and objects inside the answer, may be empty.
    """
    if isinstance(example, dict):
        assert isinstance(answer, dict), at
        if not answer and at != "$":
            return
        for name, value in example.items():
            assert name in answer, f"{at}.{name} is in the example only: {json.dumps(answer)[:500]}"
            assert_has_shape(answer[name], value, f"{at}.{name}")
    elif isinstance(example, list) and example:
        assert isinstance(answer, list), at
        if answer:
            assert_has_shape(answer[0], example[0], f"{at}[0]")
    elif example is not None and answer is not None:
        kinds = (int, float) if isinstance(example, int | float) else type(example)
        assert isinstance(answer, kinds), f"{at}: {answer!r} in place of {example!r}"


def joined(stream: str) -> dict[str, Any]:
    """What all chunks of a stream carry together."""
    whole: dict[str, Any] = {}
    for chunk in chunks_of(stream):
        whole |= {name: value for name, value in chunk.items() if value not in (None, [])}
    return whole
