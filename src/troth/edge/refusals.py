"""How a refusal is said: status, headers and a body in the shape that the clients of its path read."""

from __future__ import annotations

import logging

from connexion.exceptions import ProblemException
from connexion.lifecycle import ConnexionRequest, ConnexionResponse
from pydantic_core import to_json
from starlette.exceptions import HTTPException
from starlette.types import Scope, Send

from troth.edge.exchange import Exchange, exchange_of
from troth.edge.security import MISSING_KEY
from troth.envelopes import Envelope, clipped, error_body, shape_of
from troth.errors import BadRequest, MethodNotAllowed, NotFound, Refusal, Unauthorized
from troth.watch.metrics import Metrics

logger = logging.getLogger(__name__)


def refusal_headers(refusal: Refusal) -> dict[str, str]:
    """The headers of a refusal. A permanent one says so, because SDKs retry every 5xx."""
    if refusal.status == 501:
        return {**refusal.headers, "x-should-retry": "false"}
    return refusal.headers


class Refuser:
    """Says refusals: directly for our own operations, as Connexion's error handler for everything else."""

    def __init__(self, metrics: Metrics, fields: frozenset[str], envelope: Envelope = "openai") -> None:
        self._metrics = metrics
        self._fields = fields  # every field of the document: the only words allowed in a metric label
        self._envelope = envelope

    def count(self, refusal: Refusal, exchange: Exchange) -> None:
        """The refusal is in the metrics and on the access line."""
        exchange.code = refusal.code
        first = (refusal.param or "").partition(".")[0]
        field = first if first in self._fields else ""
        self._metrics.observe_refusal(operation=exchange.operation, field=field, code=refusal.code)

    def body(self, refusal: Refusal, scope: Scope) -> bytes:
        """The refusal in the shape of the operation, or of the path when no operation claimed it."""
        exchange = exchange_of(scope)
        dialect = exchange.dialect or dialect_of_path(scope["path"])
        return to_json(error_body(refusal, shape_of(dialect, self._envelope), exchange.account.request_id))

    async def send(self, refusal: Refusal, scope: Scope, send: Send) -> None:
        """The refusal is the response."""
        self.count(refusal, exchange_of(scope))
        body = self.body(refusal, scope)
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
        return ConnexionResponse(
            status_code=refusal.status,
            mimetype="application/json",
            content_type="application/json",
            body=self.body(refusal, scope),
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
