"""The settings themselves."""

from __future__ import annotations

import dataclasses
from typing import get_args

import pytest
from pydantic import BaseModel, ValidationError

from troth.config.models import SamplerName, SamplingSettings
from troth.config.schema import Config, ServerSettings
from troth.config.section import Section
from troth.domain import SAMPLER_NAMES, Sampling


def sections() -> list[type[BaseModel]]:
    return sorted(Section.__subclasses__(), key=lambda section: section.__name__)


def test_sampling_defaults_have_the_names_of_the_domain() -> None:
    assert set(SamplingSettings.model_fields) == {"seed", *(field.name for field in dataclasses.fields(Sampling))}
    assert get_args(SamplerName) == SAMPLER_NAMES


def test_the_built_in_sampling_is_inside_the_bounds_and_of_the_same_types() -> None:
    built_in = dataclasses.asdict(Sampling())

    assert SamplingSettings(**built_in).given() == built_in


def test_only_what_was_set_is_given() -> None:
    assert SamplingSettings(top_k=5).given() == {"top_k": 5}


@pytest.mark.parametrize("section", sections())
def test_every_setting_has_help(section: type[BaseModel]) -> None:
    assert section.__doc__
    if section is not Config:
        assert [name for name, info in section.model_fields.items() if not info.description] == []


@pytest.mark.parametrize("section", sections())
def test_a_setting_named_after_a_unit_declares_it(section: type[BaseModel]) -> None:
    for name, info in section.model_fields.items():
        extra = info.json_schema_extra if isinstance(info.json_schema_extra, dict) else {}
        for unit in ("seconds", "bytes", "tokens"):
            if unit in name.split("_"):
                assert extra.get("unit") == unit, name


def test_a_section_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        setattr(ServerSettings(), "port", 1)  # noqa: B010
