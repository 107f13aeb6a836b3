"""Joins the files of `openapi/` into one OpenAPI 3.0.3 document."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from codegen.source import CONTENTS, METHODS, SECTIONS, Source, SourceError

Document = dict[str, Any]


def bundle(source: Source) -> Document:
    """One document without references to files: components keep their names, which must be unique.

    A path item that the table of contents names again becomes an alias: same operations, with
    `__alias1`, `__alias2` … after the operationId. Examples are embedded from `examples/`.
    Raises SourceError for a name used twice, an operationId used twice, or a reference to nothing.
    """
    contents = copy.deepcopy(source.files[CONTENTS])
    document: Document = {key: value for key, value in contents.items() if key not in ("paths", "components")}
    document["paths"] = _paths(source)
    document["components"] = {**contents.get("components", {}), **_components(source)}
    _embed_examples(document, source.root / "examples")
    _name_models(document)
    return document


def handler_of(operation_id: str) -> str:
    """The Python name of an operation: its id without the suffix that keeps ids unique."""
    return operation_id.partition("__")[0]


def operations(document: Document) -> list[tuple[str, str, dict[str, Any]]]:
    """Path, method and operation of a bundled document, in its order."""
    return [
        (path, method, item[method]) for path, item in document["paths"].items() for method in METHODS if method in item
    ]


def _paths(source: Source) -> Document:
    paths: Document = {}
    times_named: dict[tuple[str, str], int] = {}
    owners: dict[str, str] = {}
    for path, entry in source.files[CONTENTS]["paths"].items():
        node = source.target(CONTENTS, entry["$ref"])
        alias = times_named.setdefault((node.file, node.pointer), 0)
        times_named[node.file, node.pointer] += 1
        item = _localised(source, node.file, node.data)
        for method in METHODS:
            if method not in item:
                continue
            operation = item[method]
            alias_documents = operation.pop("x-alias-documents", {})
            if alias:
                operation["x-documents"] = alias_documents.get(path, [])
                operation["x-alias-of"] = operation["operationId"]
                operation["operationId"] += f"__alias{alias}"
            identity = operation["operationId"]
            if identity in owners:
                raise SourceError(f"operationId {identity} is used twice: {owners[identity]} and {method} {path}")
            owners[identity] = f"{method} {path}"
        paths[path] = item
    return paths


def _components(source: Source) -> Document:
    sections: Document = {}
    owners: dict[str, str] = {}
    for file, data in source.files.items():
        section = file.partition("/")[0]
        if section not in SECTIONS:
            continue
        for name, component in data.items():
            key = f"{section}/{name}"
            if key in owners:
                raise SourceError(f"component {name} is defined twice: {owners[key]} and {file}")
            owners[key] = file
            sections.setdefault(section, {})[name] = _localised(source, file, component)
    return {section: sections[section] for section in SECTIONS if section in sections}


def _localised(source: Source, file: str, data: Any) -> Any:
    """A copy of `data` with every reference, also those of discriminators, turned into a local one."""
    if isinstance(data, list):
        return [_localised(source, file, item) for item in data]
    if not isinstance(data, dict):
        return data
    copied: Document = {}
    for key, value in data.items():
        if key == "$ref" and isinstance(value, str):
            copied[key] = _local(source, file, value)
        elif key == "mapping" and isinstance(value, dict):
            copied[key] = {tag: _local(source, file, ref) for tag, ref in value.items()}
        else:
            copied[key] = _localised(source, file, value)
    return copied


def _local(source: Source, file: str, ref: str) -> str:
    node = source.target(file, ref)
    section, name = node.file.partition("/")[0], node.pointer.strip("/")
    if section not in SECTIONS or "/" in name:
        raise SourceError(f"{file}: reference {ref} does not point at a component in {', '.join(SECTIONS)}")
    return f"#/components/{section}/{name}"


def _embed_examples(document: Document, folder: Path) -> None:
    """Put `<operationId>/<case>.request.json`, `.response.json|txt` and `.stream.txt` where they belong."""
    for _, _, operation in operations(document):
        for path in sorted((folder / handler_of(operation["operationId"])).glob("*")):
            case, kind, suffix = path.name.split(".")
            value = json.loads(path.read_text("utf-8")) if suffix == "json" else path.read_text("utf-8")
            if kind == "request":
                content = operation["requestBody"]["content"]
                media = "application/json"
            else:
                content = operation["responses"]["200"]["content"]
                media = "text/event-stream" if kind == "stream" else next(iter(content))
            content[media].setdefault("examples", {})[case] = {"value": value}


def _name_models(document: Document) -> None:
    """Mark each request body's component with `x-model`, the name of its generated class."""
    for _, _, operation in operations(document):
        for media in operation.get("requestBody", {}).get("content", {}).values():
            name = media["schema"]["$ref"].rsplit("/", 1)[1]
            document["components"]["schemas"][name]["x-model"] = name
