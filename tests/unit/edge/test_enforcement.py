from __future__ import annotations

from typing import Any

import pytest

from tests.unit.edge.small_server import SmallServer, SpeakRequest
from troth._generated.models import MessagesRequest, ResponsesRequest
from troth.edge.enforcement import Contract, check_guard
from troth.edge.settings import EdgeSettings
from troth.errors import BadRequest, Unsupported

TURN = {"role": "user", "content": "hello"}


def speak(**fields: Any) -> SpeakRequest:
    return SpeakRequest.model_validate({"turns": [TURN], **fields})


@pytest.mark.parametrize(
    "fields",
    [
        {"best_of": 1},
        {"best_of": None},
        {"suffix": ""},
        {"grammar": None},
        {"format": {"type": "text"}},
        {"user": ["anything", 1, {}]},
        {"speculative.n_max": 4},
    ],
)
def test_what_asks_for_nothing_is_accepted_and_not_given(fields: dict[str, Any]) -> None:
    assert Contract(prefixes={"SpeakRequest": {"speculative.": "inert"}}).enforce(speak(**fields)) == {"turns"}


@pytest.mark.parametrize(
    ("field", "value", "accepted"),
    [
        ("best_of", 2, "leave it out or send at most 1"),
        ("suffix", "end", 'leave it out or send ""'),
        ("grammar", "root ::= x", "leave it out"),
        ("format", {"type": "json"}, 'leave it out or send {"type": "text"}'),
    ],
)
def test_a_guarded_field_is_refused_by_name_with_the_value_that_is_accepted(
    field: str, value: Any, accepted: str
) -> None:
    with pytest.raises(Unsupported) as refused:
        Contract().enforce(speak(**{field: value}))

    assert refused.value.param == field
    assert refused.value.code == "unsupported_value"
    assert refused.value.message == f"{field} is not supported here: {accepted}."


def test_given_names_the_honoured_fields_that_ask_for_something() -> None:
    given = Contract().enforce(speak(heat=0.5, bias={}, stream=True, max_tokens=5, n_predict=5))

    assert given == {"turns", "heat", "stream", "max_tokens"}


def test_a_guarded_field_deep_in_the_body_is_named_by_its_path() -> None:
    parts = [{"type": "text", "text": "look"}, {"type": "picture", "picture": {"url": "data:"}}]

    with pytest.raises(Unsupported) as refused:
        Contract().enforce(SpeakRequest.model_validate({"turns": [TURN, {"role": "user", "content": parts}]}))

    assert refused.value.param == "turns.1.content.1.picture"


