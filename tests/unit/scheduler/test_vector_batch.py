"""Which sequences are computed together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from troth.domain.vectors import Reading
from troth.scheduler.vector_batch import Work, compose


@dataclass
class Room:
    batch_tokens: int = 100
    batch_sequences: int = 8
    pads: bool = False


def work(*lengths: int) -> Work:
    made = Work()
    made.prepare([Reading(np.ones(length, np.int32)) for length in lengths], 1)
    return made


def test_one_sequence_of_each_request_is_taken_in_turn() -> None:
    large, small = work(5, 5, 5), work(5)

    batch = compose([large, small], Room())

    assert [each for each, _ in batch] == [large, small, large, large]


def test_the_longest_sequence_of_a_request_comes_first() -> None:
    assert [index for _, index in compose([work(2, 9, 4)], Room())] == [1, 2, 0]


def test_a_batch_has_no_more_sequences_than_there_are_places() -> None:
    requests = [work(1, 1, 1), work(1, 1)]

    assert len(compose(requests, Room(batch_sequences=4))) == 4
    assert len(compose(requests, Room(batch_sequences=4))) == 1
    assert compose(requests, Room()) == []


@pytest.mark.parametrize(("pads", "taken"), [(False, 3), (True, 2)])
def test_a_batch_has_no_more_tokens_than_fit_padding_included(pads: bool, taken: int) -> None:
    assert len(compose([work(10, 2, 2, 2)], Room(batch_tokens=20 if pads else 15, pads=pads))) == taken


def test_a_sequence_that_fills_the_batch_is_computed_alone() -> None:
    request = work(50, 1)

    assert len(compose([request], Room(batch_tokens=20))) == 1
    assert request.left == 1


def test_the_rows_of_a_request_are_in_the_order_of_its_items() -> None:
    request = work(1, 3, 2)
    for each, index in compose([request], Room()):
        each.put(index, np.array([index], np.float32))

    assert request.is_done
    assert request.result().values.tolist() == [[0], [1], [2]]
    assert request.result().tokens == 6
