"""The presets make the server behave as their documents say, where the documents differ."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import quick
from tests.support.chat import ask, prompt_tokens, refused, text_of, user
from tests.support.judge import chunks_of
from tests.support.wire import CHAT, chat_body
from troth.cli import main

PRESETS = Path(__file__).parents[2] / "config"
NAMES = ["halogen", "radiance"]


def settings_of(name: str) -> dict[str, Any]:
    settings: dict[str, Any] = yaml.safe_load((PRESETS / f"{name}.yaml").read_text("utf-8"))
    return settings | {"models": [quick(context_tokens=512, slots=2)]}


@pytest.fixture(scope="module")
def radiance(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with Radiance's settings."""
    return connect(serve_with(settings_of("radiance")))


@pytest.fixture(scope="module")
def halogen(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with halogen's settings."""
    return connect(serve_with(settings_of("halogen")))


@pytest.mark.parametrize("name", NAMES)
def test_a_preset_has_no_fault(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(PRESETS / f"{name}.yaml")]) == 0
    assert "no faults" in capsys.readouterr().out


# ---- Radiance -------------------------------------------------------------------------------------

OFF: dict[str, tuple[Any, Any]] = {
    "logit_bias": ({}, {"5": 1}),
    "mirostat": (0, 2),
    "top_n_sigma": (-1, 1.5),
    "dynatemp_range": (0, 0.5),
    "min_keep": (0, 2),
    "post_sampling_probs": (False, True),
    "best_of": (1, 2),
    "suffix": ("", "x"),
    "lora": ([], [{"id": 0, "scale": 1}]),
    "modalities": (["text"], ["audio"]),
    "n_indent": (0, 4),
    "t_max_predict_ms": (0, 100),
    "return_tokens": (False, True),
    "preserved_tokens": ([], ["x"]),
}


@pytest.mark.parametrize("name", OFF)
def test_radiance_guards_what_its_document_guards(radiance: httpx.Client, name: str) -> None:
    off, on = OFF[name]

    ask(radiance, "Hi.", max_tokens=0, **{name: off})
    assert refused(radiance, **{name: on})["param"] == name


def test_radiance_s_first_event_is_the_first_token(radiance: httpx.Client) -> None:
    body = chat_body("Hi. " * 60, max_tokens=2, stream=True, return_progress=True)

    progress, *chunks = chunks_of(radiance.post(CHAT, json=body).text)

    assert progress["choices"] == []
    spoken = [choice["delta"] for chunk in chunks for choice in chunk["choices"]]
    assert [sorted(delta) for delta in spoken[:2]] == [["content", "role"], ["content"]]


def test_radiance_cuts_a_budget_above_the_context_and_says_so(radiance: httpx.Client) -> None:
    timings = ask(radiance, "Say: yes", max_tokens=100_000)["timings"]

    assert timings["max_tokens_clamped_from"] == 100_000


def test_radiance_names_its_own_metrics(radiance: httpx.Client) -> None:
    assert "radiance:http_responses_total" in radiance.get("/metrics").text


# ---- halogen --------------------------------------------------------------------------------------


def test_halogen_sends_the_role_at_once(halogen: httpx.Client) -> None:
    chunks = chunks_of(halogen.post(CHAT, json=chat_body("Hi.", max_tokens=0, stream=True)).text)

    assert chunks[0]["choices"][0]["delta"]["role"] == "assistant"


def test_halogen_refuses_a_budget_above_the_context(halogen: httpx.Client) -> None:
    assert refused(halogen, max_tokens=100_000)["param"] == "max_tokens"


def test_halogen_is_greedy_unless_asked(halogen: httpx.Client) -> None:
    story = "Tell me a story about a lighthouse."

    assert text_of(ask(halogen, story, max_tokens=24)) == text_of(ask(halogen, story, max_tokens=24, seed=9))


def test_halogen_gives_one_choice(halogen: httpx.Client) -> None:
    assert refused(halogen, n=2)["param"] == "n"


def test_halogen_says_later_system_messages_as_the_user(halogen: httpx.Client) -> None:
    leading = [{"role": "system", "content": "Be brief."}, user("Hi.")]

    assert prompt_tokens(halogen, *leading, {"role": "system", "content": "x"}) > prompt_tokens(halogen, *leading) + 3


@pytest.mark.parametrize("names", [("max_tokens", "max_completion_tokens"), ("max_output_tokens", "max_tokens")])
def test_halogen_s_budget_has_three_names_and_one_value(halogen: httpx.Client, names: tuple[str, str]) -> None:
    one, other = names
    same: dict[str, Any] = {one: 2, other: 2}
    assert ask(halogen, "Hi.", **same)["usage"]["completion_tokens"] <= 2
    assert refused(halogen, None, 400, **same | {other: 3})["code"] == "conflicting_values"


def test_halogen_names_its_own_metrics(halogen: httpx.Client) -> None:
    assert "halogen:http_responses_total" in halogen.get("/metrics").text
    assert json.loads(halogen.get("/slots").text)[0]["n_ctx"] == 512
