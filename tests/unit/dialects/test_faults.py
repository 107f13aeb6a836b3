"""The error object inside a stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from troth.dialects.faults import openai_fault
from troth.errors import EngineFault, OverContext


def test_a_fault_is_said_in_openais_shape() -> None:
    assert openai_fault(EngineFault("out of memory")) == {
        "error": {"message": "out of memory", "type": "server_error", "param": None, "code": "engine_error"}
    }


def test_counts_stand_beside_the_message(judge: Callable[[str, Any], None]) -> None:
    fault = openai_fault(OverContext(100, 90))

    judge("Error", fault)
    error = fault["error"]
    assert (error["n_prompt_tokens"], error["n_ctx"], error["n_surplus_tokens"]) == (100, 90, 11)
