"""Which adapters an answer is computed with."""

from __future__ import annotations

from typing import Any

import pytest

from troth.domain import NO_ADAPTERS, Adapters, Ask, RawText, ServedModel
from troth.errors import BadRequest
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings

PLAIN = ServedModel("plain", "chat", "scripted")
ADAPTED = ServedModel("adapted", "chat", "scripted", loras=(1.0, 0.0, 0.5), control_vector=True)
OFF = ServedModel("off", "chat", "scripted", control_vector=False)


def chosen(model: ServedModel, **said: Any) -> Adapters:
    return Policy([model], PolicySettings(), {}).decide(Ask(source=RawText(("a",)), **said)).adapters


@pytest.mark.parametrize(
    ("model", "said", "adapters"),
    [
        (PLAIN, {}, NO_ADAPTERS),
        (PLAIN, {"loras": (), "control_vector": False}, NO_ADAPTERS),
        (ADAPTED, {}, Adapters(((0, 1.0), (2, 0.5)), control=True)),
        (ADAPTED, {"loras": ()}, Adapters((), control=True)),
        (ADAPTED, {"loras": ((2, 2.0), (1, 1.0))}, Adapters(((1, 1.0), (2, 2.0)), control=True)),
        (ADAPTED, {"loras": ((0, 0.0),), "control_vector": False}, NO_ADAPTERS),
        (OFF, {}, NO_ADAPTERS),
        (OFF, {"control_vector": True}, Adapters((), control=True)),
    ],
)
def test_a_request_chooses_or_the_operator_does(model: ServedModel, said: Any, adapters: Adapters) -> None:
    assert chosen(model, **said) == adapters


@pytest.mark.parametrize(
    ("model", "said", "param", "words"),
    [
        (PLAIN, {"loras": ((0, 1.0),)}, "lora", "`options.lora`"),
        (PLAIN, {"control_vector": True}, "control_vector", "`options.control_vector`"),
        (ADAPTED, {"loras": ((3, 1.0),)}, "lora.0.id", "adapters 0 to 2"),
        (ADAPTED, {"loras": ((1, 1.0), (1, 0.0))}, "lora.1.id", "named before"),
    ],
)
def test_what_there_is_not_is_refused_by_name(model: ServedModel, said: Any, param: str, words: str) -> None:
    with pytest.raises(BadRequest, match=words) as refused:
        chosen(model, **said)
    assert refused.value.param == param


def test_every_combination_has_a_key_of_its_own() -> None:
    sets = [
        Adapters(loras, control) for loras in ((), ((0, 1.0),), ((1, 1.0),), ((0, 0.5),)) for control in (False, True)
    ]
    assert len({each.key for each in sets}) == len(sets)
    assert NO_ADAPTERS.key == ""
