"""The answer's budget before the prompt is counted."""

from __future__ import annotations

import pytest

from troth.domain import Ask, Budget, Plan, ServedModel, Talk
from troth.errors import BadRequest
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings


def decide(asked: int | None, settings: PolicySettings) -> Plan:
    said = Ask(source=Talk(()), budget_tokens=asked, budget_field="max_completion_tokens")
    return Policy([ServedModel("m", "chat", "scripted")], settings, {}).decide(said)


def test_a_budget_above_the_cap_is_left_for_the_prompt_to_clamp() -> None:
    plan = decide(101, PolicySettings(cap_tokens=100))

    assert plan.budget == Budget(101, None, 100)
    assert plan.budget.fit(10, 1000).clamped_from == 101


def test_a_budget_above_the_cap_is_refused_where_the_operator_says_so() -> None:
    with pytest.raises(BadRequest) as caught:
        decide(101, PolicySettings(cap_tokens=100, over_cap="refuse"))

    assert caught.value.param == "max_completion_tokens"
    assert all(word in caught.value.message for word in ("max_completion_tokens", "101", "100", "budget.cap_tokens"))


@pytest.mark.parametrize("asked", [None, 100])
def test_a_budget_within_the_cap_is_never_refused(asked: int | None) -> None:
    assert decide(asked, PolicySettings(cap_tokens=100, over_cap="refuse")).budget.asked_tokens == asked


def test_without_a_cap_nothing_is_above_it() -> None:
    assert decide(10**9, PolicySettings(over_cap="refuse")).budget.cap_tokens is None


@pytest.mark.parametrize(
    ("asked", "default", "origin"), [(5, 9, "request"), (None, 9, "server"), (None, None, "default")]
)
def test_the_budget_has_an_origin(asked: int | None, default: int | None, origin: str) -> None:
    plan = decide(asked, PolicySettings(default_tokens=default))

    assert plan.origins["budget"] == origin
    assert plan.budget.default_tokens == default
