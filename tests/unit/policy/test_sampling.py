"""Sampling values: which layer wins, and what is no sampler."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from troth.domain import SAMPLER_NAMES, Ask, Plan, ServedModel, Talk
from troth.errors import BadRequest
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings


def decide(
    asked: Mapping[str, Any], model: Mapping[str, Any] | None = None, server: Mapping[str, Any] | None = None
) -> Plan:
    served = ServedModel("m", "chat", "scripted", sampling=model or {})
    return Policy([served], PolicySettings(sampling=server or {}), {}).decide(Ask(source=Talk(()), sampling=asked))


def test_the_request_beats_the_model_and_the_model_beats_the_server() -> None:
    plan = decide(
        {"temperature": 0.1},
        {"temperature": 0.2, "top_k": 2},
        {"temperature": 0.3, "top_k": 3, "top_p": 0.3},
    )

    said = {name: (getattr(plan.sampling, name), plan.origins[name]) for name in ("temperature", "top_k", "top_p")}
    assert said == {"temperature": (0.1, "request"), "top_k": (2, "model"), "top_p": (0.3, "server")}
    assert (plan.sampling.min_p, plan.origins["min_p"]) == (0.05, "default")


def test_whole_numbers_are_floats_where_floats_are_meant() -> None:
    temperature = decide({"temperature": 1}).sampling.temperature

    assert isinstance(temperature, float)


def test_samplers_run_in_the_order_asked_for() -> None:
    assert decide({"samplers": ["temperature", "top_k"]}).sampling.samplers == ("temperature", "top_k")
    assert decide({"samplers": []}).sampling.samplers == ()
    assert decide({"samplers": ["top_k", "infill"]}).sampling.samplers == ("top_k", "infill")
    assert decide({"samplers": list(SAMPLER_NAMES)}).sampling.samplers == SAMPLER_NAMES


@pytest.mark.parametrize(
    ("samplers", "named"), [(["top_k", "magic"], "magic"), (["top_k", "top_k"], "top_k"), (["Top_K"], "Top_K")]
)
def test_unknown_and_doubled_samplers_are_refused_by_name(samplers: list[str], named: str) -> None:
    with pytest.raises(BadRequest, match=named) as caught:
        decide({"samplers": samplers})

    assert caught.value.param == "samplers"


@pytest.mark.parametrize(
    "asked",
    [
        {"samplers": ["infill"]},
        {"samplers": ["infill", "top_k"]},
        {"samplers": ["top_k", "infill"], "top_k": 0},
        {"samplers": ["top_k", "infill"], "top_k": 257},
        {"samplers": ["top_k", "infill"], "min_keep": 257},
    ],
    ids=str,
)
def test_infill_is_refused_where_it_would_compare_too_many_tokens(asked: dict[str, Any]) -> None:
    assert decide({"samplers": ["top_k", "infill"], "top_k": 256}).sampling.top_k == 256
    with pytest.raises(BadRequest, match="infill") as caught:
        decide(asked)

    assert caught.value.param == "samplers"


@pytest.mark.parametrize("breakers", [[], ["\n", ""]])
def test_sequence_breakers_that_break_nothing_are_refused(breakers: list[str]) -> None:
    with pytest.raises(BadRequest) as caught:
        decide({"dry_sequence_breakers": breakers})

    assert caught.value.param == "dry_sequence_breakers"


def test_sequence_breakers_are_kept() -> None:
    assert decide({"dry_sequence_breakers": ["a", "b"]}).sampling.dry_sequence_breakers == ("a", "b")


def test_a_value_that_is_no_sampling_value_is_refused_by_name() -> None:
    with pytest.raises(BadRequest, match="heat"):
        decide({"heat": 1.0})
