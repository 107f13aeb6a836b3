"""How a refusal reads on the wire: one object for each family of clients, before the first byte and after it.

1. OpenAI: `{"error": {message, type, param, code, …facts}}`.
2. Anthropic: `{"type": "error", "error": {type, message, …facts}, "request_id"}`.
3. Native (llama-server): `{"error": {code: <the status>, message, type, …facts}}`.
4. hal0: `{"error": {code, message, details}}` with hal0's dotted codes, in place of 1 and 3 where the operator
   says `errors.envelope: hal0`. A code that hal0 does not know is `system.http_<status>`, as hal0 itself does it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from pydantic_core import to_json

from troth.errors import Refusal

Envelope = Literal["openai", "hal0"]

MESSAGE_BYTES_MAX = 2048
PARAM_BYTES_MAX = 512
JSON_BYTES_PER_CHARACTER = 6  # at most, the quotes aside

ANTHROPIC_TYPES = {
    400: "invalid_request_error",
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    413: "request_too_large",
    429: "rate_limit_error",
    503: "overloaded_error",
}

# Ours → hal0's. docs/errors.md says which of them hal0's documents list.
HAL0_CODES: Mapping[str, str] = {
    "invalid_value": "validation.invalid",
    "missing_required_parameter": "validation.invalid",
    "invalid_json": "request.invalid_json",
    "not_an_object": "request.not_an_object",
    "invalid_request": "system.http_400",
    "unsupported_value": "request.unsupported_field",
    "unsupported_schema": "request.unsupported_schema",
    "invalid_schema": "request.invalid_schema",
    "invalid_grammar": "request.invalid_grammar",
    "conflicting_values": "request.conflicting_fields",
    "unknown_field": "validation.unknown_keys",
    "context_length_exceeded": "request.context_length_exceeded",
    "wrong_model_kind": "dispatch.capability_mismatch",
    "invalid_api_key": "auth.required",
    "not_found": "resource.not_found",
    "model_not_found": "dispatch.no_route",
    "method_not_allowed": "system.http_405",
    "body_too_large": "system.http_413",
    "unsupported_media_type": "system.http_415",
    "invalid_question": "validation.unprocessable",
    "queue_full": "system.rate_limited",
    "client_closed_request": "system.http_499",
    "internal_error": "system.internal",
    "engine_error": "slot.error",
    "not_supported": "system.not_implemented",
    "model_loading": "slot.loading",
    "load_failed": "slot.load_failed",
    "slot_not_found": "slot.not_found",
    "slot_pinned": "slot.pinned",
    "slot_crash_looping": "slot.crash_looping",
    "illegal_transition": "slot.illegal_transition",
    "no_memory": "slot.capacity_exhausted",
    "model_unavailable": "slot.not_ready",
    "stopping": "system.stopping",
    "no_slot_idle": "slot.busy",
    "queue_timeout": "dispatch.queue_timeout",
}
HAL0_MISSING_MODEL = "request.missing_model"


def shape_of(dialect: str, envelope: Envelope) -> str:
    """Which of the four shapes errors of `dialect` have; Anthropic's clients read no other than their own."""
    return dialect if dialect == "anthropic" or envelope == "openai" else envelope


def error_body(refusal: Refusal, shape: str, request_id: str = "") -> dict[str, Any]:
    """`refusal` in the shape of `shape`: openai, anthropic, native or hal0. Under 4 KB as JSON."""
    message = clipped(refusal.message, MESSAGE_BYTES_MAX)
    param = refusal.param and clipped(refusal.param, PARAM_BYTES_MAX)
    if shape == "anthropic":
        fallback = "api_error" if refusal.status >= 500 else "invalid_request_error"
        kind = ANTHROPIC_TYPES.get(refusal.status, fallback)
        error = {"type": kind, "message": message, **refusal.facts}
        return {"type": "error", "error": error, "request_id": request_id}
    if shape == "native":
        return {"error": {"code": refusal.status, "message": message, "type": refusal.type, **refusal.facts}}
    if shape == "hal0":
        return {"error": {"code": hal0_code(refusal), "message": message, "details": _hal0_details(refusal, param)}}
    return {
        "error": {"message": message, "type": refusal.type, "param": param, "code": refusal.code, **refusal.facts},
    }


def hal0_code(refusal: Refusal) -> str:
    """hal0's dotted code for `refusal`; a request that lacks its model has one of its own."""
    if refusal.code == "missing_required_parameter" and refusal.param == "model":
        return HAL0_MISSING_MODEL
    return HAL0_CODES.get(refusal.code, f"system.http_{refusal.status}")


def _hal0_details(refusal: Refusal, param: str | None) -> dict[str, Any]:
    """The facts of the refusal, the field it is about, and when to come back, which hal0 says here too."""
    details = dict(refusal.details)
    if param is not None:
        details["param"] = param
    if refusal.code == "unknown_field":
        details["unknown_keys"] = [param]
    if "Retry-After" in refusal.headers:
        details["retry_after_s"] = int(refusal.headers["Retry-After"])
    return details


def clipped(text: str, bytes_max: int) -> str:
    """`text`, cut until its JSON form has at most `bytes_max` bytes."""
    if len(text) * JSON_BYTES_PER_CHARACTER <= bytes_max - 2:
        return text
    text = text[:bytes_max]
    while len(to_json(text)) > bytes_max:
        text = text[: len(text) * 3 // 4]
    return text