PLAIN: dict[str, Any] = {"role": "user", "content": [{"type": "text", "text": "look"}]}
RESULT = {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text"}, {"type": "film"}]}


@pytest.mark.parametrize(
    ("block", "path"),
    [
        ({"type": "picture"}, "type"),
        ({"type": "text", "text": "a", "citations": [{}]}, "citations"),
        (
            {"type": "tool_result", "tool_use_id": "c", "content": [{"type": "text"}, {"type": "film"}]},
            "content.1.type",
        ),
    ],
)
def test_a_block_that_is_guarded_is_found_among_plain_ones(block: dict[str, Any], path: str) -> None:
    content = [*PLAIN["content"], block, *PLAIN["content"]]
    body = MessagesRequest.model_validate({"messages": [PLAIN, {"role": "user", "content": content}, PLAIN]})

    with pytest.raises(Unsupported) as refused:
        Contract().enforce(body)

    assert refused.value.param == f"messages.1.content.1.{path}"


def test_an_unknown_field_of_a_part_is_found_among_plain_ones() -> None:
    part = {"type": "input_text", "text": "a"}
    body = ResponsesRequest.model_validate({"input": [{"content": [part]}, {"content": [part, part | {"colour": 1}]}]})

    with pytest.raises(BadRequest) as refused:
        Contract(unknown_fields="refuse").enforce(body)

    assert refused.value.param == "input.1.content.1.colour"


@pytest.mark.parametrize("sent", ["content", "cache_control", "type"])
def test_null_in_a_part_asks_for_nothing(sent: str) -> None:
    body = ResponsesRequest.model_validate({"input": [{"role": "user", "content": "a", sent: None}]})

    assert Contract().enforce(body) == {"input"}


def test_an_alias_folds_into_its_field() -> None:
    request = speak(n_predict=7)

    given = Contract().enforce(request)

    assert request.max_tokens == 7
    assert "max_tokens" in given


def test_a_null_field_gives_way_to_its_alias() -> None:
    request = speak(max_tokens=None, n_predict=7)

    Contract().enforce(request)

    assert request.max_tokens == 7


def test_an_alias_inside_a_nested_object_folds_too() -> None:
    request = speak(stream_options={"usage": True})

    Contract().enforce(request)

    assert request.stream_options is not None
    assert request.stream_options.include_usage is True


@pytest.mark.parametrize(
    ("fields", "names"),
    [
        ({"max_tokens": 5, "n_predict": 6}, ("max_tokens", "n_predict")),
        ({"max_completion_tokens": 5, "n_predict": 6}, ("max_completion_tokens", "n_predict")),
    ],
)
def test_two_names_of_one_field_with_two_values_are_refused_naming_both(
    fields: dict[str, int], names: tuple[str, str]
) -> None:
    with pytest.raises(BadRequest) as refused:
        Contract().enforce(speak(**fields))

    assert refused.value.code == "conflicting_values"
    assert all(name in refused.value.message for name in names)


def test_null_is_as_if_the_field_had_not_been_sent() -> None:
    request = speak(stream=None, heat=None)

    given = Contract().enforce(request)

    assert request.stream is False
    assert given == {"turns"}
    assert request.model_fields_set == {"turns"}


def test_a_field_in_contract_guard_is_refused_as_if_the_document_guarded_it() -> None:
    contract = Contract(guard=frozenset({"bias", "heat"}))

    with pytest.raises(Unsupported) as refused:
        contract.enforce(speak(bias={"5": 1.0}))

    assert refused.value.message == "bias is switched off on this server: leave it out or send {}."
    assert contract.enforce(speak(bias={})) == {"turns"}


def test_a_guard_holds_for_every_spelling_of_its_field() -> None:
    with pytest.raises(Unsupported) as refused:
        Contract(guard=frozenset({"max_tokens"})).enforce(speak(n_predict=5))

    assert refused.value.param == "n_predict"


@pytest.mark.parametrize(
    ("guard", "words"), [("bais", "did you mean bias"), ("n_predict", "another name of max_tokens")]
)
def test_a_guard_that_names_no_field_stops_the_start(guard: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        check_guard((guard,), [SpeakRequest])


def test_unknown_fields_are_ignored_and_only_their_names_are_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level("DEBUG", logger="troth.edge.enforcement"):
        given = Contract().enforce(speak(secret_field="hunter2"))

    assert given == {"turns"}
    assert "secret_field" in caplog.text
    assert "hunter2" not in caplog.text


def test_unknown_fields_are_refused_when_the_operator_says_so_with_the_nearest_name() -> None:
    server = SmallServer(EdgeSettings(unknown_fields="refuse"))

    top = server.say(max_token=5)
    nested = server.say(stream_options={"include_usages": True})

    assert top.status_code == nested.status_code == 400
    assert top.json()["error"]["code"] == "unknown_field"
    assert "max_token (did you mean max_tokens?)" in top.json()["error"]["message"]
    assert nested.json()["error"]["param"] == "stream_options.include_usages"


def test_inert_families_and_nulls_are_never_unknown() -> None:
    server = SmallServer(EdgeSettings(unknown_fields="refuse"))

    fields: dict[str, Any] = {"speculative.n_max": 4, "whatever": None}

    assert server.say(**fields).status_code == 200


def test_a_guarded_field_without_which_its_object_makes_no_sense_asks_to_leave_out_the_object() -> None:
    from troth._generated.models import ChatCompletionRequest

    raw = b'{"messages": [{"role": "user", "content": [{"type": "file", "file": {"file_data": "a"}}]}]}'
    body = ChatCompletionRequest.model_validate_json(raw)

    with pytest.raises(Unsupported, match=r"messages\.0\.content\.0\.file .*: leave out the object that it belongs to"):
        Contract().enforce(body)
