"""One operation, from a request to its answer: read, validate, enforce, call the handler, send.

It takes the place of Connexion's own request validation and parameter decorators; Connexion has routed
the request and checked its key before.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from pydantic_core import to_json
from starlette.types import Receive, Scope, Send

from troth.contract import ContractModel
from troth.domain import Answer, Call, Stream, Whole
from troth.edge.bodies import BodyRules
from troth.edge.departure import attended
from troth.edge.enforcement import Contract
from troth.edge.exchange import Exchange, exchange_of
from troth.edge.parameters import Parameters
from troth.edge.refusals import Refuser
from troth.edge.security import Keyring
from troth.edge.settings import OperationRow
from troth.edge.streaming import StreamSender
from troth.edge.validation import body_refusal
from troth.errors import Refusal

Handler = Callable[[Call], Awaitable[Answer]]

READING_METHODS = ("GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """What every operation of one server shares."""

    bodies: BodyRules
    contract: Contract
    refuser: Refuser
    keyring: Keyring
    streams: StreamSender
    model: Callable[[str], type[ContractModel]]


class ContractOperation:
    """The ASGI app of one operation."""

    def __init__(
        self,
        row: OperationRow,
        handler: Handler,
        steps: Steps,
        *,
        body_required: bool,
        parameters: Iterable[Mapping[str, Any]],
    ) -> None:
        self._name = row.handler
        self._handler = handler
        self._steps = steps
        self._body_model = steps.model(row.body_model) if row.body_model else None
        self._body_required = body_required
        self._parameters: Parameters | None = None
        if self._body_model is not None:
            steps.contract.prepare(self._body_model)
        if row.parameters_model:
            model = steps.model(row.parameters_model)
            steps.contract.prepare(model)
            self._parameters = Parameters(model, parameters)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """The request is answered, or refused in the shape of its dialect."""
        exchange = exchange_of(scope)
        try:
            call = await self._call(scope, receive, exchange)
            if scope["method"] in READING_METHODS:
                answer = await self._handler(call)
            else:
                answer = await attended(self._handled(call), receive)
        except Refusal as refusal:
            await self._steps.refuser.send(refusal, scope, send)
            return
        if isinstance(answer, Stream):
            await self._steps.streams.send(answer, exchange, scope, receive, send)
        else:
            await _send_whole(answer, send, headers_only=scope["method"] == "HEAD")

    async def _handled(self, call: Call) -> Answer:
        return await self._handler(call)

    async def _call(self, scope: Scope, receive: Receive, exchange: Exchange) -> Call:
        contract = self._steps.contract
        given: frozenset[str] = frozenset()
        parameters: ContractModel | None = None
        body: ContractModel | None = None
        if self._parameters is not None:
            parameters = self._parameters.read(scope)
            given = contract.enforce(parameters)
        if self._body_model is not None:
            raw = await self._steps.bodies.read(scope, receive)
            if raw or self._body_required:
                body = _validated(self._body_model, raw)
                given |= contract.enforce(body)
        return Call(
            operation=self._name,
            body=body,
            parameters=parameters,
            given=given,
            account=exchange.account,
            local=_is_local(scope),
            caller=self._steps.keyring.caller(scope["headers"]),
        )


def _validated(model: type[ContractModel], raw: bytes) -> ContractModel:
    try:
        return model.model_validate_json(raw)
    except ValidationError as error:
        raise body_refusal(error, raw) from None


def _is_local(scope: Scope) -> bool:
    client = scope.get("client")
    if client is None:
        return False
    host: str = client[0]
    return host == "::1" or host.removeprefix("::ffff:").startswith("127.")


async def _send_whole(answer: Whole, send: Send, *, headers_only: bool) -> None:
    body = answer.body if isinstance(answer.body, bytes) else to_json(answer.body)
    headers = [(b"content-type", answer.media_type.encode()), (b"content-length", b"%d" % len(body))]
    headers.extend((name.lower().encode("latin-1"), value.encode("latin-1")) for name, value in answer.headers.items())
    await send({"type": "http.response.start", "status": answer.status, "headers": headers})
    await send({"type": "http.response.body", "body": b"" if headers_only else body})
