"""The configurations that several contract tests share: each is started once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.fields import RequestField
from tests.support.live import config, embedded
from tests.support.vector_models import embedder, reranker

Settings = dict[str, Any]

MOMENT_SECONDS = 0.2


def quick(**options: Any) -> Settings:
    """The embedded model without the determinism that makes a start and a prompt slower."""
    return embedded(determinism="fast", **options)


def two_models() -> Settings:
    """Two names for one file, one of them with slashes; other names are refused."""
    tiny, second = ({**quick(context_tokens=256, slots=1), "id": name} for name in ("org/tiny:latest", "second"))
    return config([{**tiny, "aliases": ["agent/small"]}, second], routing={"unknown_model": "refuse"})


def narrow() -> Settings:
    """One request at a time, two more may wait, and waiting streams are kept alive."""
    return config([quick(slots=1)], limits={"queue_max": 2}, stream={"keepalive_seconds": MOMENT_SECONDS})


def impatient() -> Settings:
    """One request at a time, the others wait for a moment only; a budget above 900 tokens is refused."""
    return config(
        [quick(slots=1)],
        limits={"queue_seconds_max": MOMENT_SECONDS},
        budget={"over_cap": "refuse", "cap_tokens": 900},
    )


def small() -> Settings:
    """Small bodies that must say they are JSON, answers of five tokens, and the role of a stream at once."""
    return config(
        [quick(context_tokens=128, slots=1)],
        server={"body_bytes_max": 4096, "strict_content_type": True},
        budget={"cap_tokens": 5},
        stream={"first_event": "role"},
    )


def cramped() -> Settings:
    """A context of 64 tokens, and no cap."""
    return config([quick(context_tokens=64, slots=1)])


def locked() -> Settings:
    """A server with two keys."""
    return config([quick(context_tokens=256, slots=1)], auth={"api_keys": ["first-key", "second-key"]})


def of_vectors() -> Settings:
    """A model of vectors and one of relevance; a request has a hundred items, and twenty thousand bytes."""
    return config([embedder(), reranker()], limits={"vector_items_max": 100, "vector_bytes_max": 20_000})


def narrow_vectors() -> Settings:
    """One request for vectors at a time, and none waits."""
    return config([embedder()], limits={"vector_requests_max": 1, "queue_max": 0})


def of_judges() -> Settings:
    """One file three times: as a chat model that decides too, as one that only decides, and as a guard, whose verdicts
    mean nothing."""
    only = embedded(context_tokens=512, slots=2) | {"id": "decider-135m", "kind": "decision"}
    decider = embedded(context_tokens=512, slots=2) | {"decides": True}
    return config(
        [
            decider,
            only,
            quick(context_tokens=256, slots=2) | {"id": "guard", "kind": "moderation", "guard": "qwen3guard"},
        ]
    )


def guardable(fields: Mapping[str, RequestField]) -> list[str]:
    """The fields that an operator can switch off."""
    return [
        field.path
        for field in fields.values()
        if field.contract_class == "honoured" and "." not in field.path and not field.required
    ]


def guarding(fields: Mapping[str, RequestField]) -> Settings:
    """Everything that can be left out is guarded, and unknown fields are refused."""
    contract = {"guard": guardable(fields), "unknown_fields": "refuse"}
    return config([quick(context_tokens=256, slots=1)], contract=contract)
