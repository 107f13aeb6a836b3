"""The generated models: marks, types, and what they accept."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import openapi_core
import pytest
from connexion.spec import OpenAPISpecification, Specification
from pydantic import RootModel, ValidationError

from codegen.__main__ import GENERATED, OPENAPI, generate
from codegen.bundle import bundle
from codegen.marks import mark_of
from codegen.models import parameters_model
from codegen.source import Source
from troth._generated import models, replies
from troth._generated.models import ChatCompletionRequest, ListModelsParameters, RetrieveModelParameters
from troth._generated.operations import OPERATIONS
from troth.contract import Alias, Clamped, Guarded, Honoured, Inert
from troth.domain import SAMPLERS_KNOWN

DOCUMENT: dict[str, Any] = json.loads((GENERATED / "openapi.json").read_text("utf-8"))
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
EXAMPLES = OPENAPI / "examples"
HELLO = [{"role": "user", "content": "hello"}]


def ask(**fields: Any) -> ChatCompletionRequest:
    """A chat request, read as the edge reads it."""
    return ChatCompletionRequest.model_validate_json(json.dumps({"messages": HELLO, **fields}))


def optional_fields() -> Iterator[str]:
    for name, field in ChatCompletionRequest.model_fields.items():
        if not field.is_required():
            yield field.alias or name


def reply_schema(operation: str, media: str, shape: type = dict) -> str:
    """The name of the schema of an answer of this shape, or of its items or values when it has many."""
    for item in DOCUMENT["paths"].values():
        for each in item.values():
            if each["operationId"] == operation:
                content = each["responses"]["200"]["content"][media]
                schema = content.get("x-event-schema", content["schema"])
                (schema,) = [
                    form for form in schema.get("oneOf", [schema]) if (form.get("type") == "array") == (shape is list)
                ]
                ref: str = schema.get("items", schema.get("additionalProperties", schema))["$ref"]
                return ref.rsplit("/", 1)[1]
    raise AssertionError(operation)


def test_the_marks_of_the_document_are_on_the_fields() -> None:
    marks = {name: field.metadata for name, field in ChatCompletionRequest.model_fields.items()}
    assert Clamped(to="answer_tokens") in marks["max_tokens"]
    assert Alias(of="max_tokens") in marks["n_predict"]
    assert Honoured(neutral={"maxItems": 0}) in marks["tools"]
    assert Guarded() in marks["chat_template"]
    assert Honoured(neutral={"enum": [0]}) in marks["mirostat"]
    assert Inert() in marks["user"]
    assert not any(isinstance(mark, Honoured | Guarded | Inert) for mark in marks["temperature"])


def test_every_contract_class_has_its_mark() -> None:
    assert mark_of({"class": "honoured"}) is None
    assert mark_of({"class": "honoured", "neutral": {"enum": [0]}}) == "Honoured(neutral={'enum': [0]})"
    assert mark_of({"class": "guarded"}) == "Guarded()"
    assert mark_of({"class": "inert"}) == "Inert()"
    assert mark_of({"class": "alias", "of": "n"}) == "Alias(of='n')"
    assert mark_of({"class": "clamped", "to": "answer_tokens"}) == "Clamped(to='answer_tokens')"


def test_no_root_model_is_left() -> None:
    for module in (models, replies):
        assert "RootModel" not in vars(module)
        for each in vars(module).values():
            assert not (isinstance(each, type) and issubclass(each, RootModel))


@pytest.mark.parametrize("name", list(optional_fields()))
def test_an_optional_field_accepts_null(name: str) -> None:
    assert ask(**{name: None}).messages


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
def test_a_message_of_text_is_read_in_both_forms(role: str) -> None:
    parts = [{"type": "text", "text": "hello"}]
    assert ask(messages=[{"role": role, "content": "hello"}, {"role": role, "content": parts}]).messages


def test_results_of_calls_are_read() -> None:
    sent = [{"role": "tool", "content": "4", "tool_call_id": "1"}, {"role": "function", "content": "4", "name": "add"}]
    tool, function = ask(messages=sent).messages
    assert (tool.role, function.role) == ("tool", "function")


@pytest.mark.parametrize(
    ("kind", "field"),
    [("audio_url", "audio_url"), ("input_video", "input_video"), ("file", "file"), ("video_url", "video_url")],
)
def test_a_part_that_is_not_read_yet_is_parsed_and_guarded(kind: str, field: str) -> None:
    (message,) = ask(messages=[{"role": "user", "content": [{"type": kind, field: {"url": "data:,"}}]}]).messages
    assert not isinstance(message.content, str)
    assert message.content is not None
    part = message.content[0]
    assert Guarded() in type(part).model_fields[field].metadata
    with pytest.raises(ValidationError):
        ask(messages=[{"role": "user", "content": [{"type": kind, field: None}]}])


def test_integers_are_read_where_numbers_are_asked() -> None:
    assert ask(temperature=1, top_p=1, presence_penalty=0).temperature == 1


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": "1"},
        {"temperature": -0.1},
        {"temperature": 101},
        {"top_logprobs": 21},
        {"n": 0},
        {"n": True},
        {"max_tokens": 1.0},
        {"max_tokens": -2},
        {"seed": 2**63},
        {"stop": 5},
        {"stream": "true"},
        {"samplers": "qz"},
        {"samplers": ["mystery"]},
        {"logit_bias": {"5": True}},
        {"logit_bias": [[5]]},
        {"repeat_penalty": 0},
        {"messages": []},
        {"messages": [{"role": "wizard", "content": "x"}]},
        {"messages": [{"role": "user"}]},
    ],
)
def test_a_value_out_of_bounds_or_of_another_type_is_refused(fields: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        ask(**fields)


@pytest.mark.parametrize(
    "bias", [{"15043": -100}, {"15043": 0}, {"hello": False}, {"1": 0.5}, [[15043, 1.5], ["a", False]], []]
)
def test_both_forms_of_logit_bias_keep_their_values(bias: Any) -> None:
    read = ask(logit_bias=bias).logit_bias
    assert read == bias
    assert json.dumps(read) == json.dumps(bias)  # 0 stays 0: false would ban the token


def test_stop_and_samplers_are_read_in_both_forms() -> None:
    assert ask(stop="a", samplers="kt").stop == "a"
    assert ask(stop=["a", "b"], samplers=["top_k"]).samplers == ["top_k"]


def test_unknown_fields_are_kept_aside() -> None:
    assert ask(**{"speculative.n_max": 3, "mystery": 1}).model_extra == {"speculative.n_max": 3, "mystery": 1}


def test_the_sampler_names_are_the_domain_s() -> None:
    assert tuple(SCHEMAS["SamplerName"]["enum"]) == SAMPLERS_KNOWN


def test_parameters_are_read_from_their_texts() -> None:
    read = ListModelsParameters.model_validate({"show_all": "true", "X-hal0-Model-Filter": "me"}, strict=False)
    assert (read.show_all, read.X_hal0_Model_Filter, read.owned_by) == (True, "me", None)
    assert RetrieveModelParameters.model_validate({"model_id": "org/model"}, strict=False).model_id == "org/model"
    assert parameters_model("retrieve_model__alias1") == "RetrieveModelParameters"


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*.request.json")), ids=lambda path: path.name)
def test_a_request_example_is_read(path: Path) -> None:
    name = next(row.body_model for row in OPERATIONS.values() if row.handler == path.parent.name)
    assert name is not None
    read = getattr(models, name).model_validate_json(path.read_bytes())
    assert not read.model_extra


@pytest.mark.parametrize(
    "path", sorted(EXAMPLES.glob("*/*.response.json")), ids=lambda path: f"{path.parent.name}.{path.name}"
)
def test_an_answer_example_has_the_published_shape(path: Path) -> None:
    answer = json.loads(path.read_bytes())
    model = getattr(replies, reply_schema(path.parent.name, "application/json", type(answer)))
    answers = answer if isinstance(answer, list) else [answer]
    for each in answer.values() if path.parent.name == "model_slot_metrics" else answers:
        read = model.model_validate_json(json.dumps(each))
        assert path.parent.name == "openapi_document" or not read.model_extra


@pytest.mark.parametrize("path", sorted(EXAMPLES.glob("*/*.stream.txt")), ids=lambda path: path.name)
def test_a_stream_example_is_made_of_published_events(path: Path) -> None:
    model = getattr(replies, reply_schema(path.parent.name, "text/event-stream"))
    *frames, rest = path.read_text("utf-8").split("\n\n")
    assert rest == ""
    # OpenAI's older streams end with a word; the others name their events, or say in the last that it is.
    if path.parent.name in ("create_chat_completion", "create_completion"):
        assert frames.pop() == "data: [DONE]"
    for frame in frames:
        read = model.model_validate_json(frame.rpartition("data: ")[2])
        assert not read.model_extra


def test_the_document_is_bound_by_connexion_and_read_by_openapi_core() -> None:
    assert isinstance(Specification.from_dict(copy.deepcopy(DOCUMENT)), OpenAPISpecification)
    openapi_core.OpenAPI.from_dict(DOCUMENT)


def test_bounded_items_and_headers_of_a_small_source_are_written_in_place(small: Source) -> None:
    files = generate(bundle(small), small.sha256())
    assert "codes: Annotated[list[Annotated[int, Field(ge=0, le=9)]] | None, Guarded()] = None" in files["models.py"]
    assert 'X_Loud: Annotated[bool | None, Field(alias="X-Loud")] = None' in files["models.py"]
    assert "class Said(" in files["replies.py"]
    assert "class Said(" not in files["models.py"]
