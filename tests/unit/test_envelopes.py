"""Refusals in the four shapes."""

from __future__ import annotations

import pytest
from pydantic_core import to_json

from troth.envelopes import HAL0_CODES, clipped, error_body, hal0_code, shape_of
from troth.errors import BadRequest, MethodNotAllowed, OverContext, QueueFull, Refusal

SHAPES = ["openai", "anthropic", "native", "hal0"]


@pytest.mark.parametrize("text", ["a" * 9000, "\x00" * 9000, "猫" * 9000, '"' * 9000])
@pytest.mark.parametrize("shape", SHAPES)
def test_an_error_body_is_under_four_kilobytes_whatever_it_says(text: str, shape: str) -> None:
    body = to_json(error_body(Refusal(text, param=text, code="unknown_field"), shape, "id"))

    assert len(body) < 4096


@pytest.mark.parametrize("length", [1, 340, 341, 342, 2046, 2047])
def test_clipping_keeps_what_fits(length: int) -> None:
    assert clipped("a" * length, 2048) == ("a" * length if length <= 2046 else "a" * 1535)


@pytest.mark.parametrize(
    ("dialect", "shape"), [("openai", "hal0"), ("native", "hal0"), ("anthropic", "anthropic"), ("", "hal0")]
)
def test_hal0s_envelope_is_in_place_of_all_but_anthropics(dialect: str, shape: str) -> None:
    assert shape_of(dialect, "hal0") == shape
    assert shape_of(dialect, "openai") == dialect


def test_hal0s_error_has_three_keys_and_its_facts_in_details() -> None:
    assert error_body(OverContext(9000, 8192), "hal0")["error"] == {
        "code": "request.context_length_exceeded",
        "message": OverContext(9000, 8192).message,
        "details": {"n_prompt_tokens": 9000, "n_ctx": 8192, "n_surplus_tokens": 809, "param": "messages"},
    }


def test_hal0s_details_say_when_to_come_back() -> None:
    assert error_body(QueueFull(64, 3), "hal0")["error"]["details"] == {"retry_after_s": 3}


def test_hal0s_details_name_an_unknown_field_as_hal0_does() -> None:
    refusal = BadRequest("Unknown.", param="mood", code="unknown_field")

    assert error_body(refusal, "hal0")["error"]["details"] == {"param": "mood", "unknown_keys": ["mood"]}


def test_a_missing_model_has_a_code_of_its_own() -> None:
    assert hal0_code(BadRequest("x", param="model", code="missing_required_parameter")) == "request.missing_model"
    assert hal0_code(BadRequest("x", param="input", code="missing_required_parameter")) == "validation.invalid"


def test_a_code_that_hal0_does_not_know_is_its_status() -> None:
    assert hal0_code(MethodNotAllowed("x", code="never_heard_of")) == "system.http_405"


def test_every_code_of_hal0_is_two_words_with_a_dot() -> None:
    assert all(
        len(code.split(".")) == 2 and code.replace(".", "").replace("_", "").isalnum() for code in HAL0_CODES.values()
    )
