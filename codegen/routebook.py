"""Writes the part of `docs/routes.md` that maps routes to the three documents and to the tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from codegen.bundle import Document
from codegen.demonstrations import ALIASES
from codegen.fieldbook import table
from codegen.lint_operations import DOCUMENTS, NOT_THERE_YET
from codegen.source import Source
from codegen.tables import operation_rows

HEAD = """## Which document names it, and which tests ask it

`Radiance`, `halogen` and `hal0` are the API documents that Troth implements. The last column lists the files of
`tests/contract/` whose requests name the path, without `test_`; it is read from the tests. All of them drive a live
server, and every answer is judged by the document. Besides, `document` asks every route there is, and every alias
beside its operation, and `examples` runs the examples of every operation.
"""

ABSENT_HEAD = """## Named by a document, and not there yet
"""


def write_route_map(document: Document, demonstrated: Mapping[str, Sequence[str]], source: Source) -> str:
    """Two tables: routes that are served, with documents and tests, and routes that are not served yet."""
    rows = []
    for row in operation_rows(document):
        operation = document["paths"][row["path"]][row["method"].lower()]
        rows.append(
            [
                f"`{row['method']} {row['path']}`",
                *_marks(operation["x-documents"]),
                ", ".join(asked_by(row["path"], "x-alias-of" in operation, demonstrated)),
            ]
        )
    absent = [
        [f"`{route}`", *_marks(entry["documents"]), entry["serves"]]
        for route, entry in source.files.get(NOT_THERE_YET, {}).items()
    ]
    names = ("Radiance", "halogen", "hal0")
    parts = [HEAD, table(("route", *names, "asked by"), rows), ""]
    if absent:
        parts += [ABSENT_HEAD, table(("route", *names, "what it is for"), absent), ""]
    return "\n".join(parts)


def asked_by(path: str, is_alias: bool, demonstrated: Mapping[str, Sequence[str]]) -> list[str]:
    """The names of the tests that ask a path; an alias is asked beside its operation."""
    return sorted({*demonstrated[path], *([ALIASES] if is_alias else [])})


def _marks(named: Sequence[str]) -> list[str]:
    return ["yes" if each in named else "" for each in DOCUMENTS]
