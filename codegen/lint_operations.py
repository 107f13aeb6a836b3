"""The rules about operations and components."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from codegen.bundle import handler_of
from codegen.findings import Finding, at
from codegen.requests import request_schemas
from codegen.source import CONTENTS, SECTIONS, Node, Source

STYLES = ("openai", "anthropic", "native")
DOCUMENTS = ("radiance", "halogen", "hal0")
NOT_THERE_YET = "not_there_yet.yaml"


def named_as_in_code(source: Source) -> Iterator[Finding]:
    """S2: operationId is the name of a Python function; summary is a sentence; one tag, the file's name."""
    for operation in _operations(source):
        identity = operation.data.get("operationId", "")
        if not re.fullmatch(r"[a-z][a-z0-9]*(_[a-z0-9]+)*(__[a-z0-9]+)?", identity):
            yield at("S2", operation, f"operationId is {identity!r}", "write the Python function's name in snake_case")
        summary = operation.data.get("summary", "")
        if not re.fullmatch(r"[A-Z].*[.]", summary):
            yield at("S2", operation, f"summary is {summary!r}", "write a sentence, with capital and full stop")
        tag = Path(operation.file).stem
        if operation.data.get("tags") != [tag]:
            yield at("S2", operation, f"tags are {operation.data.get('tags')}", f"write tags: [{tag}]")


def statuses_listed(source: Source) -> Iterator[Finding]:
    """S4: 200 and default always; 401 unless open; 400 for what is read, 413 and 415 for a body."""
    for operation in _operations(source):
        wanted = {"200", "default"}
        if operation.data.get("security") != []:
            wanted.add("401")
        if "parameters" in operation.data:
            wanted.add("400")
        if "requestBody" in operation.data:
            wanted |= {"400", "413", "415"}
        for status in sorted(wanted - set(operation.data.get("responses", {}))):
            yield at("S4", operation, f"status {status} is not listed", f"add it from responses/, as {status}")


def components_unique_and_used(source: Source) -> Iterator[Finding]:
    """S5: one name, one component, and somebody refers to it (responses are checked against errors.py)."""
    owners: dict[tuple[str, str], str] = {}
    used = _referenced(source)
    for file in source.files:
        section = file.partition("/")[0]
        if section not in SECTIONS:
            continue
        for node in source.node(file).children():
            name = node.pointer.strip("/")
            first = owners.setdefault((section, name), file)
            if first != file:
                yield at("S5", node, f"{name} is also in {first}", "give one of them another name")
            if section != "responses" and (file, node.pointer) not in used:
                yield at("S5", node, f"{name} is used by nobody", "refer to it or remove it")


def streams_described(source: Source) -> Iterator[Finding]:
    """S7: with a `stream` field, the answer is JSON or events, and the schema of an event is known.

    An operation that only tells of a request that might stream says `x-never-streams: true`.
    """
    for operation in _operations(source):
        content = operation.data.get("responses", {}).get("200", {}).get("content", {})
        if "text/event-stream" in content:
            events = content["text/event-stream"]
            if events.get("schema") != {} or "$ref" not in events.get("x-event-schema", {}):
                yield at(
                    "S7", operation, "the events are not described", "write schema: {} and x-event-schema: {$ref: …}"
                )
        streams = _asks_to_stream(source, operation) and not operation.data.get("x-never-streams")
        if streams and not {"application/json", "text/event-stream"} <= set(content):
            yield at(
                "S7", operation, "it streams and lists one media type", "list application/json and text/event-stream"
            )


def examples_present(source: Source) -> Iterator[Finding]:
    """S9: files under examples/<handler>/ for the request, the answer and the stream."""
    for operation in _operations(source):
        handler = handler_of(operation.data.get("operationId", ""))
        folder = source.root / "examples" / handler
        answers = set(operation.data.get("responses", {}).get("200", {}).get("content", {}))
        wanted = ["*.response.*"] if answers != {"text/event-stream"} else []
        if "requestBody" in operation.data:
            wanted.append("*.request.json")
        if "text/event-stream" in answers:
            wanted.append("*.stream.txt")
        for pattern in wanted:
            if not any(folder.glob(pattern)):
                yield at("S9", operation, f"no examples/{handler}/{pattern}", "add one; it is run as a test")


