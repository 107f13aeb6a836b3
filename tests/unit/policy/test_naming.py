"""Which model answers."""

from __future__ import annotations

import pytest

from troth.domain import Ask, ServedModel, Talk
from troth.errors import BadRequest, NotFound, NotImplementedHere, Refusal
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings

FIRST = ServedModel("org/first", "chat", "scripted", aliases=("agent", "coder"))
SECOND = ServedModel("second", "chat", "scripted")
EMBEDDER = ServedModel("embedder", "embedding", "scripted")
REFUSE = PolicySettings(unknown_model="refuse")


def chosen(name: str | None, *models: ServedModel, settings: PolicySettings | None = None) -> str:
    return Policy(models, settings or PolicySettings(), {}).decide(Ask(source=Talk(()), model=name)).model.id


def refused(name: str | None, *models: ServedModel, settings: PolicySettings | None = None) -> Refusal:
    with pytest.raises(Refusal) as caught:
        chosen(name, *models, settings=settings)
    return caught.value


@pytest.mark.parametrize("name", [None, ""])
def test_without_a_name_the_first_model_of_the_kind_answers(name: str | None) -> None:
    assert chosen(name, EMBEDDER, FIRST, SECOND, settings=REFUSE) == "org/first"


@pytest.mark.parametrize(("name", "model"), [("org/first", "org/first"), ("coder", "org/first"), ("second", "second")])
def test_a_model_answers_to_its_id_and_its_aliases(name: str, model: str) -> None:
    assert chosen(name, FIRST, SECOND, settings=REFUSE) == model


def test_an_unknown_name_gets_the_default_model() -> None:
    assert chosen("gpt-4o", FIRST) == "org/first"
    assert chosen("gpt-4o", FIRST, SECOND) == "org/first"


@pytest.mark.parametrize("models", [(FIRST,), (FIRST, SECOND)])
def test_an_unknown_name_is_refused_where_the_operator_says_so(models: tuple[ServedModel, ...]) -> None:
    refusal = refused("gpt-4o", *models, settings=REFUSE)

    assert isinstance(refusal, NotFound)
    assert (refusal.code, refusal.param) == ("model_not_found", "model")
    assert all(name in refusal.message for name in ("gpt-4o", "org/first", "agent", "coder"))


def test_a_model_of_another_kind_is_refused_with_its_route() -> None:
    refusal = refused("embedder", FIRST, EMBEDDER)

    assert isinstance(refusal, BadRequest)
    assert refusal.param == "model"
    assert "/v1/embeddings" in refusal.message


def test_a_kind_that_is_not_served_is_not_implemented() -> None:
    refusal = refused("embedder", EMBEDDER)

    assert isinstance(refusal, NotImplementedHere)
    assert "chat" in refusal.message


def test_the_origin_of_the_model_is_the_rule_that_chose_it() -> None:
    policy = Policy([FIRST], PolicySettings(), {})

    assert policy.decide(Ask(source=Talk(()), model="agent")).origins["model"] == "slot"
    assert policy.decide(Ask(source=Talk(()), model="gpt-4o")).origins["model"] == "default"


class Elsewhere:
    """A directory where one model is in memory, and one upstream lists one name."""

    def is_loaded(self, model: str) -> bool:
        return model == "second"

    def lister(self, name: str) -> str | None:
        return "second" if name == "far/away" else None


def ruled(name: str | None, *models: ServedModel, kind: str = "chat") -> tuple[str, str]:
    policy = Policy(models, REFUSE, {}, directory=Elsewhere())
    plan = policy.decide(Ask(source=Talk(()), model=name), kind)
    return plan.model.id, plan.origins["model"]


AGENT = ServedModel("big", "chat", "scripted", slot="agent")
UTILITY = ServedModel("gemma4-it:e2b", "chat", "scripted", slot="utility")


@pytest.mark.parametrize(
    ("name", "model", "rule"),
    [
        ("second", "second", "slot"),
        ("big", "big", "registry"),
        ("agent", "big", "registry"),
        ("agent-hermes", "big", "virtual"),
        ("hal0/agent", "big", "virtual"),
        ("hal0/utility", "gemma4-it:e2b", "virtual"),
        ("hal0/npu", "gemma4-it:e2b", "virtual"),
        ("hal0/coder", "big", "virtual"),
        ("gemma4-it-e2b-FLM", "gemma4-it:e2b", "flm"),
        ("far/away", "second", "passthrough"),
        (None, "big", "default"),
    ],
)
def test_the_rules_of_the_dispatcher_choose_in_their_order(name: str | None, model: str, rule: str) -> None:
    assert ruled(name, AGENT, UTILITY, SECOND) == (model, rule)


def test_a_name_that_hints_at_the_kind_of_the_route_chooses_its_default() -> None:
    assert ruled("text-embedding-3-small", FIRST, EMBEDDER, kind="embedding") == ("embedder", "capability")


def test_virtual_names_are_for_chat_alone() -> None:
    with pytest.raises(NotFound):
        ruled("hal0/agent", FIRST, EMBEDDER, kind="embedding")
