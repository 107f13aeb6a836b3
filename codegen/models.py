"""Writes the pydantic models of every component, and of every operation's parameters."""

from __future__ import annotations

import copy
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from codegen.bundle import Document, handler_of, operations

OPTIONS = (
    "--input-file-type=openapi",
    "--output-model-type=pydantic_v2.BaseModel",
    "--openapi-scopes=schemas",
    "--target-python-version=3.11",
    "--target-pydantic-version=2.12",
    "--base-class=troth.contract.ContractModel",
    "--field-extra-keys=x-contract",
    "--use-annotated",
    "--field-constraints",
    "--strict-nullable",
    "--enum-field-as-literal=all",
    "--collapse-root-models",
    "--naming-strategy=parent-prefixed",
    "--use-schema-description",
    "--use-field-description",
    "--use-inline-field-description",
    "--use-single-line-docstring",
    "--use-double-quotes",
    "--formatters=builtin",
    "--custom-formatters=codegen.marks",
    "--disable-timestamp",
    "--strict-refs",
    "--no-allow-remote-refs",
)


def parameters_model(operation_id: str) -> str:
    """The name of the model that holds an operation's parameters."""
    return "".join(word.capitalize() for word in handler_of(operation_id).split("_")) + "Parameters"


def with_parameters(document: Document) -> Document:
    """A copy of the document in which each operation's parameters are one more component schema."""
    copied = copy.deepcopy(document)
    for _, _, operation in operations(copied):
        if operation.get("parameters"):
            name = parameters_model(operation["operationId"])
            copied["components"]["schemas"][name] = _parameters_schema(copied, operation)
    return copied


def parameters_of(document: Document, operation: dict[str, Any]) -> list[dict[str, Any]]:
    """The parameter objects of an operation, references followed."""
    return [
        document["components"]["parameters"][parameter["$ref"].rsplit("/", 1)[1]] if "$ref" in parameter else parameter
        for parameter in operation.get("parameters", [])
    ]


def write_models(document: Document, names: set[str], header: str) -> str:
    """The Python text of the models of these components and of all that they refer to.

    `document` has its parameters as components (`with_parameters`); `header` is the first lines.
    """
    from datamodel_code_generator.__main__ import Exit, main  # reads sys.argv when it is imported

    schemas = document["components"]["schemas"]
    wanted = reachable(schemas, names)
    part = {
        "openapi": document["openapi"],
        "info": {"title": "part", "version": "1"},
        "paths": {},
        "components": {"schemas": {name: schema for name, schema in schemas.items() if name in wanted}},
    }
    with tempfile.TemporaryDirectory() as folder:
        given, written = Path(folder, "openapi.json"), Path(folder, "models.py")
        given.write_text(json.dumps(part), "utf-8")
        outcome = main([f"--input={given}", f"--output={written}", f"--custom-file-header={header}", *OPTIONS])
        if outcome is not Exit.OK:
            raise RuntimeError(f"datamodel-code-generator failed with {outcome}")
        return formatted(header + _without_header(written.read_text("utf-8")))


def request_components(document: Document) -> set[str]:
    """Names of the components that requests are read into: bodies, and parameters as models."""
    names: set[str] = set()
    for _, _, operation in operations(document):
        names |= named_in(operation.get("requestBody", {}))
        if operation.get("parameters"):
            names.add(parameters_model(operation["operationId"]))
    return names


def reply_components(document: Document) -> set[str]:
    """Names of the components that answers are written from, those of every status included."""
    names = named_in(document["components"]["responses"])
    for _, _, operation in operations(document):
        names |= named_in(operation["responses"])
    return names


def reachable(schemas: dict[str, Any], names: set[str]) -> set[str]:
    """`names` and every component that they refer to, directly or not."""
    found: set[str] = set()
    waiting = set(names)
    while waiting:
        name = waiting.pop()
        found.add(name)
        waiting |= named_in(schemas[name]) - found
    return found


def named_in(node: Any) -> set[str]:
    """Names of the schema components that `node` refers to directly."""
    if isinstance(node, list):
        return set().union(*map(named_in, node))
    if not isinstance(node, dict):
        return set()
    names = set().union(*map(named_in, node.values()))
    ref = node.get("$ref")
    if isinstance(ref, str) and ref.startswith("#/components/schemas/"):
        names.add(ref.rsplit("/", 1)[1])
    return names


def formatted(code: str) -> str:
    """`code` as ruff lays it out, whatever the project's own settings are."""
    command = [sys.executable, "-m", "ruff", "format", "--isolated", "--line-length=120", "--target-version=py311", "-"]
    return subprocess.run(command, input=code, capture_output=True, text=True, check=True).stdout


def _without_header(code: str) -> str:
    return "\n" + code[code.index("from __future__") :]


def _parameters_schema(document: Document, operation: dict[str, Any]) -> dict[str, Any]:
    parameters = parameters_of(document, operation)
    return {
        "type": "object",
        "description": f"Parameters of {handler_of(operation['operationId'])}, from path, query and headers.",
        "required": [parameter["name"] for parameter in parameters if parameter.get("required")],
        "properties": {
            parameter["name"]: {
                **{key: value for key, value in parameter["schema"].items() if value != "path"},
                "description": parameter["description"],
                "x-contract": parameter["x-contract"],
            }
            for parameter in parameters
        },
    }
