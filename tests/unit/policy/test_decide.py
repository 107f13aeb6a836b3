"""Policy.decide: total, pure, and every choice with its origin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from troth.domain import SAMPLERS_KNOWN, Ask, Plan, Sampling, ServedModel, Talk, Turn
from troth.errors import Refusal
from troth.policy.decide import SEEDS, Policy, draw_seed
from troth.policy.terms import PolicySettings

MODEL = ServedModel("m", "chat", "scripted", aliases=("agent",), honours=frozenset({"temperature", "seed", "stop"}))
SETTINGS = PolicySettings(over_cap="refuse", cap_tokens=100, unknown_model="refuse")

SAMPLING: dict[str, st.SearchStrategy[Any]] = {
    "temperature": st.floats(0, 2) | st.integers(0, 2),
    "top_k": st.integers(-1, 100),
    "samplers": st.lists(st.sampled_from([*SAMPLERS_KNOWN, "magic"]), max_size=4),
    "dry_sequence_breakers": st.lists(st.text(max_size=3), max_size=3),
    "magic": st.none(),
}
ASKS = st.builds(
    Ask,
    source=st.just(Talk(())),
    model=st.none() | st.sampled_from(["", "m", "agent", "other", "embedder"]) | st.text(max_size=4),
    given=st.frozensets(st.sampled_from(["temperature", "stop", "mirostat"])),
    sampling=st.fixed_dictionaries({}, optional=SAMPLING),
    logit_bias=st.lists(st.tuples(st.integers() | st.text(), st.floats(allow_nan=False)), max_size=4).map(tuple),
    seed=st.none() | st.integers(),
    budget_tokens=st.none() | st.integers(-5, 200),
    choices=st.integers(-1, 12),
    stop=st.lists(st.text(), max_size=4).map(tuple),
)


def policy(settings: PolicySettings = SETTINGS, sampling: Mapping[str, Any] | None = None, seed: int = 7) -> Policy:
    served = ServedModel("m", "chat", "scripted", ("agent",), MODEL.honours, sampling or {})
    embedder = ServedModel("embedder", "embedding", "scripted")
    return Policy([served, embedder], settings, {}, draw_seed=lambda: seed)


def ask(**said: Any) -> Ask:
    return Ask(source=Talk((Turn(role="user", text="hi"),)), **said)


@given(ASKS)
def test_every_ask_becomes_a_plan_or_a_refusal(said: Ask) -> None:
    try:
        plan = policy().decide(said)
    except Refusal:
        return
    assert isinstance(plan, Plan)
    assert 0 <= plan.seed < SEEDS
    assert set(plan.origins.values()) <= {"request", "model", "server", "default", "slot"}


@given(ASKS)
def test_the_same_ask_is_decided_the_same_twice(said: Ask) -> None:
    decided = policy()

    def outcome() -> object:
        try:
            return decided.decide(said)
        except Refusal as refusal:
            return refusal.message

    assert outcome() == outcome()


def test_an_ask_that_says_nothing_gets_the_defaults() -> None:
    plan = policy(PolicySettings()).decide(ask())

    assert plan.sampling == Sampling()
    assert plan.budget.asked_tokens is None
    assert set(plan.origins.values()) == {"default"}
    assert set(plan.origins) == {"model", "seed", "budget", *Sampling.__dataclass_fields__}


@pytest.mark.parametrize("said", [None, -1, 4294967295])
def test_an_open_seed_is_drawn(said: int | None) -> None:
    plan = policy(seed=41).decide(ask(seed=said))

    assert (plan.seed, plan.origins["seed"]) == (41, "default")


@pytest.mark.parametrize(
    ("said", "kept"), [(0, 0), (4294967294, 4294967294), (4294967296, 1), (-2, 4294967293), (2**64, 1)]
)
def test_a_given_seed_is_kept_within_its_range(said: int, kept: int) -> None:
    plan = policy(seed=41).decide(ask(seed=said))

    assert (plan.seed, plan.origins["seed"]) == (kept, "request")


def test_a_configured_seed_is_that_of_requests_that_name_none() -> None:
    server = PolicySettings(sampling={"seed": 5})

    def origin_of(decided: Policy, said: int | None) -> tuple[int, str]:
        plan = decided.decide(ask(seed=said))
        return plan.seed, plan.origins["seed"]

    assert origin_of(policy(server, seed=41), None) == (5, "server")
    assert origin_of(policy(server, {"seed": 6}, seed=41), None) == (6, "model")
    assert origin_of(policy(server, seed=41), 9) == (9, "request")
    assert origin_of(policy(server, seed=41), -1) == (41, "default")


def test_drawn_seeds_are_in_range() -> None:
    assert all(0 <= draw_seed() < SEEDS for _ in range(100))


def test_a_default_for_an_unknown_sampling_value_stops_the_start() -> None:
    with pytest.raises(ValueError, match="heat"):
        policy(PolicySettings(sampling={"heat": 1}))
    with pytest.raises(ValueError, match="heat"):
        policy(sampling={"heat": 1})
