"""What a setting accepts, in words."""

from __future__ import annotations

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, Field

from troth.config.words import Shape


class Inner(BaseModel):
    x: int


class Sample(BaseModel):
    whole: int
    at_least: int = Field(ge=1)
    between: float = Field(ge=0, le=1)
    above: float = Field(gt=0.5)
    at_most: int = Field(le=9)
    inside: float = Field(gt=0, lt=1)
    truth: bool
    text: str
    some_text: str = Field(min_length=1)
    matched: str = Field(pattern="^a$")
    formed: str | None = Field(None, pattern="^a$", json_schema_extra={"form": "the letter a"})
    maybe: int | None
    choice: Literal["red", "blue"]
    only: Literal["red"]
    mixed: Literal["context"] | Annotated[int, Field(ge=1)]
    words: tuple[str, ...]
    inner: Inner
    inners: tuple[Inner, ...] = Field(min_length=1)
    table: dict[str, int]


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("whole", "an integer"),
        ("at_least", "an integer of at least 1"),
        ("between", "a number from 0 to 1"),
        ("above", "a number above 0.5"),
        ("at_most", "an integer of at most 9"),
        ("inside", "a number above 0 and below 1"),
        ("truth", "true or false"),
        ("text", "text"),
        ("some_text", "text, not empty"),
        ("matched", "text that matches ^a$"),
        ("formed", "the letter a or null"),
        ("maybe", "an integer or null"),
        ("choice", 'one of "red", "blue"'),
        ("only", '"red"'),
        ("mixed", '"context" or an integer of at least 1'),
        ("words", "a list, each entry text"),
        ("inner", "a mapping with the keys x"),
        ("inners", "a list of at least 1"),
        ("table", "a mapping"),
    ],
)
def test_what_is_accepted_is_said_in_words(name: str, words: str) -> None:
    assert Shape.of(Sample).child(name).words == words


def test_a_path_leads_through_lists_mappings_and_references() -> None:
    shape = Shape.of(Sample)

    assert shape.at(("inners", 3, "x")).words == "an integer"
    assert shape.at(("table", "any")).words == "an integer"
    assert shape.at(("inners", 0)).names == ("x",)
    assert shape.at(("no", "where", 1)).words == "a value"


def test_a_near_word_is_known_and_a_far_one_is_not() -> None:
    choice = Shape.of(Sample).child("choice")

    assert choice.meant("redd") == "red"
    assert choice.meant("green-ish") is None
    assert choice.meant(3) is None
