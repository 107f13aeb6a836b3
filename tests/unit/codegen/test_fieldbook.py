"""The generated pages say what the document says, in tables that Markdown can read."""

from __future__ import annotations

from codegen.bundle import bundle
from codegen.fieldbook import write_field_page, write_route_page
from codegen.source import Source
from codegen.tables import request_fields, request_models


def test_every_field_of_the_document_has_a_row(small: Source) -> None:
    document = bundle(small)
    page = write_field_page(document, "")
    for schema in request_models(document).values():
        for path, _ in request_fields(document, schema):
            assert f"| `{path}` | " in page


def test_a_row_says_class_form_and_description(small: Source) -> None:
    rows = write_field_page(bundle(small), "").splitlines()
    assert "| `words` | clamped to `words` | integer, 1 to 9 | How many. |" in rows
    assert "| `count` | alias of `words` | integer, 1 to 9 | The same. |" in rows
    assert "| `stream` | honoured; neutral: false | boolean | Bit by bit. |" in rows
    assert '| `accent` | guarded: leave it out or send "" | string | Not done. |' in rows
    assert "| `turns[song].tune` | guarded: leave it out | string | Not done. |" in rows


def test_families_of_inert_fields_are_named(small: Source) -> None:
    assert "begins with `hint.` is inert" in write_field_page(bundle(small), "")


def test_every_route_has_its_statuses(small: Source) -> None:
    document = bundle(small)
    page = write_route_page(document, "")
    for path, item in document["paths"].items():
        row = next(line for line in page.splitlines() if f"`POST {path}`" in line)
        for status in item["post"]["responses"]:
            assert status == "default" or status in row


def test_the_cells_of_every_row_are_as_many_as_the_head_has(small: Source) -> None:
    for page in (write_field_page(bundle(small), ""), write_route_page(bundle(small), "")):
        for table in page.split("\n\n"):
            rows = [line.replace("\\|", "") for line in table.splitlines() if line.startswith("|")]
            assert len({row.count("|") for row in rows}) <= 1


def test_the_stamp_comes_first(small: Source) -> None:
    assert write_field_page(bundle(small), "<!-- made -->\n").startswith("<!-- made -->")
