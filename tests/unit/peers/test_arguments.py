"""llama-server's command line as a configuration."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.peers.arguments import LEFT_OUT, TEMPLATES, Unknown, configuration
from troth.config.loader import load
from troth.engines import registry

PRESET = [
    *("--port", "8080", "--temp", "0.8", "--seed", "42", "--host", "127.0.0.1", "--offline", "--hf-repo", "org/tiny"),
    *("--batch-size", "16", "--no-slots", "--alias", "tiny,fim,code", "--ctx-size", "512", "--parallel", "2"),
    *("--n-predict", "64", "--api-key", "secret", "--no-jinja"),
]


def test_what_the_tests_give_is_a_configuration_without_faults(tmp_path: Path) -> None:
    file = tmp_path / "troth.yaml"
    file.write_text(yaml.safe_dump(configuration(PRESET, tmp_path)), "utf-8")
    loaded = load(
        file,
        sets=[],
        flags={},
        engine_options=registry.options_of,
        engine_names=registry.names(),
        guardable=frozenset(),
    )

    config = loaded.config
    (model,) = config.models
    assert (config.server.port, config.auth.api_keys) == (8080, ("secret",))
    assert (model.id, model.aliases) == ("code", ("fim", "tiny"))
    assert (model.options.context_tokens, model.options.slots, model.options.batch_tokens) == (256, 2, 32)
    assert (config.sampling.temperature, config.sampling.seed, config.budget.default_tokens) == (0.8, 42, 64)


@pytest.mark.parametrize(
    ("options", "tokens"),
    [(["--parallel", "4"], 128), (["--parallel", "4", "--kv-unified"], 512), ([], 512)],
)
def test_slots_share_the_context_unless_it_is_unified(options: list[str], tokens: int, tmp_path: Path) -> None:
    settings = configuration(["--ctx-size", "512", *options], tmp_path)

    assert settings["models"][0]["options"]["context_tokens"] == tokens


def test_no_limit_is_no_budget(tmp_path: Path) -> None:
    assert configuration(["--n-predict", "-1"], tmp_path)["budget"] == {}


def test_a_template_is_a_file_a_known_name_or_a_text(tmp_path: Path) -> None:
    def template(*options: str) -> Path:
        return Path(configuration(options, tmp_path)["models"][0]["chat_template"])

    assert template("--chat-template-file", "a.jinja") == Path("a.jinja").absolute()
    assert template("--chat-template", "chatml") == TEMPLATES / "chatml.jinja"
    assert template("--chat-template", "This is no template").read_text("utf-8") == "This is no template"


def test_an_option_without_a_counterpart_ends_the_start_by_name(tmp_path: Path) -> None:
    with pytest.raises(Unknown, match="--lora"):
        configuration(["--lora", "a.gguf"], tmp_path)


def test_every_option_that_is_left_out_says_why() -> None:
    assert all(reason for _, reason in LEFT_OUT.values())