def ids_unique(source: Source) -> Iterator[Finding]:
    """S14: two operations with one operationId would both be answered by the last one."""
    owners: dict[str, Node] = {}
    for operation in _operations(source):
        identity = operation.data.get("operationId", "")
        first = owners.setdefault(identity, operation)
        if (first.file, first.pointer) != (operation.file, operation.pointer):
            yield at("S14", operation, f"{identity} is also {first.file}#{first.pointer}", "add a suffix: name__get")


def error_style_named(source: Source) -> Iterator[Finding]:
    """S17: errors are shaped in the dialect of the path."""
    for operation in _operations(source):
        style = operation.data.get("x-error-style")
        if style not in STYLES:
            yield at("S17", operation, f"x-error-style is {style!r}", f"write one of {', '.join(STYLES)}")


def documents_named(source: Source) -> Iterator[Finding]:
    """S18: `x-documents` is of the first path, `x-alias-documents` has a list for every further one and no other."""
    paths: dict[tuple[str, str], list[str]] = {}
    for path, _, operation in source.operations():
        paths.setdefault((operation.file, operation.pointer), []).append(path)
    for operation in _operations(source):
        aliases = operation.data.get("x-alias-documents", {})
        for named in (operation.data.get("x-documents"), *aliases.values()):
            if not _are_documents(named):
                yield at(
                    "S18", operation, f"documents are {named}", f"list some of {', '.join(DOCUMENTS)}, in this order"
                )
        wanted = paths[operation.file, operation.pointer][1:]
        if sorted(aliases) != sorted(wanted):
            yield at("S18", operation, f"x-alias-documents is of {sorted(aliases)}", f"list its aliases: {wanted}")


def absent_ones_absent(source: Source) -> Iterator[Finding]:
    """S19: `not_there_yet.yaml` names no route that is served, and each with documents and what it serves."""
    served = {f"{method.upper()} {path}" for path, method, _ in source.operations()}
    for entry in source.node(NOT_THERE_YET).children() if NOT_THERE_YET in source.files else ():
        route = entry.pointer[1:].replace("~1", "/").replace("~0", "~")
        if route in served:
            yield at("S19", entry, f"{route} is served", "take it off the list")
        if (
            not entry.data.get("documents")
            or not _are_documents(entry.data["documents"])
            or not entry.data.get("serves")
        ):
            yield at(
                "S19", entry, "it does not say who names it and for what", "write documents: [...] and serves: words"
            )


def _are_documents(named: object) -> bool:
    return isinstance(named, list) and named == [each for each in DOCUMENTS if each in named]


def _operations(source: Source) -> list[Node]:
    """Every operation once, however many paths lead to it."""
    found = {(node.file, node.pointer): node for _, _, node in source.operations()}
    return list(found.values())


def _referenced(source: Source) -> set[tuple[str, str]]:
    """File and pointer of everything that some file other than the table of contents refers to."""
    found: set[tuple[str, str]] = set()
    for file in source.files:
        if file == CONTENTS:
            continue
        for node in source.node(file).walk():
            key = node.pointer.rsplit("/", 1)[-1]
            parent = node.pointer.rsplit("/", 2)[-2:-1]
            if isinstance(node.data, str) and (key == "$ref" or parent == ["mapping"]):
                target = source.target(file, node.data)
                found.add((target.file, target.pointer))
    return found


def _asks_to_stream(source: Source, operation: Node) -> bool:
    if "requestBody" not in operation.data:
        return False
    return any("stream" in schema.data.get("properties", {}) for schema in request_schemas(source, operation))
