"""The edge, put together: the document and the handlers become one ASGI app."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from connexion.exceptions import ProblemException
from connexion.middleware import ConnexionMiddleware
from connexion.middleware.abstract import RoutedAPI, RoutedMiddleware
from connexion.middleware.exceptions import ExceptionMiddleware
from connexion.middleware.lifespan import LifespanMiddleware
from connexion.middleware.security import SecurityMiddleware
from connexion.resolver import Resolver
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.routing import Router
from starlette.types import ASGIApp, Lifespan, Receive, Scope, Send

from troth.contract import ContractModel
from troth.edge.bodies import BodyRules
from troth.edge.docs import ASSETS, Docs, assets_mount
from troth.edge.enforcement import Contract, check_guard
from troth.edge.observing import Observing
from troth.edge.operation import ContractOperation, Handler, Steps
from troth.edge.refusals import Refuser
from troth.edge.routing import ExactRouting
from troth.edge.security import METHODS, Keyring, bound_document, security_map
from troth.edge.settings import EdgeSettings, OperationRow, Tables, generated_tables
from troth.edge.streaming import StreamSender
from troth.errors import Refusal
from troth.watch.metrics import Metrics

QUIET_PATHS = frozenset({"/health", "/v1/health", "/ping", "/metrics"})
EXPOSED_HEADERS = ("X-Request-Id", "Retry-After")


def create_asgi(
    document: Mapping[str, Any],
    handlers: Mapping[str, Handler],
    settings: EdgeSettings,
    metrics: Metrics,
    *,
    tables: Tables | None = None,
    lifespan: Lifespan[Any] | None = None,
) -> ASGIApp:
    """The ASGI app that serves every operation of `document` with the handler of its name.

    `docs_page` and `openapi_document` have handlers here already. Raises ValueError, naming them, when an
    operation lacks a handler, a handler lacks an operation, or `contract.guard` names no field.
    """
    tables = tables or generated_tables()
    docs = Docs(document)
    bound = _bound_handlers(
        tables.operations, {"docs_page": docs.docs_page, "openapi_document": docs.openapi_document}, handlers
    )
    models = _models(tables)
    check_guard(settings.guard, models)
    keyring = Keyring(settings.api_keys, isolate=settings.isolate_keys)
    refuser = Refuser(metrics, _field_names(models), settings.envelope)
    steps = Steps(
        bodies=BodyRules(settings.body_bytes_max, settings.strict_content_type),
        contract=Contract(settings.unknown_fields, frozenset(settings.guard), tables.prefixes),
        refuser=refuser,
        keyring=keyring,
        streams=StreamSender(keepalive_seconds=settings.keepalive_seconds, stop_seconds=settings.stop_seconds),
        model=tables.model,
    )
    spec = bound_document(document, keyring, open_models=settings.open_models)
    routing = partial(
        ExactRouting,
        operations=tables.operations,
        keyring=keyring,
        refuser=refuser,
        assets={ASSETS + "/": _docs_are_open(spec)},
    )
    inner = Router(routes=[assets_mount()], redirect_slashes=False)
    security = [SecurityMiddleware] if keyring else []
    stack = ConnexionMiddleware(
        ContractMiddleware(inner),
        middlewares=[ExceptionMiddleware, routing, *security, LifespanMiddleware],
        lifespan=lifespan,
        resolver=Resolver(bound.__getitem__),
        security_map=security_map(keyring),
    )
    stack.add_api(spec, steps=steps, operations=tables.operations, handlers=bound)
    for error in (Refusal, HTTPException, ProblemException, Exception):
        stack.add_error_handler(error, refuser.handle)
    app: ASGIApp = stack
    if settings.cors:
        app = BrowserAccess(
            app, allow_origins=["*"], allow_methods=["*"], allow_headers=["*"], expose_headers=list(EXPOSED_HEADERS)
        )
    quiet = frozenset(row.handler for row in tables.operations.values() if row.path in QUIET_PATHS)
    return Observing(app, metrics=metrics, quiet=quiet)


class BrowserAccess(CORSMiddleware):
    """Starlette's CORS for requests that come from a page; others pass it by."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The response has CORS headers, or the preflight its answer, when the request names an origin."""
        for name, _ in scope.get("headers", ()):
            if name == b"origin":
                await super().__call__(scope, receive, send)
                return
        await self.app(scope, receive, send)


class ContractAPI(RoutedAPI):  # type: ignore[misc]  # connexion ships no types
    """Connexion's table of operations, each made a `ContractOperation`."""

    def __init__(
        self,
        *arguments: Any,
        steps: Steps,
        operations: Mapping[str, OperationRow],
        handlers: Mapping[str, Handler],
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._steps = steps
        self._rows = operations
        self._handlers = handlers
        self.add_paths()

    def make_operation(self, operation: Any) -> ContractOperation:
        """The operation that Connexion found in the document, ready to be called."""
        row = self._rows[operation.operation_id]
        return ContractOperation(
            row,
            self._handlers[operation.operation_id],
            self._steps,
            body_required=bool(operation.request_body.get("required")),
            parameters=operation.parameters,
        )


class ContractMiddleware(RoutedMiddleware):  # type: ignore[misc]  # connexion ships no types
    """Connexion's last step: it calls the operation that routing found."""

    api_cls = ContractAPI


def _bound_handlers(
    operations: Mapping[str, OperationRow], built_in: Mapping[str, Handler], given: Mapping[str, Handler]
) -> dict[str, Handler]:
    """The handler of every operationId."""
    named = {**built_in, **given}
    wanted = {row.handler for row in operations.values()}
    if missing := sorted(wanted - named.keys()):
        raise ValueError(f"no handler for the operations: {', '.join(missing)}")
    if surplus := sorted(given.keys() - wanted):
        raise ValueError(f"no operation for the handlers: {', '.join(surplus)}")
    return {identifier: named[row.handler] for identifier, row in operations.items()}


def _models(tables: Tables) -> list[type[ContractModel]]:
    names = {
        name
        for row in tables.operations.values()
        for name in (row.body_model, row.parameters_model)
        if name is not None
    }
    return [tables.model(name) for name in sorted(names)]


def _field_names(models: list[type[ContractModel]]) -> frozenset[str]:
    return frozenset(info.alias or name for model in models for name, info in model.model_fields.items())


def _docs_are_open(spec: Mapping[str, Any]) -> bool:
    """The page's files need a key exactly when the page does."""
    for item in spec["paths"].values():
        for method, operation in item.items():
            if method in METHODS and operation.get("operationId") == "docs_page":
                return not operation.get("security", spec.get("security"))
    return False
