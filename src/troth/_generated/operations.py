"""The operations of the document. Generated from openapi/ by `python -m codegen`; do not edit.

sha256 of openapi/: 80709f1840ea67e7b4ffa34561375ef8c2ef36e70afb44b731719f98040752ea; datamodel-code-generator 0.89.0
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of an operation: its name on the wire, where it stands, and its attribute's name."""

    name: str
    location: Literal["path", "query", "header"]
    attribute: str


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation of the document. `handler` is the name of the Python function that answers it."""

    id: str
    handler: str
    method: str
    path: str
    dialect: Literal["openai", "anthropic", "native"]
    body_model: str | None
    parameters_model: str | None
    parameters: tuple[Parameter, ...]
    media: tuple[str, ...]
    streams: bool
    open: bool
    summary: str


OPERATIONS: dict[str, Operation] = {
    "create_chat_completion": Operation(
        id="create_chat_completion",
        handler="create_chat_completion",
        method="POST",
        path="/v1/chat/completions",
        dialect="openai",
        body_model="ChatCompletionRequest",
        parameters_model=None,
        parameters=(),
        media=("application/json", "text/event-stream"),
        streams=True,
        open=False,
        summary="The next message of a conversation, whole or streamed.",
    ),
    "create_chat_completion__alias1": Operation(
        id="create_chat_completion__alias1",
        handler="create_chat_completion",
        method="POST",
        path="/chat/completions",
        dialect="openai",
        body_model="ChatCompletionRequest",
        parameters_model=None,
        parameters=(),
        media=("application/json", "text/event-stream"),
        streams=True,
        open=False,
        summary="The next message of a conversation, whole or streamed.",
    ),
    "list_models": Operation(
        id="list_models",
        handler="list_models",
        method="GET",
        path="/v1/models",
        dialect="openai",
        body_model=None,
        parameters_model="ListModelsParameters",
        parameters=(
            Parameter("show_all", "query", "show_all"),
            Parameter("owned_by", "query", "owned_by"),
            Parameter("X-hal0-Model-Filter", "header", "X_hal0_Model_Filter"),
        ),
        media=("application/json",),
        streams=False,
        open=False,
        summary="The models that this server answers with.",
    ),
    "list_models__alias1": Operation(
        id="list_models__alias1",
        handler="list_models",
        method="GET",
        path="/models",
        dialect="openai",
        body_model=None,
        parameters_model="ListModelsParameters",
        parameters=(
            Parameter("show_all", "query", "show_all"),
            Parameter("owned_by", "query", "owned_by"),
            Parameter("X-hal0-Model-Filter", "header", "X_hal0_Model_Filter"),
        ),
        media=("application/json",),
        streams=False,
        open=False,
        summary="The models that this server answers with.",
    ),
    "retrieve_model": Operation(
        id="retrieve_model",
        handler="retrieve_model",
        method="GET",
        path="/v1/models/{model_id}",
        dialect="openai",
        body_model=None,
        parameters_model="RetrieveModelParameters",
        parameters=(Parameter("model_id", "path", "model_id"),),
        media=("application/json",),
        streams=False,
        open=False,
        summary="One model, by its id or one of its aliases.",
    ),
    "retrieve_model__alias1": Operation(
        id="retrieve_model__alias1",
        handler="retrieve_model",
        method="GET",
        path="/models/{model_id}",
        dialect="openai",
        body_model=None,
        parameters_model="RetrieveModelParameters",
        parameters=(Parameter("model_id", "path", "model_id"),),
        media=("application/json",),
        streams=False,
        open=False,
        summary="One model, by its id or one of its aliases.",
    ),
    "health": Operation(
        id="health",
        handler="health",
        method="GET",
        path="/health",
        dialect="native",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("application/json",),
        streams=False,
        open=True,
        summary="The server's own account of what it supports and how it is doing.",
    ),
    "health__alias1": Operation(
        id="health__alias1",
        handler="health",
        method="GET",
        path="/v1/health",
        dialect="native",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("application/json",),
        streams=False,
        open=True,
        summary="The server's own account of what it supports and how it is doing.",
    ),
    "ping": Operation(
        id="ping",
        handler="ping",
        method="GET",
        path="/ping",
        dialect="native",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("application/json",),
        streams=False,
        open=True,
        summary="A sign of life, as small as it can be.",
    ),
    "ping__post": Operation(
        id="ping__post",
        handler="ping",
        method="POST",
        path="/ping",
        dialect="native",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("application/json",),
        streams=False,
        open=True,
        summary="A sign of life, as small as it can be.",
    ),
    "version": Operation(
        id="version",
        handler="version",
        method="GET",
        path="/version",
        dialect="native",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("application/json",),
        streams=False,
        open=False,
        summary="The release of this server and of its engine.",
    ),
    "props": Operation(
        id="props",
        handler="props",
        method="GET",
        path="/props",
        dialect="native",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("application/json",),
        streams=False,
        open=False,
        summary="The default chat model in llama-server's terms.",
    ),
    "metrics": Operation(
        id="metrics",
        handler="metrics",
        method="GET",
        path="/metrics",
        dialect="native",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("text/plain",),
        streams=False,
        open=False,
        summary="Counters and gauges in Prometheus's text format.",
    ),
    "openapi_document": Operation(
        id="openapi_document",
        handler="openapi_document",
        method="GET",
        path="/openapi.json",
        dialect="openai",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("application/json",),
        streams=False,
        open=False,
        summary="This document.",
    ),
    "docs_page": Operation(
        id="docs_page",
        handler="docs_page",
        method="GET",
        path="/docs",
        dialect="openai",
        body_model=None,
        parameters_model=None,
        parameters=(),
        media=("text/html",),
        streams=False,
        open=False,
        summary="This document as a page to read and try, without the internet.",
    ),
}
