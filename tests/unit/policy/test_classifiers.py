"""How a classifier's numbers become a judgement."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pydantic import ValidationError

from troth.engines.onnx import OnnxClassifierOptions
from troth.moderating import joined
from troth.policy.classifiers import Classifier
from troth.policy.guards import OPENAI_CATEGORIES


def classifier(**more: Any) -> Classifier:
    settings: dict[str, Any] = {
        "labels": ("threat", "rage", "calm"),
        "activation": "sigmoid",
        "safe_labels": frozenset({"calm"}),
        "categories": {"threat": "violence", "rage": "violence"},
    }
    return Classifier(**settings | more)


def numbers(*values: float) -> Any:
    return np.array(values, np.float32)


def test_labels_of_one_category_count_as_the_likelier_of_them_or_together() -> None:
    several = classifier().judge(numbers(0.0, -2.0, 9.0), 0.5)
    one = classifier(activation="softmax").judge(numbers(0.0, 0.0, 0.0), 0.5)

    assert several.categories["violence"] == pytest.approx(0.5)
    assert one.categories["violence"] == pytest.approx(2 / 3)


def test_a_safe_label_says_nothing_wrong_however_likely_it_is() -> None:
    judged = classifier().judge(numbers(-5.0, -5.0, 9.0), 0.5)

    assert (judged.flagged, judged.label, judged.wrong) == (False, "calm", frozenset())
    assert tuple(judged.categories) == OPENAI_CATEGORIES


def test_the_threshold_is_where_a_category_begins_to_be_wrong() -> None:
    assert classifier().judge(numbers(0.0, -9.0, 0.0), 0.5).flagged
    assert not classifier().judge(numbers(0.0, -9.0, 0.0), 0.51).flagged


def test_the_likeliest_label_is_wrong_below_the_threshold_too_where_one_is_true() -> None:
    judged = classifier(activation="softmax", categories={}).judge(numbers(0.2, 0.1, 0.0), 0.9)

    assert (judged.flagged, judged.label, judged.wrong) == (True, "threat", frozenset({"threat"}))


def test_probabilities_are_taken_as_they_are() -> None:
    judged = classifier(activation="none").judge(numbers(0.75, 0.25, -0.1), 0.5)

    assert judged.labels == pytest.approx({"threat": 0.75, "rage": 0.25, "calm": 0.0})
    assert (judged.flagged, judged.wrong) == (True, frozenset({"violence"}))


@pytest.mark.parametrize(("looks", "looked"), [(False, "text"), (True, "image")])
def test_a_category_without_a_label_was_looked_for_in_nothing(looks: bool, looked: str) -> None:
    judged = classifier(looks=looks).judge(numbers(0.0, 0.0, 0.0), 0.5)

    assert judged.applied == dict.fromkeys(OPENAI_CATEGORIES, ()) | {"violence": (looked,)}


def test_what_is_wrong_with_a_part_is_wrong_with_the_whole() -> None:
    well, wrong = (classifier().judge(numbers(value, -9.0, 9.0), 0.5) for value in (-9.0, 9.0))
    seen = classifier(looks=True, categories={}, labels=("nude", "rage", "calm")).judge(numbers(-9.0, 3.0, 0.0), 0.5)
    whole = joined([well, seen, wrong])

    assert (whole.flagged, whole.label, whole.wrong) == (True, "threat", frozenset({"rage", "violence"}))
    assert whole.categories["violence"] == wrong.categories["violence"]
    assert (whole.applied["violence"], whole.applied["rage"]) == (("text",), ("image",))
    assert whole.labels == dict(seen.labels) | dict(wrong.labels)
    assert joined([well]) == well


def test_label_and_shares_are_those_of_the_worst_part() -> None:
    likely = {"labels": ("bad", "calm"), "activation": "none", "categories": {}}
    parts = [classifier(**likely).judge(numbers(share, 1 - share), 0.5) for share in (0.1, 0.9, 0.3)]

    assert joined(parts).labels == parts[1].labels
    assert joined(parts[::2]).labels == parts[2].labels


def test_numbers_of_any_size_are_probabilities() -> None:
    for activation in ("sigmoid", "softmax"):
        judged = classifier(activation=activation).judge(numbers(3e38, -3e38, 0.0), 0.5)
        assert all(0 <= share <= 1 for share in judged.labels.values())


@pytest.mark.parametrize(
    "options",
    [
        {"labels": ()},
        {"labels": ("a", "a")},
        {"labels": ("a",), "safe_labels": ("a",)},
        {"labels": ("a", "b"), "safe_labels": ("c",)},
        {"labels": ("a", "b"), "categories": {"c": "hate"}},
        {"labels": ("a",), "activation": "relu"},
    ],
)
def test_options_that_make_no_classifier_are_faults(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        OnnxClassifierOptions(**options)
