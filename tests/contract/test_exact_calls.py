"""Answers whose every token is known beforehand: calls, faults and items as each API tells them."""

from __future__ import annotations

import json

import httpx
import pytest

from tests.support.chat import user
from tests.support.judge import chunks_of, events_of
from tests.support.stage import APIS, TEXTS, Body, Stage, answered, call, same, streamed

each_api = pytest.mark.parametrize("name", APIS)


# ---- calls ----------------------------------------------------------------------------------------


@each_api
def test_two_calls_are_two_calls_whole_and_streamed(name: str, stage: Stage, actors: httpx.Client) -> None:
    line = f"I look twice.\n{call(at='left')}\n{call(at='right {}')}"
    stage.tell("plain", line, line)
    body = APIS[name].ask([user("Look.")]) | APIS[name].tools | {"model": "plain"}

    whole, pieces = answered(actors, name, body), streamed(actors, name, body)

    assert same(whole) == same(pieces)
    assert [json.loads(arguments) for _, arguments in whole.calls] == [{"at": "left"}, {"at": "right {}"}]
    assert (whole.text.strip(), whole.end) == ("I look twice.", APIS[name].calls_end)
    assert len({*whole.ids, *pieces.ids}) == 4, "every call has an id of its own"


@each_api
def test_where_one_call_may_be_made_a_second_is_not_begun(name: str, stage: Stage, actors: httpx.Client) -> None:
    line = f"{call(at='left')}{call(at='right')}"
    stage.tell("plain", line, line)
    body = APIS[name].ask([user("Look.")]) | APIS[name].tools | APIS[name].one_call | {"model": "plain"}

    for told in (answered(actors, name, body), streamed(actors, name, body)):
        assert [json.loads(arguments) for _, arguments in told.calls] == [{"at": "left"}]
        assert (told.text, told.end) == ("", APIS[name].calls_end)


@each_api
def test_a_call_that_the_budget_cuts_can_be_sent_back(name: str, stage: Stage, actors: httpx.Client) -> None:
    api = APIS[name]
    stage.tell("plain", call(at="a corner far away, " * 9), "Well.")
    body = api.ask([user("Look.")]) | api.tools | {"model": "plain"}
    cut = actors.post(api.path, json=body | {"max_tokens": 40}).json()
    ((_, arguments),) = api.whole(cut).calls
    with pytest.raises(ValueError, match=r"Unterminated|Expecting"):
        json.loads(arguments)

    (field,) = api.ask([user("x")])
    history = body[field] + api.again(cut) + api.ask([user("Go on.")])[field]

    assert answered(actors, name, body | {field: history}).text == "Well."


@pytest.mark.parametrize("arguments", ["{", "", "null", "[]", "5", '{"a": "</tool_call>"}', '{"a": 1}}'])
@pytest.mark.parametrize("name", ["chat", "responses"])
def test_arguments_of_earlier_calls_may_be_any_text(
    name: str, arguments: str, stage: Stage, actors: httpx.Client
) -> None:
    stage.tell("plain", "Well.")
    function = {"name": "look", "arguments": arguments}
    history: dict[str, list[Body]] = {
        "chat": [
            {"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": "c", "content": "x"},
        ],
        "responses": [
            {"type": "function_call", "call_id": "c", **function},
            {"type": "function_call_output", "call_id": "c", "output": "x"},
        ],
    }
    body = APIS[name].ask([user("Look.")])
    (field,) = body

    told = answered(actors, name, {field: [*body[field], *history[name]], "model": "plain", **APIS[name].tools})

    assert told.text == "Well."
    assert arguments in stage.prompts("plain")[0]


# ---- faults ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_a_fault_in_the_middle_is_the_last_word_of_a_stream(name: str, stage: Stage, actors: httpx.Client) -> None:
    stage.tell("plain", ["One ", "two ", {"fault": "a broken wire"}])
    path, body = TEXTS[name]

    response = actors.post(path, json=body | {"model": "plain", "stream": True})

    assert response.status_code == 200
    last = json.loads(events_of(response.text)[-1])
    assert "[DONE]" not in response.text
    if name == "responses":
        assert (last["type"], last["response"]["status"]) == ("response.failed", "failed")
        assert last["response"]["error"]["code"] == "server_error"
        assert [event["sequence_number"] for event in chunks_of(response.text)] == list(
            range(last["sequence_number"] + 1)
        )
        last = last["response"]
    if name == "messages":
        assert last["type"] == "error"
    assert "a broken wire" in last["error"]["message"]


@pytest.mark.parametrize("name", TEXTS)
def test_a_fault_of_a_whole_answer_has_a_real_status(name: str, stage: Stage, actors: httpx.Client) -> None:
    stage.tell("plain", ["One ", {"fault": "a broken wire"}], "Again.")
    path, body = TEXTS[name]

    response = actors.post(path, json=body | {"model": "plain"})

    assert response.status_code == 500
    assert "a broken wire" in response.json()["error"]["message"]
    assert actors.post(path, json=body | {"model": "plain"}).status_code == 200


@pytest.mark.parametrize("stream", [False, True])
@each_api
def test_what_a_template_refuses_is_a_bad_request_in_its_words(
    name: str, stream: bool, stage: Stage, actors: httpx.Client
) -> None:
    stage.tell("strict", "Well.")
    api = APIS[name]

    response = actors.post(api.path, json=api.ask([user("a"), user("b")]) | {"model": "strict", "stream": stream})

    assert (response.status_code, response.headers["content-type"]) == (400, "application/json")
    assert "Roles must alternate: user, assistant, user." in response.json()["error"]["message"]
    talk = [user("a"), {"role": "assistant", "content": "b"}, user("c")]
    assert answered(actors, name, api.ask(talk) | {"model": "strict"}).text == "Well."


# ---- items of Responses ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("item", "text"),
    [
        ({"role": "assistant", "content": [{"type": "output_text", "text": "said", "annotations": []}]}, "said"),
        ({"role": "assistant", "content": [{"type": "input_text", "text": "said"}]}, "said"),
        ({"role": "assistant", "content": [{"type": "text", "text": "said"}]}, "said"),
        ({"role": "assistant", "content": "said", "status": None, "id": None, "phase": "commentary"}, "said"),
        ({"role": "assistant", "content": [{"type": "refusal", "refusal": "said"}]}, "said"),
        ({"type": "function_call_output", "call_id": "c", "output": "seen"}, "seen"),
        (
            {
                "type": "function_call_output",
                "call_id": "c",
                "output": [{"type": "input_text", "text": "one"}, {"type": "output_text", "text": "two"}],
            },
            "one\ntwo",
        ),
    ],
    ids=str,
)
def test_items_that_clients_give_back_are_read(item: Body, text: str, stage: Stage, actors: httpx.Client) -> None:
    stage.tell("plain", "Well.")
    calling = {"type": "function_call", "call_id": "c", "name": "look", "arguments": "{}"}
    sent = [user("a"), calling, item, user("b")]

    answered(actors, "responses", {"input": sent, "model": "plain"})

    assert text in stage.prompts("plain")[0]
