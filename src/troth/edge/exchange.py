"""One request and its response as the edge sees them, kept in the ASGI scope from first byte to last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, cast

from starlette.types import Scope

from troth.domain import Account

SCOPE_KEY = "troth.exchange"


@dataclass(slots=True)
class Exchange:
    """What is learned about a request on its way through; read once, when it is over."""

    account: Account = field(default_factory=Account)
    operation: str = "none"  # the handler's name; "none" while no operation matched
    dialect: str = ""  # whose shape errors have; empty: the path decides
    status: int = 0  # 0 while no response has begun
    code: str = ""  # of the refusal, if there was one
    gone: bool = False  # the client hung up before the answer was complete


def exchange_of(scope: Scope | Any) -> Exchange:
    """The exchange of the request that `scope` belongs to."""
    return cast(Exchange, scope[SCOPE_KEY])
