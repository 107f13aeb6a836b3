"""What the edge is told at the start: the operator's choices and the generated tables."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from troth.contract import ContractModel
from troth.envelopes import Envelope


@dataclass(frozen=True, slots=True, kw_only=True)
class EdgeSettings:
    """The operator's choices for everything between the socket and a handler."""

    api_keys: tuple[str, ...] = ()  # none: everybody is let in
    open_models: bool = False
    isolate_keys: bool = True  # callers with different keys share no saved prompts
    cors: bool = True
    body_bytes_max: int = 67108864
    strict_content_type: bool = False
    keepalive_seconds: float = 10.0  # 0 is off
    stop_seconds: float = 5.0
    unknown_fields: Literal["ignore", "refuse"] = "ignore"
    guard: tuple[str, ...] = ()  # honoured fields that this server treats as guarded
    envelope: Envelope = "openai"  # of every error but those of Anthropic's routes


class OperationRow(Protocol):
    """What the edge reads of one row of the generated operation table."""

    @property
    def id(self) -> str:
        """The operationId, unique over the document."""

    @property
    def handler(self) -> str:
        """The name of the handler: the operationId without its `__suffix`."""

    @property
    def method(self) -> str:
        """The HTTP method."""

    @property
    def path(self) -> str:
        """The path template."""

    @property
    def dialect(self) -> str:
        """Whose shape errors have: openai, anthropic or native."""

    @property
    def body_model(self) -> str | None:
        """The generated class of the body, by name."""

    @property
    def parameters_model(self) -> str | None:
        """The generated class of query, path and header parameters together, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """The generated knowledge of one document: its operations, its classes, its field families."""

    operations: Mapping[str, OperationRow]
    model: Callable[[str], type[ContractModel]]  # by class name
    prefixes: Mapping[str, Mapping[str, str]]  # class name → prefix of inert fields → "inert"


def generated_tables() -> Tables:
    """The tables of the document that Troth ships."""
    from troth._generated import models
    from troth._generated.fields import PREFIXES
    from troth._generated.operations import OPERATIONS

    return Tables(operations=OPERATIONS, model=lambda name: getattr(models, name), prefixes=PREFIXES)
