"""Whether requests for vectors and relevance are served as they were sent."""

from __future__ import annotations

from typing import Any

import pytest

from troth.domain import ServedModel
from troth.domain.vectors import EmbedAsk, Item, RerankAsk
from troth.errors import BadRequest
from troth.policy.vectors import VectorLimits, checked_documents, checked_items, settled_norm

MODEL = ServedModel("small", "embedding", "onnx", prompts={"query": "Q: ", "passage": "P: "})
LIMITS = VectorLimits(items_max=3, bytes_max=20)


def ask(*items: Item, is_list: bool = True, **more: Any) -> EmbedAsk:
    return EmbedAsk(items=items, is_list=is_list, **more)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        (ask(), "input"),
        (ask("a", ""), "input.1"),
        (ask((5,), ()), "input.1"),
        (ask("", is_list=False), "input"),
        (ask((), is_list=False), "input"),
    ],
)
def test_nothing_to_embed_is_refused_with_its_place(asked: EmbedAsk, param: str) -> None:
    with pytest.raises(BadRequest, match="empty") as caught:
        checked_items(asked, MODEL, LIMITS)
    assert caught.value.param == param


@pytest.mark.parametrize(
    ("asked", "key"),
    [
        (ask("a", "b", "c", "d"), "vector_items_max"),
        (ask("ä" * 11), "vector_bytes_max"),
        (ask(tuple(range(6))), "vector_bytes_max"),
    ],
)
def test_more_than_a_limit_is_refused_naming_it(asked: EmbedAsk, key: str) -> None:
    with pytest.raises(BadRequest, match=key):
        checked_items(asked, MODEL, LIMITS)


def test_as_much_as_the_limits_allow_is_served() -> None:
    assert len(checked_items(ask("a" * 10, "b" * 6, (1,)), MODEL, LIMITS)) == 3


def test_a_named_prompt_stands_before_every_text() -> None:
    assert checked_items(ask("a", "b", prompt_name="query"), MODEL, LIMITS) == ("Q: a", "Q: b")


def test_an_unknown_prompt_is_refused_naming_those_that_there_are() -> None:
    with pytest.raises(BadRequest, match=r"no prompt 'document'. It has: query, passage\.") as caught:
        checked_items(ask("a", prompt_name="document"), MODEL, LIMITS)
    assert caught.value.param == "prompt_name"


def test_a_prompt_does_not_go_with_token_ids() -> None:
    with pytest.raises(BadRequest, match="goes with texts"):
        checked_items(ask((5,), prompt_name="query"), MODEL, LIMITS)


@pytest.mark.parametrize(("normalizes", "norm"), [(True, 2), (False, -1)])
def test_without_a_word_vectors_are_scaled_as_the_operator_set_it(normalizes: bool, norm: int) -> None:
    assert settled_norm(ask("a"), 8, normalizes=normalizes).norm == norm


@pytest.mark.parametrize("norm", [None, 2])
def test_fewer_dimensions_have_length_one(norm: int | None) -> None:
    assert settled_norm(ask("a", dimensions=8, norm=norm), 8, normalizes=False).norm == 2


@pytest.mark.parametrize("norm", [-1, 0, 1, 3])
def test_fewer_dimensions_go_with_no_other_scaling(norm: int) -> None:
    with pytest.raises(BadRequest, match="length 1"):
        settled_norm(ask("a", dimensions=4, norm=norm), 8, normalizes=True)


def test_more_dimensions_than_there_are_are_refused_with_both_numbers() -> None:
    with pytest.raises(BadRequest, match="`dimensions` is 9; this model has 8"):
        settled_norm(ask("a", dimensions=9), 8, normalizes=True)


@pytest.mark.parametrize(
    ("asked", "param"),
    [
        (RerankAsk(query="", documents=("a",)), "query"),
        (RerankAsk(query="q", documents=()), "documents"),
        (RerankAsk(query="q", documents=("a", ""), field="texts"), "texts.1"),
        (RerankAsk(query="q", documents=("a",) * 4), "documents"),
    ],
)
def test_nothing_to_rank_and_too_much_of_it_are_refused(asked: RerankAsk, param: str) -> None:
    with pytest.raises(BadRequest) as caught:
        checked_documents(asked, LIMITS)
    assert caught.value.param == param
