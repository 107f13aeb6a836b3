"""What an operator can set for a model of the `upstream` engine: `models[].options` in the configuration."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

ServerKind = Literal["vllm", "sglang", "llama_server", "openai", "ollama"]
Address = Annotated[
    str,
    Field(
        pattern=r"^https?://[^\s/@?#]+(/[^\s@?#]*)?$",
        json_schema_extra={"form": "an http:// or https:// address without a name, a password or a query"},
    ),
]
SECONDS: dict[str, Any] = {"unit": "seconds"}  # JSON
SECONDS_MAX = 86_400.0


RerankServerKind = Literal["vllm", "llama_server"]


class UpstreamOptions(BaseModel):
    """The options of one model that another server computes. Silences and totals default to hal0's."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    server: ServerKind = Field(
        description="What the other server is; it decides which request fields are honoured. openai is any server "
        "with OpenAI's API, and the least is asked of it."
    )
    urls: tuple[Address, ...] = Field(
        min_length=1,
        description="Addresses of the server and of its replicas, with or without /v1. The least busy one that "
        "answers gets a request.",
    )
    model: str | None = Field(
        None, min_length=1, description="The model's name over there. Null: the only one that the server lists."
    )
    api_key: (
        Annotated[
            str,
            Field(
                pattern=r"^[\x21-\x7e]+$",
                json_schema_extra={"form": "printable ASCII text without spaces, not empty"},
            ),
        ]
        | None
    ) = Field(
        None,
        repr=False,
        json_schema_extra={"secret": True},
        description='The key that the other server wants, best as "${env:NAME}".',
    )
    connect_seconds: float = Field(
        5.0, gt=0, le=SECONDS_MAX, json_schema_extra=SECONDS, description="Longest wait for a connection."
    )
    write_seconds: float = Field(
        10.0, gt=0, le=SECONDS_MAX, json_schema_extra=SECONDS, description="Longest pause while sending."
    )
    pool_seconds: float = Field(
        5.0, gt=0, json_schema_extra=SECONDS, description="Longest wait for one of connections_max; then 503."
    )
    idle_seconds: float = Field(
        300.0,
        ge=0,
        json_schema_extra=SECONDS,
        description="Longest silence of the server, before its answer or in it; then the answer is cut. 0 is off.",
    )
    total_seconds: float = Field(
        900.0, ge=0, json_schema_extra=SECONDS, description="Longest answer; then it is cut. 0 is off."
    )
    connections_max: int = Field(64, ge=1, le=65_536, description="Requests to all replicas at the same time.")
    keep_seconds: float = Field(
        15.0,
        gt=0,
        le=SECONDS_MAX,
        json_schema_extra=SECONDS,
        description="How long an idle connection is kept for the next request.",
    )
    health_seconds: float = Field(
        10.0, gt=0, json_schema_extra=SECONDS, description="How often each replica is asked whether it is there."
    )
    models_cache_seconds: float = Field(
        60.0, gt=0, json_schema_extra=SECONDS, description="How long a replica's list of models is believed."
    )


class UpstreamVectorOptions(UpstreamOptions):
    """The options of one model of vectors that another server computes."""


class UpstreamRerankOptions(UpstreamOptions):
    """The options of one model of relevance that another server computes."""

    server: RerankServerKind = Field(
        description="What the other server is: one of those that have a route for relevance."
    )
