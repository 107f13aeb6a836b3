"""Turning pydantic's complaint into one sentence for the caller: where, what is wrong, what is accepted.

The caller's own values never come back: an error is safe to log and stays small whatever was sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError
from pydantic_core import ErrorDetails, from_json

from troth.errors import BadRequest

FAULTS_MAX = 1000  # more are not looked at one by one
ALTERNATIVES_MAX = 4
EXPECTED = "Input should be "
OBJECT_FAULTS = ("model_type", "model_attributes_type", "dataclass_type", "dict_type")


def body_refusal(error: ValidationError, raw: bytes) -> BadRequest:
    """The refusal of a JSON body that the model of its operation did not accept."""
    if error.error_count() > FAULTS_MAX:
        return BadRequest(f"The request body has {error.error_count()} faults, more than can be listed.")
    faults = _faults(error)
    if faults[0]["type"] == "json_invalid":
        if not raw.strip():
            return BadRequest("The request body is empty: send a JSON object.", code="invalid_json")
        reason = faults[0].get("ctx", {}).get("error", "it cannot be parsed")
        return BadRequest(f"The request body is not valid JSON: {reason}.", code="invalid_json")
    return _refusal(faults, from_json(raw), "The request body")


def parameters_refusal(error: ValidationError, sent: dict[str, Any]) -> BadRequest:
    """The refusal of query, path or header parameters."""
    return _refusal(_faults(error), sent, "The parameters")


def _faults(error: ValidationError) -> list[ErrorDetails]:
    return error.errors(include_url=False, include_input=False)


def _refusal(faults: Sequence[ErrorDetails], sent: Any, whole: str) -> BadRequest:
    located = [(_wire_path(fault, sent), fault) for fault in faults]
    depth = max(len(path) for path, _ in located)
    path, first = next((path, fault) for path, fault in located if len(path) == depth)
    if not path and first["type"] in OBJECT_FAULTS:
        return BadRequest(f"{whole}: {EXPECTED}an object.", code="not_an_object")
    missing = first["type"] in ("missing", "union_tag_not_found")
    if missing:
        text = "Field required"
    else:
        same = [fault for at, fault in located if at == path and fault["type"] != "missing"]
        text = _alternatives(same)
    where = ".".join(path)
    return BadRequest(
        f"{where or whole}: {text}.",
        param=where or None,
        code="missing_required_parameter" if missing else "invalid_value",
    )


def _alternatives(faults: Sequence[ErrorDetails]) -> str:
    texts = list(dict.fromkeys(_text(fault) for fault in faults))[:ALTERNATIVES_MAX]
    return " or ".join([texts[0], *(text.removeprefix(EXPECTED) for text in texts[1:])])


def _text(fault: ErrorDetails) -> str:
    if fault["type"] == "union_tag_invalid":  # pydantic's own words quote the tag that was sent
        return f"{EXPECTED}one of {fault['ctx']['expected_tags']}"
    if fault["type"] in OBJECT_FAULTS:
        return f"{EXPECTED}an object"
    return fault["msg"]


def _wire_path(fault: ErrorDetails, sent: Any) -> tuple[str, ...]:
    """Where in the caller's own data the fault is: the steps that are no keys of it, such as tags, drop out."""
    path: list[str] = []
    here = sent
    location = fault["loc"]
    for position, step in enumerate(location):
        if isinstance(step, int) and isinstance(here, list) and step < len(here):
            here = here[step]
            path.append(str(step))
        elif isinstance(step, str) and isinstance(here, dict) and step in here:
            here = here[step]
            path.append(step)
        elif position == len(location) - 1 and fault["type"] == "missing":
            path.append(str(step))
    if fault["type"] in ("union_tag_invalid", "union_tag_not_found"):
        path.append(str(fault["ctx"]["discriminator"]).strip("'"))
    return tuple(path)
