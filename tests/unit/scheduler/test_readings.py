"""What is read of a request: checked, and cut only where the client asked for it."""

from __future__ import annotations

import pytest

from tests.support.encoder import SmallEncoder
from troth.domain.vectors import EmbedJob, RerankJob
from troth.errors import BadRequest, ItemTooLong
from troth.scheduler.readings import read_items, read_pairs

ENCODER = SmallEncoder(tokens_max=6)


def test_an_item_of_the_longest_length_is_read() -> None:
    (reading,) = read_items(ENCODER, EmbedJob(items=["abcd"]))

    assert len(reading.tokens) == 6
    assert reading.cut_from is None


def test_an_item_that_is_too_long_is_refused_with_its_place_and_the_counts() -> None:
    with pytest.raises(ItemTooLong) as caught:
        read_items(ENCODER, EmbedJob(items=["a", "abcdefg"]))

    assert caught.value.param == "input.1"
    assert caught.value.facts == {"n_prompt_tokens": 9, "n_ctx": 6, "n_surplus_tokens": 3}
    assert "input.1 is too long: 9 tokens, 3 more than the 6" in caught.value.message


def test_an_item_by_itself_is_named_without_a_place() -> None:
    with pytest.raises(ItemTooLong) as caught:
        read_items(ENCODER, EmbedJob(items=["abcdefg"], is_list=False))

    assert caught.value.param == "input"


def test_a_cut_keeps_what_the_model_puts_around_the_text_and_is_told() -> None:
    (reading,) = read_items(ENCODER, EmbedJob(items=["abcdefg"], truncate=True))

    assert reading.tokens.tolist() == [1, *map(ord, "abcd"), 2]
    assert reading.cut_from == 9


def test_ids_are_read_as_they_are() -> None:
    (reading,) = read_items(ENCODER, EmbedJob(items=[(5, 6, 7)]))

    assert reading.tokens.tolist() == [5, 6, 7]


@pytest.mark.parametrize("token", [-1, 1000])
def test_an_id_outside_the_vocabulary_is_refused_with_its_place(token: int) -> None:
    with pytest.raises(BadRequest) as caught:
        read_items(ENCODER, EmbedJob(items=["a", (5, token)]))

    assert caught.value.param == "input.1"
    assert f"token id {token} at position 1; this model's ids are from 0 to 999" in caught.value.message


def test_a_document_that_is_too_long_is_cut_and_the_query_is_not() -> None:
    (reading,) = read_pairs(ENCODER, RerankJob(query="q", documents=["abcd"], truncate=True))

    assert reading.tokens.tolist() == [1, ord("q"), 2, ord("a"), ord("b"), 2]
    assert reading.cut_from == 8


def test_a_query_that_is_too_long_by_itself_is_read_beside_no_document() -> None:
    with pytest.raises(ItemTooLong, match="query is too long"):
        read_pairs(ENCODER, RerankJob(query="abcdef", documents=["x"] * 9, truncate=True))


@pytest.mark.parametrize("truncate", [False, True])
def test_a_query_that_leaves_no_room_is_refused_also_where_cutting_was_asked_for(truncate: bool) -> None:
    with pytest.raises(ItemTooLong, match=r"texts\.0 is too long: 8 tokens"):
        read_pairs(ENCODER, RerankJob(query="abcd", documents=["x"], truncate=truncate, field="texts"))
