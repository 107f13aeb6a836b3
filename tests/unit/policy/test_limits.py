"""Bounds on one request: the limit itself passes, one more is refused with the config key."""

from __future__ import annotations

from typing import Any

import pytest

from troth.domain import Ask, Plan, ServedModel, Talk
from troth.errors import BadRequest
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings

SETTINGS = PolicySettings(choices_max=2, stop_strings_max=3, stop_bytes_max=10, logit_bias_max=2)


def decide(**said: Any) -> Plan:
    return Policy([ServedModel("m", "chat", "scripted")], SETTINGS, {}).decide(Ask(source=Talk(()), **said))


@pytest.mark.parametrize(
    "said",
    [{"choices": 2}, {"stop": ("a", "b", "c")}, {"stop": ("ééé", "abcd")}, {"logit_bias": ((1, 1.0), (2, 1.0))}],
)
def test_the_limit_itself_is_served(said: dict[str, Any]) -> None:
    decide(**said)


@pytest.mark.parametrize(
    ("said", "field", "number", "key"),
    [
        ({"choices": 3}, "n", "3", "limits.choices_max"),
        ({"stop": ("a", "b", "c", "d")}, "stop", "4", "limits.stop_strings_max"),
        ({"stop": ("ééé", "abcde")}, "stop", "11", "limits.stop_bytes_max"),
        ({"logit_bias": ((1, 1.0),) * 3}, "logit_bias", "3", "limits.logit_bias_max"),
    ],
)
def test_one_past_the_limit_is_refused_by_name(said: dict[str, Any], field: str, number: str, key: str) -> None:
    with pytest.raises(BadRequest) as caught:
        decide(**said)

    assert caught.value.param == field
    assert all(word in caught.value.message for word in (f"`{field}`", number, key))


def test_no_choice_at_all_is_refused() -> None:
    with pytest.raises(BadRequest) as caught:
        decide(choices=0)

    assert caught.value.param == "n"


def test_empty_stop_strings_are_dropped_and_do_not_count() -> None:
    assert decide(stop=("", "a", "", "b", "", "c")).ask.stop == ("a", "b", "c")
