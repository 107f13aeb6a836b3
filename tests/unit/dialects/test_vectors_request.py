"""Requests for vectors and relevance, in every form that clients send."""

from __future__ import annotations

import json
from typing import Any

import pytest

from troth._generated.models import EmbeddingRequest, RerankRequest
from troth.dialects.vectors_request import embed_ask, rerank_ask
from troth.domain.vectors import EmbedAsk, RerankAsk
from troth.errors import BadRequest

NONE: frozenset[str] = frozenset()


def embed(**body: Any) -> EmbedAsk:
    return embed_ask(EmbeddingRequest.model_validate_json(json.dumps(body)), NONE)


def rerank(**body: Any) -> RerankAsk:
    return rerank_ask(RerankRequest.model_validate_json(json.dumps({"query": "q"} | body)), NONE)


@pytest.mark.parametrize(
    ("sent", "items", "is_list"),
    [
        ("a", ("a",), False),
        (["a", "b"], ("a", "b"), True),
        ([1, 2], ((1, 2),), False),
        ([[1, 2], [3]], ((1, 2), (3,)), True),
        (["a", [3]], ("a", (3,)), True),
        ([], (), True),
    ],
)
def test_every_form_of_input_is_read(sent: Any, items: Any, is_list: bool) -> None:
    ask = embed(input=sent)
    assert (ask.items, ask.is_list) == (items, is_list)


def test_ids_and_texts_in_one_list_are_refused_with_the_place() -> None:
    with pytest.raises(BadRequest) as caught:
        embed(input=[1, "a"])
    assert caught.value.param == "input.1"


@pytest.mark.parametrize(("fields", "norm"), [({}, None), ({"normalize": True}, 2), ({"normalize": False}, -1)])
def test_a_switch_of_scaling_is_a_norm(fields: dict[str, Any], norm: int | None) -> None:
    assert embed(input="a", **fields).norm == norm


def test_two_scalings_are_refused() -> None:
    with pytest.raises(BadRequest, match="two ways"):
        embed(input="a", normalize=True, embd_normalize=2)


@pytest.mark.parametrize(
    ("sent", "cuts"), [(None, False), (False, False), ("NONE", False), (True, True), ("END", True)]
)
def test_a_cut_is_asked_for_in_two_ways(sent: Any, cuts: bool) -> None:
    assert embed(input="a", truncate=sent).truncate is cuts
    assert rerank(documents=["a"], truncate=sent).truncate is cuts


def test_documents_are_texts_or_objects() -> None:
    ask = rerank(query={"text": "who"}, documents=["a", {"text": "b", "title": "c"}])
    assert (ask.query, ask.documents, ask.field) == ("who", ("a", "b"), "documents")


def test_named_fields_stand_each_on_a_line() -> None:
    ask = rerank(documents=[{"text": "b", "title": "c"}], rank_fields=["title", "text"])
    assert ask.documents == ("c\nb",)


def test_texts_are_documents_too() -> None:
    ask = rerank(texts=["a"])
    assert (ask.documents, ask.field) == (("a",), "texts")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "documents"),
        ({"documents": ["a"], "texts": ["a"]}, "texts"),
        ({"documents": ["a", {"title": "b"}]}, "documents.1.text"),
        ({"documents": [{"text": 5}]}, "documents.0.text"),
        ({"query": {}, "documents": ["a"]}, "query.text"),
    ],
)
def test_what_lacks_its_text_is_refused_with_the_place(body: dict[str, Any], param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        rerank(**body)
    assert caught.value.param == param
