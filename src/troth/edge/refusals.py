"""How a refusal is said: status, headers and a body in the shape that the dialect's clients read.

1. OpenAI: `{"error": {message, type, param, code, …facts}}`.
2. Anthropic: `{"type": "error", "error": {type, message, …facts}, "request_id"}`.
3. Native (llama-server): `{"error": {code: <the status>, message, type, …facts}}`.
"""

from __future__ import annotations

import logging
from typing import Any

from connexion.exceptions import ProblemException
from connexion.lifecycle import ConnexionRequest, ConnexionResponse
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.types import Send

from troth.edge.exchange import Exchange, exchange_of
from troth.edge.security import MISSING_KEY
from troth.errors import BadRequest, MethodNotAllowed, NotFound, Refusal, Unauthorized
from troth.watch.metrics import Metrics

logger = logging.getLogger(__name__)

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


def clipped(text: str, bytes_max: int) -> str:
    """`text`, cut until its JSON form has at most `bytes_max` bytes."""
    if len(text) * JSON_BYTES_PER_CHARACTER <= bytes_max - 2:
        return text
    text = text[:bytes_max]
    while len(to_json(text)) > bytes_max:
        text = text[: len(text) * 3 // 4]
    return text


def refusal_body(refusal: Refusal, dialect: str, request_id: str) -> bytes:
    """The body of a refusal in the shape of `dialect`: openai, anthropic or native. Under 4 KB."""
    message = clipped(refusal.message, MESSAGE_BYTES_MAX)
    shape: dict[str, Any]
    if dialect == "anthropic":
        fallback = "api_error" if refusal.status >= 500 else "invalid_request_error"
        kind = ANTHROPIC_TYPES.get(refusal.status, fallback)
        shape = {
            "type": "error",
            "error": {"type": kind, "message": message, **refusal.facts},
            "request_id": request_id,
        }
    elif dialect == "native":
        shape = {"error": {"code": refusal.status, "message": message, "type": refusal.type, **refusal.facts}}
    else:
        param = refusal.param and clipped(refusal.param, PARAM_BYTES_MAX)
        error = {"message": message, "type": refusal.type, "param": param, "code": refusal.code, **refusal.facts}
        shape = {"error": error}
    return to_json(shape)


def refusal_headers(refusal: Refusal) -> dict[str, str]:
    """The headers of a refusal. A permanent one says so, because SDKs retry every 5xx."""
    if refusal.status == 501:
        return {**refusal.headers, "x-should-retry": "false"}
    return refusal.headers


class Refuser:
    """Says refusals: directly for our own operations, as Connexion's error handler for everything else."""

    def __init__(self, metrics: Metrics, fields: frozenset[str]) -> None:
        self._metrics = metrics
        self._fields = fields  # every field of the document: the only words allowed in a metric label

    def count(self, refusal: Refusal, exchange: Exchange) -> None:
        """The refusal is in the metrics and on the access line."""
        exchange.code = refusal.code
        first = (refusal.param or "").partition(".")[0]
        field = first if first in self._fields else ""
        self._metrics.observe_refusal(operation=exchange.operation, field=field, code=refusal.code)

    async def send(self, refusal: Refusal, exchange: Exchange, send: Send) -> None:
        """The refusal is the response."""
        self.count(refusal, exchange)
        body = refusal_body(refusal, exchange.dialect, exchange.account.request_id)
        headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
        for name, value in refusal_headers(refusal).items():
            headers.append((name.lower().encode("latin-1"), value.encode("latin-1")))
        await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    async def handle(self, request: ConnexionRequest, error: Exception) -> ConnexionResponse:
        """The response to an exception that Connexion or Starlette caught."""
        scope = request.scope
        exchange = exchange_of(scope)
        refusal = as_refusal(error, scope["method"], scope["path"])
        if refusal.status == 500 and not isinstance(error, Refusal):
            logger.error("unhandled operation=%s", exchange.operation, exc_info=error)
        self.count(refusal, exchange)
        dialect = exchange.dialect or dialect_of_path(scope["path"])
        return ConnexionResponse(
            status_code=refusal.status,
            mimetype="application/json",
            content_type="application/json",
            body=refusal_body(refusal, dialect, exchange.account.request_id),
            headers=refusal_headers(refusal),
        )


def dialect_of_path(path: str) -> str:
    """Whose shape an error has on a path that no operation claimed."""
    return "anthropic" if path.startswith("/v1/messages") else "openai"


def as_refusal(error: Exception, method: str, path: str) -> Refusal:
    """What the caller may read of `error`. Only a refusal's own words get out; all else is our fault."""
    if isinstance(error, Refusal):
        return error
    if isinstance(error, HTTPException):
        status, headers = error.status_code, dict(error.headers or {})
    elif isinstance(error, ProblemException):
        status, headers = error.status, dict(error.headers or {})
    else:
        status, headers = 500, {}
    if status == 401:
        return Unauthorized(MISSING_KEY)
    if status == 404:
        return NotFound(f"Nothing is served at {method} {clipped(path, 256)}.")
    if status == 405:
        return MethodNotAllowed(f"{method} is not served at {clipped(path, 256)}.", headers=headers)
    if status < 500:
        return BadRequest("The request could not be read.", code="invalid_request")
    return Refusal("The server failed while working on this request. The fault is in its log.")
