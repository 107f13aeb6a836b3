"""The model list, valid for OpenAI's, Anthropic's and llama-server's clients at once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any

from troth._generated.models import ListModelsParameters, RetrieveModelParameters
from troth.dialects.promises import capabilities
from troth.dialects.served import ModelState, ServerFacts
from troth.domain import Answer, Call, Whole
from troth.errors import NotFound

OWNER = "troth"
TEXT_KINDS = frozenset({"chat", "completion", "embedding", "rerank"})


class Models:
    """Answers the model routes from snapshots."""

    def __init__(self, served: Callable[[], Sequence[ModelState]], facts: ServerFacts) -> None:
        """`served` returns at once, with every configured model, loaded or not."""
        self._served = served
        self._facts = facts

    async def list_models(self, call: Call) -> Answer:
        """The text models, or with `show_all` every model, of the owner asked for."""
        parameters: ListModelsParameters = call.parameters
        owner = parameters.owned_by or parameters.X_hal0_Model_Filter or OWNER
        states = [
            state
            for state in self._served()
            if owner == OWNER and (parameters.show_all or state.model.kind in TEXT_KINDS)
        ]
        data = [entry(state, self._facts) for state in states]
        return Whole(
            {
                "object": "list",
                "data": data,
                "has_more": False,
                "first_id": data[0]["id"] if data else None,
                "last_id": data[-1]["id"] if data else None,
                "models": [_llama_entry(state) for state in states],
            }
        )

    async def retrieve_model(self, call: Call) -> Answer:
        """The model of this id or alias, whatever its kind. Raises NotFound naming the ids that are served."""
        parameters: RetrieveModelParameters = call.parameters
        states, name = self._served(), parameters.model_id
        for state in states:
            if name == state.model.id or name in state.model.aliases:
                return Whole(entry(state, self._facts))
        known = ", ".join(state.model.id for state in states)
        raise NotFound(f"There is no model {name!r}. Served here: {known}.", param="model", code="model_not_found")


def entry(state: ModelState, facts: ServerFacts) -> dict[str, Any]:
    """One model. Sizes are null and `meta` is empty until it is loaded."""
    context = state.report.context_tokens or None
    meta = dict(state.report.details.get("meta", {}))
    if context is not None:
        meta["n_ctx"] = context
    answer = context - 1 if context is not None else None
    if state.reads_whole:
        return _identity(state) | _vector_sizes(state) | {"meta": meta}
    return _identity(state) | {
        "max_model_len": context,
        "context_length": context,
        "max_input_tokens": answer,  # one token is left to answer with
        "max_tokens": answer if facts.cap_tokens is None or answer is None else min(answer, facts.cap_tokens),
        "max_tokens_cap": facts.cap_tokens,
        "max_tokens_default": facts.default_tokens,
        "capabilities": dict(capabilities(state, facts.guard)),
        "meta": meta,
    }


def _vector_sizes(state: ModelState) -> dict[str, Any]:
    """The sizes of a model that gives no text: it reads whole contexts, and what it gives has no tokens."""
    context, details = state.report.context_tokens or None, state.report.details
    sizes: dict[str, Any] = {
        "max_model_len": context,
        "context_length": context,
        "max_input_tokens": context,
        "capabilities": dict(capabilities(state, frozenset())),
    }
    if state.model.kind == "embedding":
        sizes |= {name: details[name] for name in ("dimensions", "pooling") if name in details}
        sizes["prompts"] = list(state.model.prompts)
    return sizes


def _identity(state: ModelState) -> dict[str, Any]:
    model = state.model
    return {
        "id": model.id,
        "object": "model",
        "type": "model",
        "created": state.created,
        "created_at": datetime.fromtimestamp(state.created, UTC).strftime("%Y-%m-%dT%H:%M:%SZ"),
        "owned_by": OWNER,
        "display_name": model.id,
        "lifecycle": "active",
        "kind": model.kind,
        "root": state.root,
        "parent": None,
        "aliases": sorted(model.aliases),
        "tags": [],
    }


def _llama_entry(state: ModelState) -> dict[str, Any]:
    """One model as llama-server lists it a second time, for Ollama's clients."""
    details = state.report.details
    family = str(details.get("architecture", ""))
    return {
        "name": state.model.id,
        "model": state.model.id,
        "modified_at": "",
        "size": "",
        "digest": "",
        "type": "model",
        "description": "",
        "tags": [],
        "capabilities": _llama_capabilities(state),
        "parameters": "",
        "details": {
            "parent_model": "",
            "format": "gguf" if state.model.engine == "llama_cpp" else "",
            "family": family,
            "families": [family],
            "parameter_size": "",
            "quantization_level": str(details.get("meta", {}).get("ftype", "")),
        },
    }


def _llama_capabilities(state: ModelState) -> list[str]:
    if state.model.kind != "chat":
        return [state.model.kind]
    return ["completion", *(["multimodal"] if state.report.vision or state.report.audio else [])]
