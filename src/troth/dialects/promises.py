"""The contract table: what becomes of every request field, per route and model.

Made from the same generated table that the edge enforces and the same `honours` that policy asks, so
that what is published is what happens.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from troth._generated.fields import FIELDS, PREFIXES
from troth._generated.operations import OPERATIONS
from troth.contract import Neutral
from troth.dialects.served import ModelState
from troth.domain import ServedModel

CHAT_FIELDS = "ChatCompletionRequest"
KINDS = {  # of the models that read a request; else chat
    "EmbeddingRequest": "embedding",
    "RerankRequest": "rerank",
    "ModerationRequest": "moderation",
    "SystemOneRequest": "decision",
}
CHAT = "create_chat_completion"
DONE_HERE = {CHAT: frozenset({"omni"})}  # by operation: the fields that this server does itself, whatever the engine
NO_MODEL = "*"  # in place of a model's id, on routes where none takes part
Table = dict[str, Any]  # ContractTable of the document


def routes() -> list[str]:
    """Every route of the document, as `METHOD /path`."""
    return sorted({f"{operation.method} {operation.path}" for operation in OPERATIONS.values()})


def contract(models: Iterable[ServedModel], guard: frozenset[str], unknown: str) -> dict[str, dict[str, Table]]:
    """The table of every route that reads fields, by model id."""
    served = tuple(models)
    tables: dict[str, dict[str, Table]] = {}
    for operation in OPERATIONS.values():
        requests = [name for name in (operation.body_model, operation.parameters_model) if name and name in FIELDS]
        by_model: dict[str, Table] = {}
        if operation.body_model in FIELDS:
            kind = KINDS.get(str(operation.body_model), "chat")
            here = DONE_HERE.get(operation.handler, frozenset())
            by_model = {
                model.id: _joined(requests, model.honours | here, guard) for model in served if model.serves(kind)
            }
        elif requests:
            by_model = {NO_MODEL: _joined(requests, None, guard)}
        if by_model:
            tables[f"{operation.method} {operation.path}"] = {
                name: table | {"unknown": unknown} for name, table in by_model.items()
            }
    return tables


def _joined(requests: Iterable[str], honours: frozenset[str] | None, guard: frozenset[str]) -> Table:
    """The fields of body and parameters in one table; no two of them have one name."""
    joined, *others = (promises(request, honours, guard) for request in requests)
    for table in others:
        for name, fields in table.items():
            joined[name] = joined[name] | fields if isinstance(fields, dict) else [*joined[name], *fields]
    return joined


def promises(request: str, honours: frozenset[str] | None, guard: frozenset[str]) -> Table:
    """The fields of one request by class, for an engine that honours `honours` (None: no engine).

    An honoured field that the operator guards, or that the engine does not do, is published as guarded.
    """
    honoured: list[str] = []
    inert: list[str] = []
    guarded: dict[str, str] = {}
    alias: dict[str, str] = {}
    clamped: dict[str, str] = {}
    for path, rule in FIELDS[request].items():
        top = re.split(r"[.\[]", path, maxsplit=1)[0]  # engines and operators speak of whole fields
        done = top not in guard and (honours is None or top in honours)
        match rule.contract_class:
            case "inert":
                inert.append(path)
            case "alias":
                alias[path] = str(rule.of)
            case "clamped" if done:
                clamped[path] = str(rule.to)
            case "honoured" if done:
                honoured.append(path)
            case _:
                guarded[path] = Neutral.of(rule.neutral).words
    return {
        "honoured": honoured,
        "inert": inert,
        "guarded": guarded,
        "alias": alias,
        "clamped": clamped,
        "prefixes": dict[str, str](PREFIXES.get(request, {})),
    }


def chat_promises(model: ServedModel, guard: frozenset[str]) -> Table:
    """The fields of a chat request to `model`, by class."""
    return promises(CHAT_FIELDS, model.honours | DONE_HERE[CHAT], guard)


def capabilities(state: ModelState, guard: frozenset[str]) -> Mapping[str, bool]:
    """What a model can do here, as far as its fields and, once it is loaded, its template tell."""
    model, loading = state.model, state.vocabulary is None
    done = set(chat_promises(model, guard)["honoured"]) if model.kind == "chat" else set[str]()
    return {
        "chat": model.kind == "chat" and (loading or state.template is not None),
        "tools": "tools" in done,
        "reasoning": state.speech is not None and state.speech.thoughts is not None,
        "grammar": "grammar" in done,
        "logprobs": "logprobs" in done,
        "embedding": model.kind == "embedding",
        "rerank": model.kind == "rerank",
        "image": state.report.vision or model.kind == "image",
        "video": model.kind == "video",
        "audio": state.report.audio or model.kind in ("speech", "transcription"),
    }
