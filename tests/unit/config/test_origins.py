"""Where each value came from."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from troth.config.loader import Loaded
from troth.config.origins import MASK, effective, leaves

Load = Callable[..., Loaded]


def test_each_setting_knows_its_layer(loading: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_TEST_KEY", "k")
    monkeypatch.setenv("HF_TOKEN", "t")

    origins = loading(
        "server:\n  host: a\n  port: 1\nauth:\n  api_keys:\n    - ${env:TROTH_TEST_KEY}\n    - other\n"
        "models:\n  - id: m\n    source: m.gguf\n    options: {slots: 2}\n",
        sets=("stream.keepalive_seconds=3", "models.0.options.context_tokens=64"),
        flags={"server.port": 2},
    ).origins

    assert origins["server.host"] == "troth.yaml:2"
    assert origins["server.port"] == "--port"
    assert origins["server.cors"] == "default"
    assert origins["auth.api_keys"] == "troth.yaml:5 ${env:TROTH_TEST_KEY}"
    assert origins["models.0.id"] == "troth.yaml:9"
    assert origins["models.0.engine"] == "default"
    assert origins["models.0.options.slots"] == "troth.yaml:11"
    assert origins["models.0.options.context_tokens"] == "--set"
    assert origins["models.0.options.name"] == "default"
    assert origins["stream.keepalive_seconds"] == "--set"
    assert origins["hub.token"] == "environment HF_TOKEN"


def test_a_list_changed_in_one_place_has_both_origins(loading: Load) -> None:
    origins = loading("contract:\n  guard: [seed]", sets=("contract.guard.1=logit_bias",)).origins

    assert origins["contract.guard"] == "troth.yaml:2, --set"


def test_a_whole_entry_that_was_set_has_one_origin(loading: Load) -> None:
    origins = loading(sets=("models=[{id: a, source: a.gguf, options: {slots: 2}}]",)).origins

    assert origins["models.0.id"] == "--set"
    assert origins["models.0.options.slots"] == "--set"
    assert origins["models.0.aliases"] == "default"


def test_the_embedded_model_is_a_default(loading: Load) -> None:
    assert loading().origins["models.0.source"] == "default"
    assert loading(sets=("server.port=1",)).origins["models.0.source"] == "default"


def test_every_setting_has_an_origin(loading: Load) -> None:
    loaded = loading("log: {level: debug}")

    assert set(loaded.origins) == {".".join(map(str, path)) for path, _, _ in leaves(loaded.config)}


def test_secrets_are_masked_and_their_number_is_told(loading: Load) -> None:
    loaded = loading("auth: {api_keys: [sesame, other]}\nhub: {token: hf_secret}")

    settings = {setting.key: setting.value for setting in effective(loaded.config, loaded.origins)}

    assert settings["auth.api_keys"] == [MASK, MASK]
    assert settings["hub.token"] == MASK
    assert not any(secret in repr(loaded.config) for secret in ("sesame", "hf_secret"))


def test_unset_sampling_is_shown_with_the_built_in_value(loading: Load) -> None:
    loaded = loading("models: [{id: m, source: m.gguf, sampling: {top_k: 1}}]\nsampling: {min_p: 0.2}")

    settings = {setting.key: setting.value for setting in effective(loaded.config, loaded.origins)}

    assert settings["sampling.temperature"] == 0.8
    assert settings["sampling.min_p"] == 0.2
    assert settings["models.0.sampling.top_k"] == 1
    assert "models.0.sampling.temperature" not in settings
