"""Joining the files into one document."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from codegen.__main__ import OPENAPI, as_json
from codegen.bundle import bundle, handler_of, operations
from codegen.source import Source, SourceError

Edit = Callable[[str, str, str], Source]
Write = Callable[[dict[str, str | None]], Source]


def test_the_same_files_give_the_same_bytes() -> None:
    assert as_json(bundle(Source(OPENAPI))) == as_json(bundle(Source(OPENAPI)))


def test_no_reference_leaves_the_document(small: Source) -> None:
    text = json.dumps(bundle(small))
    assert ".yaml" not in text
    assert '"$ref": "#/components/schemas/Said"' in text


def test_discriminator_mappings_become_local(small: Source) -> None:
    mapping = bundle(small)["components"]["schemas"]["Turn"]["discriminator"]["mapping"]
    assert mapping == {"song": "#/components/schemas/Sung", "talk": "#/components/schemas/Spoken"}


def test_a_path_named_again_is_an_alias_with_an_id_of_its_own(small: Source) -> None:
    found = {path: operation for path, _, operation in operations(bundle(small))}
    assert found["/v1/say"]["operationId"] == "say"
    assert found["/say"]["operationId"] == "say__alias1"
    assert found["/say"]["x-alias-of"] == "say"
    assert handler_of(found["/say"]["operationId"]) == "say"


def test_a_component_name_used_twice_is_refused(write: Write) -> None:
    source = write({"schemas/other.yaml": "Said: {type: object}"})
    with pytest.raises(SourceError, match=r"Said is defined twice: schemas/other.yaml and schemas/talk.yaml"):
        bundle(source)


def test_an_operation_id_used_twice_is_refused(edit: Edit) -> None:
    contents = "  /say: {$ref: 'paths/talk.yaml#/say'}"
    source = edit("openapi.yaml", contents, "  /sing: {$ref: 'paths/more.yaml#/sing'}")
    source.files["paths/more.yaml"] = {"sing": {"get": {"operationId": "say"}}}
    with pytest.raises(SourceError, match="operationId say is used twice: post /v1/say and get /sing"):
        bundle(source)


def test_a_reference_to_a_piece_of_a_component_is_refused(edit: Edit) -> None:
    source = edit("responses/errors.yaml", "talk.yaml#/Said", "talk.yaml#/Said/properties/text")
    with pytest.raises(SourceError, match="does not point at a component"):
        bundle(source)


def test_examples_are_embedded_where_they_belong(small: Source) -> None:
    operation = bundle(small)["paths"]["/v1/say"]["post"]
    request = operation["requestBody"]["content"]["application/json"]["examples"]
    answers = operation["responses"]["200"]["content"]
    assert request["hello"]["value"]["turns"][0]["text"] == "hello"
    assert answers["application/json"]["examples"]["hello"]["value"] == {"text": "hello"}
    assert answers["text/event-stream"]["examples"]["hello"]["value"].startswith("data: ")


def test_the_component_of_a_body_names_its_model(small: Source) -> None:
    assert bundle(small)["components"]["schemas"]["SayRequest"]["x-model"] == "SayRequest"
