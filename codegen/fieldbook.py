"""Writes the pages of the documentation that the document itself can tell: every field, every route."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

from codegen.bundle import Document
from codegen.models import parameters_of
from codegen.tables import operation_rows, request_fields, request_models, resolved
from troth.contract import Neutral

FIELDS_HEAD = """# Request fields

Every field of every request, with its contract class. The same table drives the refusals, `GET /health`
(`contract`) and the tests, so this page cannot say more than the server does.
"""

CLASSES = (
    (
        "honoured",
        "It does what is written here. *Neutral* is the value that asks for nothing: an engine that cannot do the "
        "field, or a server whose `contract.guard` names it, takes that value and refuses every other by name.",
    ),
    ("clamped", "As honoured, and cut to a limit instead of refused; the cut is reported in `timings`."),
    ("alias", "Another spelling of the field named. Both with different values: 400 `conflicting_values`."),
    ("guarded", "Known and not done. The value named is taken, every other is 400 `unsupported_value`."),
    ("inert", "Cannot change the answer. Every value is taken and ignored."),
)

FIELDS_NOTE = """
`null` is the same as leaving a field out, everywhere. A field that is not on this page is unknown: ignored
and logged at debug, or refused with 400 `unknown_field` (`contract.unknown_fields`). In the names,
`a.b` is a field inside an object, `a[].b` inside the items of a list, `a[tag].b` inside the items that have
this tag.
"""

ROUTES_HEAD = """# Routes

Every operation of the document, with the statuses that it can answer. 405 (another method of a served path)
and 404 (a path that nothing serves) come from the router; 499, a client that hung up, is in the log and the
metrics alone. `GET` routes answer `HEAD`, and every route answers `OPTIONS`. What the codes mean:
[errors.md](errors.md). What may be sent: [fields.md](fields.md).
"""


def write_field_page(document: Document, stamp: str) -> str:
    """The text of `docs/fields.md`."""
    parts = [stamp, FIELDS_HEAD, table(("class", "what becomes of the field"), CLASSES), FIELDS_NOTE]
    for model, schema in request_models(document).items():
        users = [row for row in operation_rows(document) if model in (row["body_model"], row["parameters_model"])]
        routes = ", ".join(f"`{row['method']} {row['path']}`" for row in users)
        fields = list(request_fields(document, schema))
        parts.append(f"## {model}\n\n{routes}: {_census(fields)}.\n")
        for title, group in _groups(fields):
            rows = [[f"`{path}`", *_cells(document, field)] for path, field in group]
            parts.append(f"### {title}\n\n{table(('field', 'class', 'takes', 'what it does'), rows)}\n")
        for prefix, contract_class in schema.get("x-contract-prefixes", {}).items():
            parts.append(f"Every field whose name begins with `{prefix}` is {contract_class}.\n")
    return "\n".join(parts)


def write_route_page(document: Document, stamp: str) -> str:
    """The text of `docs/routes.md`."""
    rows = []
    for row in operation_rows(document):
        operation = document["paths"][row["path"]][row["method"].lower()]
        statuses = [status for status in operation["responses"] if status != "default"]
        rows.append(
            [
                f"`{row['method']} {row['path']}`",
                f"`{row['handler']}`",
                row["summary"],
                ", ".join(f"`{media}`" for media in row["media"]),
                ", ".join(sorted(statuses)),
                row["dialect"],
                "open" if row["open"] else "key",
            ]
        )
    head = ("route", "operation", "what it answers", "media", "statuses", "error shape", "access")
    parameters = [
        [f"`{row['method']} {row['path']}`", f"`{each['name']}`", each["in"], _text(each["description"])]
        for row in operation_rows(document)
        for each in parameters_of(document, document["paths"][row["path"]][row["method"].lower()])
    ]
    parts = [stamp, ROUTES_HEAD, table(head, rows), ""]
    if parameters:
        parts += ["## Parameters", "", table(("route", "parameter", "in", "what it does"), parameters), ""]
    return "\n".join(parts)


# ---- fields -------------------------------------------------------------------------------------


def _groups(fields: Sequence[tuple[str, dict[str, Any]]]) -> Iterator[tuple[str, list[tuple[str, dict[str, Any]]]]]:
    """The fields of the request itself by class, then those inside others by the field that holds them."""
    top = [(path, field) for path, field in fields if not re.search(r"[.\[]", path)]
    for contract_class, _ in CLASSES:
        group = [(path, field) for path, field in top if field["x-contract"]["class"] == contract_class]
        if group:
            yield f"{contract_class.capitalize()} fields", group
    holders = dict.fromkeys(re.split(r"[.\[]", path)[0] for path, _ in fields if re.search(r"[.\[]", path))
    for holder in holders:
        yield f"Inside `{holder}`", [(path, field) for path, field in fields if re.match(rf"{holder}[.\[]", path)]


def _census(fields: Sequence[tuple[str, dict[str, Any]]]) -> str:
    """How many fields there are of each class."""
    classes = [field["x-contract"]["class"] for _, field in fields]
    counts = {name: classes.count(name) for name, _ in CLASSES}
    whole = "1 field" if len(fields) == 1 else f"{len(fields)} fields"
    return f"{whole}, " + ", ".join(f"{count} {name}" for name, count in counts.items() if count)


def _cells(document: Document, field: dict[str, Any]) -> list[str]:
    contract = field["x-contract"]
    words: str = contract["class"]
    neutral = Neutral.of(contract.get("neutral"))
    match words:
        case "alias":
            words = f"alias of `{contract['of']}`"
        case "clamped":
            words = f"clamped to `{contract['to']}`"
        case "guarded":
            words = f"guarded: {_text(neutral.words)}"
        case "honoured" if neutral.keyword is not None:
            words = f"honoured; neutral: {_text(neutral.words.partition(' send ')[2])}"
    return [words, _text(_form(document, field)), _text(field["description"])]


def _form(document: Document, schema: dict[str, Any]) -> str:
    """What JSON the field takes, in a few words: `integer, 1 to 128`."""
    schema = resolved(document, schema)
    branches = schema.get("oneOf") or schema.get("anyOf")
    if branches:
        return " or ".join(dict.fromkeys(_form(document, branch) for branch in branches))
    if len(schema.get("allOf", ())) == 1:
        return _form(document, schema["allOf"][0])
    kind: str = schema.get("type", "object" if "properties" in schema or "allOf" in schema else "anything")
    if "enum" in schema:
        values = [json.dumps(value) for value in schema["enum"] if value is not None]
        return values[0] if len(values) == 1 else f"one of {', '.join(values)}"
    if kind == "array" and schema.get("items"):
        items = _form(document, schema["items"])
        kind = f"list of ({items})" if " or " in items else f"list of {items}"
    bounds = _bounds(schema)
    return f"{kind}, {bounds}" if bounds else kind


def _bounds(schema: dict[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if high is not None and high >= 2**31 - 1:
        high = None  # the limit of the number's own type tells a reader nothing
    if low is not None and low <= -(2**31):
        low = None
    if low is not None and high is not None:
        return f"{'above ' if schema.get('exclusiveMinimum') else ''}{low} to {high}"
    if low is not None:
        return f"{'above' if schema.get('exclusiveMinimum') else 'at least'} {low}"
    return f"at most {high}" if high is not None else ""


def _text(words: str) -> str:
    """Words that a table cell can hold."""
    return " ".join(words.split()).replace("|", "\\|")


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)
