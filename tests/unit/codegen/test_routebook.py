"""The map of routes names documents and tests, and no route is without a test."""

from __future__ import annotations

import pytest

from codegen.__main__ import OPENAPI, TESTS
from codegen.bundle import bundle
from codegen.demonstrations import ALIASES, demonstrations
from codegen.routebook import asked_by, write_route_map
from codegen.source import Source
from codegen.tables import operation_rows

PUBLISHED = bundle(Source(OPENAPI))
ASKED = demonstrations(TESTS, PUBLISHED["paths"])


def test_a_route_has_its_documents_and_tests(small: Source) -> None:
    page = write_route_map(bundle(small), {"/v1/say": ["talk", "song"], "/say": []}, small)

    assert "| `POST /v1/say` | yes |  |  | song, talk |" in page
    assert "| `POST /say` |  |  |  | document |" in page


def test_a_route_that_is_not_there_yet_has_a_row(small: Source) -> None:
    page = write_route_map(bundle(small), {"/v1/say": [], "/say": []}, small)

    assert "| `POST /v1/sing` |  |  | yes | songs |" in page


@pytest.mark.parametrize("row", operation_rows(PUBLISHED), ids=lambda row: row["id"])
def test_every_route_is_asked_by_a_contract_test(row: dict[str, str]) -> None:
    assert asked_by(row["path"], "__alias" in row["id"], ASKED), "no file of tests/contract/ names this path"


def test_the_test_that_asks_every_alias_is_there() -> None:
    code = (TESTS / "contract" / f"test_{ALIASES}.py").read_text("utf-8")

    assert '@pytest.mark.parametrize("operation", ALIASES' in code
