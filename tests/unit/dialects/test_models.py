"""The model list, for three kinds of client."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from troth._generated.models import ListModelsParameters, RetrieveModelParameters
from troth.dialects.models import Models
from troth.dialects.served import ModelState, ServerFacts
from troth.domain import Account, Call, ServedModel, Whole
from troth.engines.base import EngineReport
from troth.errors import NotFound

Judge = Callable[[str, Any], None]
META = {"n_vocab": 49152, "n_ctx_train": 8192, "n_embd": 576, "n_params": 134515008, "size": 96576768, "ftype": "Q4_1"}


def state(name: str, kind: str = "chat", *, loaded: bool = True, aliases: tuple[str, ...] = ()) -> ModelState:
    report = (
        EngineReport(status="ready", context_tokens=512, details={"architecture": "llama", "meta": META})
        if loaded
        else EngineReport(status="loading")
    )
    model = ServedModel(name, kind, "llama_cpp", aliases, frozenset({"logprobs", "temperature"}))
    return ModelState(model=model, report=report, root=f"hf:org/{name}.gguf", created=1_700_000_000)


STATES = (state("org/smol", aliases=("small", "agent")), state("whisper", "transcription"), state("big", loaded=False))


def answer(parameters: Any, states: Sequence[ModelState] = STATES, facts: ServerFacts | None = None) -> dict[str, Any]:
    models = Models(lambda: states, facts or ServerFacts())
    retrieving = isinstance(parameters, RetrieveModelParameters)
    handler = models.retrieve_model if retrieving else models.list_models
    reply = asyncio.run(handler(Call("models", None, parameters, frozenset(), Account(), True)))
    assert isinstance(reply, Whole)
    assert isinstance(reply.body, dict)
    return reply.body


def ids(**fields: Any) -> list[str]:
    return [entry["id"] for entry in answer(ListModelsParameters.model_validate(fields))["data"]]


def test_the_list_is_as_published(judge: Judge) -> None:
    body = answer(ListModelsParameters(show_all=True))

    judge("ModelList", body)
    assert (body["first_id"], body["last_id"], body["has_more"]) == ("org/smol", "big", False)


def test_an_empty_list_is_as_published(judge: Judge) -> None:
    judge("ModelList", answer(ListModelsParameters(), states=()))


def test_text_models_are_listed_and_the_others_on_request() -> None:
    assert ids() == ["org/smol", "big"]
    assert ids(show_all=True) == ["org/smol", "whisper", "big"]


@pytest.mark.parametrize("field", ["owned_by", "X-hal0-Model-Filter"])
def test_the_list_can_be_held_to_an_owner(field: str) -> None:
    assert ids(**{field: "troth"}) == ["org/smol", "big"]
    assert ids(**{field: "someone"}) == []


def test_the_query_wins_over_the_header() -> None:
    assert ids(**{"owned_by": "troth", "X-hal0-Model-Filter": "someone"}) == ["org/smol", "big"]


@pytest.mark.parametrize("name", ["org/smol", "small", "agent"])
def test_a_model_is_found_by_id_or_alias(name: str, judge: Judge) -> None:
    body = answer(RetrieveModelParameters(model_id=name))

    judge("Model", body)
    assert body["id"] == "org/smol"
    assert body["aliases"] == ["agent", "small"]


def test_retrieving_ignores_the_filters() -> None:
    assert answer(RetrieveModelParameters(model_id="whisper"))["kind"] == "transcription"


def test_an_unknown_model_is_not_found_and_the_known_ones_are_named() -> None:
    with pytest.raises(NotFound) as refused:
        answer(RetrieveModelParameters(model_id="gpt-4"))

    assert refused.value.code == "model_not_found"
    assert "org/smol, whisper, big" in refused.value.message


def test_an_entry_serves_three_kinds_of_client() -> None:
    entry = answer(RetrieveModelParameters(model_id="org/smol"), facts=ServerFacts(cap_tokens=100))

    assert (entry["object"], entry["created"], entry["owned_by"]) == ("model", 1_700_000_000, "troth")
    assert (entry["type"], entry["created_at"]) == ("model", "2023-11-14T22:13:20Z")
    assert entry["meta"] == META | {"n_ctx": 512}
    assert (entry["max_model_len"], entry["max_input_tokens"], entry["max_tokens"]) == (512, 511, 100)
    assert entry["root"] == "hf:org/org/smol.gguf"
    assert (entry["capabilities"]["chat"], entry["capabilities"]["logprobs"]) == (True, True)
    assert entry["capabilities"]["tools"] is False


def test_a_model_that_loads_has_no_sizes_yet(judge: Judge) -> None:
    entry = answer(RetrieveModelParameters(model_id="big"))

    judge("Model", entry)
    assert (entry["max_model_len"], entry["max_tokens"], entry["meta"]) == (None, None, {})
