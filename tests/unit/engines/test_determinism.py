"""At temperature 0 the answer is the same alone or batched, cached or not, in any chunking, with drafts or without."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.determinism import CIRCUMSTANCES, Circumstance, streams

COUNT, ANSWER_TOKENS = 8, 24


@pytest.fixture(scope="module")
def alone(embedded_model: Path) -> list[list[int]]:
    answers, promised = streams(embedded_model, Circumstance(), COUNT, ANSWER_TOKENS)
    assert promised
    return answers


@pytest.mark.parametrize("name", ["batched by 8", "all together"])
def test_the_answers_are_those_that_each_prompt_gets_alone(
    embedded_model: Path, alone: list[list[int]], name: str
) -> None:
    answers, promised = streams(embedded_model, CIRCUMSTANCES[name], COUNT, ANSWER_TOKENS)

    assert promised
    assert answers == alone


def test_the_fast_setting_promises_nothing(embedded_model: Path) -> None:
    _, promised = streams(embedded_model, Circumstance(), 1, 1, determinism="fast")

    assert not promised
