"""From a method and a path to an operation: an exact table in front of Connexion's routes.

Divergences from Connexion's routing, each measured: a dictionary instead of a linear search; `Allow` names
every method of the path; no redirects between `/x` and `/x/`; a path that nothing serves says which served
path is nearest, and says even that only to a caller with a key.
"""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from dataclasses import dataclass, field
from re import Pattern
from typing import Any

from connexion.middleware.abstract import ROUTING_CONTEXT
from connexion.middleware.routing import RoutingMiddleware
from starlette.convertors import Convertor
from starlette.responses import Response
from starlette.routing import compile_path
from starlette.types import ASGIApp, Receive, Scope, Send
from starlette.websockets import WebSocket

from troth.edge.exchange import Exchange, exchange_of
from troth.edge.refusals import Refuser, refusal_headers
from troth.edge.security import Keyring
from troth.edge.settings import OperationRow
from troth.envelopes import clipped
from troth.errors import MethodNotAllowed, NotFound, Refusal

PATH_LENGTH_MAX = 256  # longer ones are not compared with the served ones


@dataclass(slots=True)
class Place:
    """One path template and its operations by method."""

    pattern: Pattern[str] | None = None  # None: the path has no parameters
    convertors: Mapping[str, Convertor[Any]] = field(default_factory=dict)
    contexts: dict[str, dict[str, Any]] = field(default_factory=dict)  # method → Connexion's routing context

    @property
    def allow(self) -> str:
        """The methods of this path, as the Allow header lists them."""
        return ", ".join(sorted({*self.contexts, "OPTIONS"}))


class ExactRouting(RoutingMiddleware):  # type: ignore[misc]  # connexion ships no types
    """Connexion's routing middleware with our own look-up."""

    def __init__(
        self,
        app: ASGIApp,
        *,
        operations: Mapping[str, OperationRow],
        keyring: Keyring,
        refuser: Refuser,
        assets: Mapping[str, bool],
    ) -> None:
        super().__init__(app)
        self._operations = operations
        self._keyring = keyring
        self._refuser = refuser
        self._assets = assets  # path prefix of static files → served without a key
        self._exact: dict[str, Place] = {}
        self._templates: dict[str, Place] = {}

    def add_api(self, specification: Any, **options: Any) -> None:
        """Connexion has built its routes, so every operation has its handler, and they are in our table."""
        super().add_api(specification, **options)
        mount = self.router.routes[-1]
        for route in mount.app.routes:
            path = mount.path + route.path
            table = self._templates if "{" in path else self._exact
            place = table.setdefault(path, Place())
            if "{" in path and place.pattern is None:
                place.pattern, _, place.convertors = compile_path(path)
            context = {"api_base_path": mount.path, "operation_id": route.endpoint.operation_id}
            for method in route.methods:
                place.contexts[method] = context

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The request goes on with its operation in the scope. Raises NotFound or MethodNotAllowed."""
        if scope["type"] == "http":
            await self._route(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._deny(scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path, method = scope["path"], scope["method"]
        exchange = exchange_of(scope)
        place = self._exact.get(path)
        parameters: dict[str, Any] = {}
        if place is None:
            place, parameters = self._match(path)
        if place is None:
            self._asset(scope, exchange)
            await self.app(scope, receive, send)
            return
        context = place.contexts.get(method)
        if context is None:
            await self._other_method(place, scope, send)
            return
        row = self._operations[context["operation_id"]]
        exchange.operation, exchange.dialect = row.handler, row.dialect
        scope["path_params"] = parameters
        scope["extensions"] = {**(scope.get("extensions") or {}), ROUTING_CONTEXT: context}
        await self.app(scope, receive, send)

    def _match(self, path: str) -> tuple[Place | None, dict[str, Any]]:
        for place in self._templates.values():
            found = place.pattern.match(path) if place.pattern else None
            if found and all(found.groupdict().values()):
                return place, {name: place.convertors[name].convert(text) for name, text in found.groupdict().items()}
        return None, {}

    def _asset(self, scope: Scope, exchange: Exchange) -> None:
        """Lets a static file through, which no operation serves. Raises NotFound for anything else."""
        path = scope["path"]
        for prefix, is_open in self._assets.items():
            if path.startswith(prefix):
                if not is_open:
                    self._check_key(scope)
                exchange.operation = "docs_assets"
                context = {"api_base_path": None, "operation_id": None}
                scope["extensions"] = {**(scope.get("extensions") or {}), ROUTING_CONTEXT: context}
                return
        raise self._missing(scope)

    def _missing(self, scope: Scope) -> Refusal:
        refusal = self._keyring.refusal(scope["headers"])
        if refusal is not None:
            return refusal
        path = scope["path"]
        near: list[str] = []
        if len(path) <= PATH_LENGTH_MAX:
            near = difflib.get_close_matches(path, [*self._exact, *self._templates], n=1, cutoff=0.5)
        hint = f" The nearest path is {near[0].replace(':path}', '}')}." if near else ""
        method = scope.get("method", "WebSocket")
        return NotFound(f"Nothing is served at {method} {clipped(path, PATH_LENGTH_MAX)}.{hint}")

    def _check_key(self, scope: Scope) -> None:
        refusal = self._keyring.refusal(scope["headers"])
        if refusal is not None:
            raise refusal

    async def _other_method(self, place: Place, scope: Scope, send: Send) -> None:
        """OPTIONS is answered with the methods there are. Raises MethodNotAllowed for any other method."""
        row = self._operations[next(iter(place.contexts.values()))["operation_id"]]
        exchange_of(scope).dialect = row.dialect
        if scope["method"] == "OPTIONS":
            headers = [(b"allow", place.allow.encode())]
            await send({"type": "http.response.start", "status": 204, "headers": headers})
            await send({"type": "http.response.body", "body": b""})
            return
        self._check_key(scope)
        raise MethodNotAllowed(
            f"{clipped(scope['method'], 32)} is not served at {clipped(scope['path'], PATH_LENGTH_MAX)}: "
            f"use {place.allow}.",
            headers={"Allow": place.allow},
        )

    async def _deny(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A WebSocket is refused before it is one: nothing is served over it."""
        refusal = self._missing(scope)
        exchange = exchange_of(scope)
        exchange.code = refusal.code
        body = self._refuser.body(refusal, scope)
        response = Response(body, refusal.status, headers=refusal_headers(refusal), media_type="application/json")
        await WebSocket(scope, receive, send).send_denial_response(response)
