"""config/reference.yaml: complete, current, and a configuration in its own right."""

from __future__ import annotations

from pathlib import Path

import pytest

from troth.config.loader import load
from troth.config.models import SamplingSettings
from troth.config.origins import leaves
from troth.config.reference import render
from troth.config.schema import Config
from troth.engines import registry

FOLDER = Path(__file__).parents[3] / "config"


def loaded(path: Path | None) -> Config:
    return load(path, engine_options=registry.options_of, engine_names=registry.names(), guardable=frozenset()).config


def test_the_checked_in_reference_is_what_the_generator_writes() -> None:
    fresh = render(registry.described())

    assert (FOLDER / "reference.yaml").read_text() == fresh, "run: python -m troth.config.reference"


@pytest.mark.parametrize("name", ["reference.yaml", "default.yaml"])
def test_a_file_of_defaults_equals_the_defaults(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_ENDPOINT", raising=False)

    assert loaded(FOLDER / name) == loaded(None)


def test_the_example_has_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_API_KEY", "k")

    assert loaded(FOLDER / "example.yaml").auth.api_keys == ("k",)


def test_every_setting_and_every_engine_option_is_in_the_reference() -> None:
    text = (FOLDER / "reference.yaml").read_text()
    keys = {str(path[-1]) for path, _, _ in leaves(loaded(None))} | set(SamplingSettings.model_fields)

    assert [key for key in sorted(keys) if f" {key}: " not in text] == []
