"""What the cache keeps, gives and lets go."""

from __future__ import annotations

import numpy as np

from troth.domain import Tag, TokenIds
from troth.scheduler.prefix_cache import CacheLimits, PrefixCache


def ids(*tokens: int) -> TokenIds:
    return np.array(tokens, dtype=np.int32)


def cache(budget_bytes: int = 10_000, *, can_cut: bool = True) -> PrefixCache:
    return PrefixCache(CacheLimits(budget_bytes, tokens_min=2), can_cut=can_cut)


STATE = np.zeros(100, np.uint8)


def test_a_longer_state_takes_the_place_and_the_label_of_its_beginning() -> None:
    kept = cache()
    kept.store(ids(1, 2, 3), STATE, Tag(label="talk"))

    kept.store(ids(1, 2, 3, 4), STATE, Tag())

    (only,) = kept.conversations()
    assert (len(only.tokens), only.tag.label) == (4, "talk")
    assert kept.counters.superseded == 1


def test_a_state_that_cannot_be_cut_keeps_its_beginnings() -> None:
    kept = cache(can_cut=False)
    kept.store(ids(1, 2, 3), STATE, Tag())
    kept.store(ids(1, 2, 3, 4), STATE, Tag())

    saved, length = kept.match(ids(1, 2, 3, 9))

    assert len(kept.conversations()) == 2
    assert saved is not None
    assert length == 3


def test_a_beginning_that_is_too_short_is_no_match() -> None:
    kept = cache()
    kept.store(ids(1, 2, 3), STATE, Tag())

    assert kept.match(ids(1, 9, 9)) == (None, 0)
    assert kept.match(ids(1, 2, 9))[1] == 2


def test_what_is_covered_is_not_wanted_again() -> None:
    kept = cache()
    kept.store(ids(1, 2, 3, 4), STATE, Tag())

    assert not kept.wants(ids(1, 2, 3), Tag())
    assert not kept.wants(ids(1), Tag())
    assert kept.wants(ids(1, 2, 3, 4, 5), Tag())
    assert kept.wants(ids(1, 2, 9), Tag())
    assert kept.wants(ids(1, 2, 3), Tag(handle="mine"))


def test_a_repeated_conversation_gets_the_label_of_its_repetition() -> None:
    kept = cache()
    kept.store(ids(1, 2, 3), STATE, Tag())

    assert not kept.wants(ids(1, 2, 3), Tag(label="named"))
    assert kept.conversations()[0].tag.label == "named"


def test_a_budget_of_zero_keeps_nothing() -> None:
    off = cache(0)

    assert not off.is_on
    assert not off.wants(ids(1, 2, 3), Tag())
    assert off.match(ids(1, 2, 3)) == (None, 0)


def test_held_states_never_exceed_the_budget() -> None:
    kept = cache(300)
    kept.store(ids(1, 2), STATE, Tag(handle="a"))
    kept.store(ids(3, 4), STATE, Tag(handle="b"))

    kept.store(ids(5, 6), STATE, Tag(handle="c"))
    kept.store(ids(7, 8), STATE, Tag())

    assert {saved.tag.handle for saved in kept.conversations()} == {"a", "b"}
    assert kept.counters.refused == 2


def test_a_handle_moves_on_to_the_newer_state() -> None:
    kept = cache()
    kept.store(ids(1, 2), STATE, Tag(handle="a"))

    kept.store(ids(5, 6), STATE, Tag(handle="a"))

    assert [len(saved.tokens) for saved in kept.conversations() if saved.tag.handle == "a"] == [2]
    assert len(kept.conversations()) == 2


def test_no_two_states_of_any_caches_have_one_id() -> None:
    first, second = cache(), cache()
    for kept in (first, second):
        kept.store(ids(1, 2), STATE, Tag())
        kept.store(ids(5, 6), STATE, Tag())

    assert len({saved.id for kept in (first, second) for saved in kept.conversations()}) == 4


def test_use_refreshes_what_was_used() -> None:
    kept = cache(330)
    for first in (1, 3, 5):
        kept.store(ids(first, first + 1), STATE, Tag())
    saved, length = kept.match(ids(1, 2, 9))

    kept.use(saved, length, asked=3)
    kept.store(ids(7, 8), STATE, Tag())

    assert kept.match(ids(1, 2, 9))[1] == 2
    assert kept.match(ids(3, 4, 9)) == (None, 0)
    assert (kept.counters.hits, kept.counters.hit_tokens, kept.counters.asked_tokens) == (1, 2, 3)
