"""Drafts pay or stop, and what they cost is bounded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.unit.scheduler.test_scheduler import Letters
from troth.domain import Job, Prompt, Sampling, Sight
from troth.engines.base import DecodeFault
from troth.scheduler.counters import Counters
from troth.scheduler.drafts import Drafter
from troth.scheduler.memory import Memory
from troth.scheduler.request import Choice, Request

STEP_SECONDS = 0.010


class Oracle:
    """Knows the answer with some chance, and takes `cost` of a step for every token that it guesses."""

    def __init__(self, answer: list[int], prompt_tokens: int, *, cost: float, right: float = 1.0) -> None:
        self.now, self.asked = 0.0, 0
        self._answer, self._start, self._cost, self._right = answer, prompt_tokens, cost, right
        self._chance = np.random.default_rng(1)

    def propose(self, tokens: Sequence[int], count: int) -> list[int] | None:
        self.asked += 1
        self.now += self._cost * count * STEP_SECONDS
        ahead = self._answer[len(tokens) - self._start :][:count]
        return [token if self._chance.random() < self._right else -1 for token in ahead]

    def interrupt(self) -> None:
        raise AssertionError("nobody interrupts here")


def speaking(prompt: list[int], said: list[int], answer_tokens: int = 1000) -> Choice:
    room = len(prompt) + answer_tokens
    job = Job(
        prompt=Prompt(np.array(prompt, np.int32), answer_tokens, room),
        sampling=Sampling(),
        seed=1,
        interpreters=[Letters()],
    )
    choice = Request(job).waiting[0]
    choice.slot, choice.said, choice.held = 0, said, len(prompt) + len(said) - 1
    return choice


def play(drafter: Drafter, answer: list[int], prompt: list[int], *, row_cost: float) -> float:
    """Plain steps' worth of time that the answer took, when every drafted row costs `row_cost` of a step."""
    choice, counters, spent = speaking(prompt, answer[:1]), Counters(), 0.0
    while len(choice.said) < len(answer):
        draft = drafter.drafts([choice], 100).get(0, [])
        right = answer[len(choice.said) :]
        accepted = next((k for k, token in enumerate(draft) if k >= len(right) or right[k] != token), len(draft))
        heard = min(accepted + 1, len(right))
        choice.said.extend(right[:heard])
        cost = 1 + row_cost * len(draft)
        spent += cost
        drafter.note_step(1 + len(draft), cost * STEP_SECONDS, heard)
        if draft:
            drafter.note_draft(choice, len(draft), accepted, counters)
    return spent


def test_a_repeated_run_is_followed_by_what_followed_it_before() -> None:
    memory = Memory([1, 2, 3, 4, 5, 6])
    memory.extend([9, 1, 2, 3])

    assert memory.follow(2) == [4, 5]
    assert memory.follow(0) == []
    memory.extend([7])
    assert memory.follow(5) == []


def test_copied_text_is_drafted_and_pays() -> None:
    text = [k * 7 % 101 for k in range(300)]

    spent = play(Drafter(8), text, text, row_cost=0.65)

    assert spent < 300 / 1.15


def test_cheap_rows_pay_more() -> None:
    text = [k * 7 % 101 for k in range(300)]

    assert play(Drafter(8), text, text, row_cost=0.1) < 300 / 3


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 10**9), st.floats(0.3, 1.0))
def test_drafts_that_fail_cost_at_most_three_percent_and_the_first_purse(seed: int, row_cost: float) -> None:
    chance = np.random.default_rng(seed)
    # Three tokens repeat often, and what follows them is anyone's guess: the worst that a prompt can do.
    answer = [token for _ in range(400) for token in (1, 2, 3, int(chance.integers(4, 50)))]

    spent = play(Drafter(8), answer, [1, 2, 3, 4] * 5, row_cost=row_cost)

    assert spent <= len(answer) * 1.03 + 7


def unrepeated(count: int) -> list[int]:
    return list(range(1000, 1000 + count))


def with_oracle(oracle: Oracle) -> Drafter:
    return Drafter(8, proposer=oracle, clock=lambda: oracle.now)


def test_a_smaller_model_drafts_where_nothing_repeats() -> None:
    answer = unrepeated(300)
    oracle = Oracle(answer, 4, cost=0.05)

    spent = play(with_oracle(oracle), answer, [1, 2, 3, 4], row_cost=0.1)

    assert spent + oracle.now / STEP_SECONDS < 300 / 2


@pytest.mark.parametrize(("cost", "right"), [(1.0, 1.0), (0.5, 0.5), (0.1, 0.0)])
def test_a_smaller_model_that_does_not_pay_is_given_up(cost: float, right: float) -> None:
    answer = unrepeated(1000)
    oracle = Oracle(answer, 4, cost=cost, right=right)

    spent = play(with_oracle(oracle), answer, [1, 2, 3, 4], row_cost=0.65)

    assert oracle.asked > 0
    assert spent + oracle.now / STEP_SECONDS <= len(answer) * 1.03 + 14


def test_a_smaller_model_that_still_reads_costs_no_draft() -> None:
    class Reading(Oracle):
        def propose(self, tokens: Sequence[int], count: int) -> list[int] | None:
            if self.asked > 5:
                return super().propose(tokens, count)
            self.asked += 1
            return None

    answer = unrepeated(100)
    oracle = Reading(answer, 4, cost=0.01)

    assert play(with_oracle(oracle), answer, [1, 2, 3, 4], row_cost=0.1) < 60


def test_a_smaller_model_that_fails_is_not_asked_again_and_costs_no_answer() -> None:
    class Failing(Oracle):
        def propose(self, tokens: Sequence[int], count: int) -> list[int] | None:
            super().propose(tokens, count)
            raise DecodeFault("no memory")

    answer = unrepeated(100)
    oracle = Failing(answer, 4, cost=0.01)

    assert play(with_oracle(oracle), answer, [1, 2, 3, 4], row_cost=0.1) == 99
    assert oracle.asked == 1


def test_nothing_is_drafted_beyond_the_budget_or_beside_others() -> None:
    text = [k * 7 % 101 for k in range(50)]
    drafter = Drafter(8)
    play(drafter, text, text, row_cost=0.1)

    assert drafter.drafts([speaking(text, text[:5], answer_tokens=6)], 100) == {}
    assert drafter.drafts([speaking(text, text[:5]), speaking(text, text[:5])], 100) == {}
    assert drafter.drafts([speaking(text, text[:5])], 1) == {}
    assert Drafter(0).drafts([speaking(text, text[:5])], 100) == {}


def test_a_smaller_model_is_not_asked_behind_a_picture_that_it_cannot_see() -> None:
    answer = unrepeated(300)
    oracle = Oracle(answer, 4, cost=0.05)
    drafter, choice = with_oracle(oracle), speaking([1, -5, -6, 4], answer[:1])
    seen = Prompt(np.array([1, -5, -6, 4], np.int32), 1000, 1004, sights=(Sight(1, np.zeros((2, 1), np.float32)),))
    choice.request.job = replace(choice.request.job, prompt=seen)

    for count in range(1, 20):
        choice.said[:] = answer[:count]
        assert drafter.drafts([choice], 100) == {}
        drafter.note_step(1, STEP_SECONDS, 1)
    assert oracle.asked == 0
