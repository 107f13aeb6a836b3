"""The outermost step: every request gets an id, is timed, counted, and leaves one line in the log."""

from __future__ import annotations

import asyncio
import logging
import re
import secrets
import time
from urllib.parse import quote

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from troth.domain import Account
from troth.edge.exchange import SCOPE_KEY, Exchange
from troth.watch.log import REQUEST_ID, AccessLog
from troth.watch.metrics import Metrics

REQUEST_ID_FORM = re.compile(r"[A-Za-z0-9._:\-]{1,128}")
STARTS = ("http.response.start", "websocket.http.response.start")
CLIENT_GONE = 499
STOPPING = "stopping"


class Observing:
    """ASGI middleware; its `Exchange` in the scope is what every later step writes to."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics, quiet: frozenset[str]) -> None:
        self._app = app
        self._metrics = metrics
        self._access = AccessLog()
        self._quiet = quiet  # operations that are neither counted nor logged above debug

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The request has been answered and accounted for."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        request_id = _request_id(scope)
        exchange = Exchange(Account(request_id=request_id))
        scope[SCOPE_KEY] = exchange
        scope.setdefault("extensions", {})
        header = (b"x-request-id", request_id.encode())
        token = REQUEST_ID.set(request_id)
        started = time.perf_counter()

        async def observed(message: Message) -> None:
            if message["type"] in STARTS:
                exchange.status = message["status"]
                message["headers"] = [*message.get("headers", ()), header, *_route(exchange.account)]
            await send(message)

        try:
            await self._app(scope, receive, observed)
        except asyncio.CancelledError:
            # Only a server that ends cancels a request, and nobody above waits for the end of this task.
            exchange.code = exchange.code or STOPPING
        finally:
            self._close(exchange, time.perf_counter() - started)
            REQUEST_ID.reset(token)

    def _close(self, exchange: Exchange, seconds: float) -> None:
        gone = exchange.gone or exchange.status == CLIENT_GONE
        status = CLIENT_GONE if gone else exchange.status
        quiet = exchange.operation in self._quiet
        if gone:
            self._metrics.observe_disconnect()
        if not quiet:
            self._metrics.observe_response(operation=exchange.operation, status=status)
        level = logging.DEBUG if quiet else logging.INFO
        if self._access.wants(level):
            self._access.write(level, _line(exchange, status, seconds))


def _line(exchange: Exchange, status: int, seconds: float) -> str:
    account = exchange.account
    return (
        f"id={account.request_id} operation={exchange.operation} status={status} model={account.model or '-'} "
        f"route={account.route or '-'} "
        f"prompt_tokens={account.prompt_tokens} cached_tokens={account.cached_tokens} "
        f"answer_tokens={account.answer_tokens} finish={account.finish or '-'} code={exchange.code or '-'} "
        f"queue_seconds={account.queue_seconds:.3f} total_seconds={seconds:.4f}"
    )


def _route(account: Account) -> list[tuple[bytes, bytes]]:
    """Which model was chosen and by which rule, where one was."""
    if not account.route:
        return []
    return [(b"x-troth-route", f"rule={account.route}; model={quote(account.model, safe='/:@+,')}".encode())]


def _request_id(scope: Scope) -> str:
    """The client's own X-Request-Id when it is short and plain, else a new one."""
    for name, value in scope["headers"]:
        if name == b"x-request-id":
            sent: str = value.decode("latin-1")
            if REQUEST_ID_FORM.fullmatch(sent):
                return sent
    return secrets.token_hex(12)
