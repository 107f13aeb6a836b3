from __future__ import annotations

import re

from tests.unit.edge.small_server import SmallServer, small_document
from troth.edge.settings import EdgeSettings


def test_the_document_is_published_as_it_was_handed_in() -> None:
    response = SmallServer().ask("GET", "/openapi.json")

    assert response.json() == small_document()
    assert response.headers["content-type"] == "application/json"


def test_the_page_and_all_its_files_come_from_this_server() -> None:
    server = SmallServer()

    page = server.ask("GET", "/docs")

    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "http" not in page.text
    assert "validatorUrl: null" in page.text
    files = re.findall(r'(?:href|src)="(docs/assets/[^"]+)"', page.text)
    assert len(files) == 3
    for file in files:
        assert server.ask("GET", f"/{file}").status_code == 200


def test_the_files_of_an_open_page_are_open_too() -> None:
    server = SmallServer(EdgeSettings(api_keys=("k",)))

    assert server.ask("GET", "/docs").status_code == 200
    assert server.ask("GET", "/docs/assets/swagger-ui.css").status_code == 200
