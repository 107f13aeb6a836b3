"""The error object inside a stream."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from troth.dialects.faults import fault_frame
from troth.errors import EngineFault, OverContext


def said(shape: str, fault: EngineFault | OverContext) -> dict[str, Any]:
    """The one object in the one frame."""
    frame = fault_frame(shape)(fault).decode()
    assert frame.startswith("data: ")
    assert frame.endswith("\n\n")
    body: dict[str, Any] = json.loads(frame.removeprefix("data: "))
    return body


def test_a_fault_is_said_in_openais_shape() -> None:
    assert said("openai", EngineFault("out of memory")) == {
        "error": {"message": "out of memory", "type": "server_error", "param": None, "code": "engine_error"}
    }


def test_counts_stand_beside_the_message(judge: Callable[[str, Any], None]) -> None:
    error = said("openai", OverContext(100, 90))["error"]

    assert (error["n_prompt_tokens"], error["n_ctx"], error["n_surplus_tokens"]) == (100, 90, 11)


@pytest.mark.parametrize("shape", ["openai", "native", "hal0"])
def test_a_fault_in_every_shape_is_what_the_document_says(shape: str, judge: Callable[[str, Any], None]) -> None:
    judge("Error", said(shape, OverContext(100, 90)))
    judge("Error", said(shape, EngineFault("out of memory")))
