"""The document narrowed to what is served."""

from __future__ import annotations

import json

import openapi_core
import pytest

from codegen.__main__ import OPENAPI
from codegen.bundle import bundle
from codegen.source import Source
from codegen.strict_view import strict_view


def test_a_guarded_field_keeps_its_neutral_values_and_null(small: Source) -> None:
    properties = strict_view(bundle(small))["components"]["schemas"]["SayRequest"]["properties"]
    assert properties["accent"]["maxLength"] == 0
    assert properties["accent"]["nullable"] is True
    assert properties["codes"]["enum"] == [None]


def test_aliases_are_left_out(small: Source) -> None:
    properties = strict_view(bundle(small))["components"]["schemas"]["SayRequest"]["properties"]
    assert "words" in properties
    assert "count" not in properties


def test_an_object_that_is_always_refused_leaves_its_unions(small: Source) -> None:
    schemas = strict_view(bundle(small))["components"]["schemas"]
    assert schemas["Turn"]["oneOf"] == [{"$ref": "#/components/schemas/Spoken"}]
    assert schemas["Turn"]["discriminator"]["mapping"] == {"talk": "#/components/schemas/Spoken"}
    assert "Sung" not in schemas


def test_the_document_itself_is_left_as_it_was(small: Source) -> None:
    document = bundle(small)
    before = json.dumps(document)
    strict_view(document)
    assert json.dumps(document) == before


@pytest.mark.parametrize("name", ["VideoUrlPart"])
def test_messages_that_are_not_read_yet_are_left_out(name: str) -> None:
    assert name not in strict_view(bundle(Source(OPENAPI)))["components"]["schemas"]


def test_the_strict_view_is_a_valid_document() -> None:
    openapi_core.OpenAPI.from_dict(strict_view(bundle(Source(OPENAPI))))
