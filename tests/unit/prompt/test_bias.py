"""Logit bias by token."""

from __future__ import annotations

import math

import pytest

from tests.support.scripted import ScriptedVocabulary
from troth.errors import BadRequest
from troth.prompt.bias import by_token

VOCABULARY = ScriptedVocabulary()


def test_ids_are_kept() -> None:
    assert by_token([(5, 1.5), (VOCABULARY.size - 1, -math.inf)], VOCABULARY) == (
        (5, 1.5),
        (VOCABULARY.size - 1, -math.inf),
    )


def test_each_token_of_a_text_gets_the_bias_once() -> None:
    assert by_token([("xyx", 2.0)], VOCABULARY) == ((ord("x"), 2.0), (ord("y"), 2.0))


def test_biases_of_one_token_add_up() -> None:
    assert by_token([(ord("x"), 2.0), ("x", -3.0)], VOCABULARY) == ((ord("x"), -1.0),)


def test_a_text_is_no_control_token() -> None:
    biased = {token for token, _ in by_token([("<|im_end|>", 1.0)], VOCABULARY)}

    assert not biased & VOCABULARY.control_ids


@pytest.mark.parametrize("token", [-1, VOCABULARY.size, 10**12])
def test_an_id_outside_the_vocabulary_is_refused_with_the_size(token: int) -> None:
    with pytest.raises(BadRequest) as caught:
        by_token([(token, 1.0)], VOCABULARY)

    assert caught.value.param == "logit_bias"
    assert str(token) in caught.value.message
    assert str(VOCABULARY.size) in caught.value.message


def test_a_text_without_tokens_is_refused() -> None:
    with pytest.raises(BadRequest, match="empty text"):
        by_token([("", 1.0)], VOCABULARY)
