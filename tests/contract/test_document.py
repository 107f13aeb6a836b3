"""The document is in order, and the server serves all of it: every operation, under every name, and no other."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest

from codegen.lint import lint
from codegen.source import Source
from tests.support.judge import Document
from troth._generated.operations import OPERATIONS, Operation

OPENAPI = Path(__file__).parents[2] / "openapi"
METHODS = ("get", "put", "post", "delete", "patch", "head", "trace")
REACHED = {200, 400, 404, 415, 503}  # what an operation may say to an empty request; 405 is no operation

ALIASES = [operation for operation in OPERATIONS.values() if "__alias" in operation.id]
WITHOUT_BODY = [operation for operation in OPERATIONS.values() if operation.method == "GET"]


def path_of(operation: Operation) -> str:
    """A path of the operation; a parameter in it is some name."""
    return operation.path.replace("{", "").replace("}", "")


def test_the_document_keeps_the_numbered_rules() -> None:
    assert [str(finding) for finding in lint(Source(OPENAPI))] == []


def test_the_table_of_operations_is_what_the_document_says(document: Document) -> None:
    said = {
        (operation["operationId"], method.upper(), path)
        for path, item in document["paths"].items()
        for method, operation in item.items()
        if method in METHODS
    }
    assert said == {(operation.id, operation.method, operation.path) for operation in OPERATIONS.values()}


@pytest.mark.parametrize("operation", OPERATIONS.values(), ids=lambda operation: operation.id)
def test_every_operation_is_reached(operation: Operation, client: httpx.Client) -> None:
    response = client.request(operation.method, path_of(operation))
    assert response.status_code in REACHED
    if response.status_code == 404:
        assert "Nothing is served" not in response.text


@pytest.mark.parametrize("operation", ALIASES, ids=lambda operation: operation.id)
def test_an_alias_answers_as_its_operation(operation: Operation, client: httpx.Client) -> None:
    original = OPERATIONS[operation.id.partition("__alias")[0]]
    one, other = (client.request(each.method, path_of(each)) for each in (original, operation))
    assert one.status_code == other.status_code
    assert shape_of(one) == shape_of(other)


@pytest.mark.parametrize("path", sorted({each.path for each in OPERATIONS.values() if "{" not in each.path}))
def test_a_path_is_served_as_it_is_spelled_only(path: str, client: httpx.Client) -> None:
    for other in (path + "/", "/" + path, path.upper()):
        response = client.get(client.base_url.copy_with(raw_path=other.encode()))
        assert response.status_code == 404, other


def test_every_answer_has_an_id_of_its_own(client: httpx.Client) -> None:
    ids = {client.get("/ping").headers["x-request-id"] for _ in range(5)}
    assert len(ids) == 5


def shape_of(response: httpx.Response) -> Any:
    """What two equal requests share: the form of the answer, and the words of an error."""
    if response.headers["content-type"] != "application/json":
        return response.headers["content-type"]
    body = response.json()
    return body["error"] if "error" in body else sorted(body)
