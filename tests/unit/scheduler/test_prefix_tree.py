"""The radix tree against a plain list of sequences."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.domain import TokenIds
from troth.scheduler.prefix_tree import PrefixTree, common_length


def ids(tokens: Sequence[int]) -> TokenIds:
    return np.array(tokens, dtype=np.int32)


def shared(first: Sequence[int], second: Sequence[int]) -> int:
    return next(
        (k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), min(len(first), len(second))
    )


sequences = st.lists(st.lists(st.integers(0, 2), min_size=1, max_size=12), max_size=25)


@given(sequences, sequences, st.data())
def test_the_tree_finds_what_a_search_through_all_sequences_finds(
    stored: list[list[int]], asked: list[list[int]], data: st.DataObject
) -> None:
    tree: PrefixTree[tuple[int, ...]] = PrefixTree()
    kept: dict[tuple[int, ...], None] = {}
    for tokens in stored:
        assert tree.add(ids(tokens), tuple(tokens)) == (tuple(tokens) if tuple(tokens) in kept else None)
        kept[tuple(tokens)] = None
        if len(kept) > 1 and data.draw(st.booleans()):
            gone = data.draw(st.sampled_from(sorted(kept)))
            tree.remove(ids(gone))
            del kept[gone]

    for tokens in asked:
        entry, length = tree.longest(ids(tokens))
        assert length == max((shared(each, tokens) for each in kept), default=0)
        assert entry is None if length == 0 else entry is not None and shared(entry, tokens) == length
        beginnings = {each for each in kept if len(each) < len(tokens) and tokens[: len(each)] == list(each)}
        assert set(tree.beginnings(ids(tokens))) == beginnings


def test_removing_what_is_not_there_is_an_error() -> None:
    tree: PrefixTree[str] = PrefixTree()
    tree.add(ids([1, 2, 3]), "long")

    with pytest.raises(KeyError):
        tree.remove(ids([9]))
    tree.add(ids([1, 2, 4]), "branch")
    with pytest.raises(KeyError):
        tree.remove(ids([1, 2]))


def test_an_emptied_tree_finds_nothing() -> None:
    tree: PrefixTree[str] = PrefixTree()
    tree.add(ids([1, 2, 3]), "one")
    tree.add(ids([1, 2, 4]), "two")
    tree.remove(ids([1, 2, 3]))
    tree.remove(ids([1, 2, 4]))

    assert tree.longest(ids([1, 2, 3])) == (None, 0)


def test_the_common_length_of_sequences() -> None:
    assert common_length(ids([1, 2, 3]), ids([1, 2, 4, 5])) == 2
    assert common_length(ids([1, 2]), ids([1, 2, 3])) == 2
    assert common_length(ids([]), ids([1])) == 0
