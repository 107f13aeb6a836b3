"""Fields that the engine of the model cannot do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pytest

from troth.domain import Ask, ServedModel, Talk
from troth.errors import Unsupported
from troth.policy.decide import Policy
from troth.policy.terms import PolicySettings

MODEL = ServedModel("m", "chat", "scripted", honours=frozenset({"temperature"}))


@dataclass(frozen=True)
class Rule:
    neutral: Mapping[str, Any] | None


RULES = {"mirostat": Rule({"enum": [0]}), "temperature": Rule(None), "grammar": Rule(None)}


def decide(*given: str) -> None:
    Policy([MODEL], PolicySettings(), RULES).decide(Ask(source=Talk(()), given=frozenset(given)))


def test_fields_that_the_engine_honours_pass() -> None:
    decide("temperature")


def test_a_field_that_the_engine_cannot_do_is_refused_with_its_neutral_value() -> None:
    with pytest.raises(Unsupported) as caught:
        decide("temperature", "mirostat")

    assert caught.value.param == "mirostat"
    assert "`mirostat`" in caught.value.message
    assert "leave it out or send 0" in caught.value.message
    assert "scripted" in caught.value.message


def test_every_undone_field_is_named() -> None:
    with pytest.raises(Unsupported) as caught:
        decide("mirostat", "grammar", "unheard")

    assert caught.value.details["fields"] == ["grammar", "mirostat", "unheard"]
    assert "`grammar`, `mirostat`, `unheard`" in caught.value.message
