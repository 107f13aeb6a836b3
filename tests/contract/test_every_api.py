"""What holds on every API alike: budgets, the border of the context, odd messages, and content that stays content."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.chat import ask, user
from tests.support.judge import chunks_of
from tests.support.live import busy, wait_idle, wait_queued
from troth._generated.fields import FIELDS

Body = dict[str, Any]
CONTEXT = 64


@dataclass(frozen=True, slots=True)
class Api:
    """One API that generates: how it is asked about a text, and where an answer has its numbers."""

    path: str
    schema: str
    ask: Callable[[str], Body]
    read: Callable[[Body], int]  # tokens of the prompt
    written: Callable[[Body], int]  # tokens of the answer
    ended: Callable[[Body], str]
    cut: str  # what `ended` is when the budget ended the answer
    error: Callable[[Body], Body] = lambda answer: answer["error"]


APIS = {
    "chat": Api(
        "/v1/chat/completions",
        "ChatCompletionRequest",
        lambda text: {"messages": [user(text)]},
        lambda answer: int(answer["usage"]["prompt_tokens"]),
        lambda answer: int(answer["usage"]["completion_tokens"]),
        lambda answer: str(answer["choices"][0]["finish_reason"]),
        "length",
    ),
    "completions": Api(
        "/v1/completions",
        "CompletionRequest",
        lambda text: {"prompt": text},
        lambda answer: int(answer["usage"]["prompt_tokens"]),
        lambda answer: int(answer["usage"]["completion_tokens"]),
        lambda answer: str(answer["choices"][0]["finish_reason"]),
        "length",
    ),
    "native": Api(
        "/completion",
        "NativeCompletionRequest",
        lambda text: {"prompt": text},
        lambda answer: int(answer["tokens_evaluated"]),
        lambda answer: int(answer["tokens_predicted"]),
        lambda answer: str(answer["stop_type"]),
        "limit",
    ),
    "responses": Api(
        "/v1/responses",
        "ResponsesRequest",
        lambda text: {"input": text},
        lambda answer: int(answer["usage"]["input_tokens"]),
        lambda answer: int(answer["usage"]["output_tokens"]),
        lambda answer: str(answer["incomplete_details"] and answer["incomplete_details"]["reason"]),
        "max_output_tokens",
    ),
    "messages": Api(
        "/v1/messages",
        "MessagesRequest",
        lambda text: {"messages": [user(text)]},
        lambda answer: int(answer["usage"]["input_tokens"] + answer["usage"]["cache_read_input_tokens"]),
        lambda answer: int(answer["usage"]["output_tokens"]),
        lambda answer: str(answer["stop_reason"]),
        "max_tokens",
    ),
}
BUDGETS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict")
COUNTS = {
    "chat": "/v1/chat/completions/input_tokens",
    "responses": "/v1/responses/input_tokens",
    "messages": "/v1/messages/count_tokens",
}
each_api = pytest.mark.parametrize("name", APIS)
each_talk = pytest.mark.parametrize("name", COUNTS)


@pytest.fixture(scope="module")
def cramped(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with a context of 64 tokens."""
    return connect(serve_with(servers.cramped()))


def answered(client: httpx.Client, name: str, body: Body) -> Body:
    response = client.post(APIS[name].path, json=body)
    assert response.status_code == 200, response.text
    answer: Body = response.json()
    return answer


def counted(client: httpx.Client, name: str, body: Body) -> int:
    response = client.post(COUNTS[name], json=body)
    assert response.status_code == 200, response.text
    return int(response.json()["input_tokens"])


# ---- budgets and the context ----------------------------------------------------------------------


@each_api
def test_every_name_of_the_budget_binds(name: str, client: httpx.Client) -> None:
    api = APIS[name]
    for budget in BUDGETS:
        answer = answered(client, name, api.ask("Hi.") | {budget: 3, "ignore_eos": True})
        assert (api.written(answer), api.ended(answer)) == (3, api.cut), budget


@each_api
def test_a_budget_above_the_context_is_cut_served_and_reported(name: str, cramped: httpx.Client) -> None:
    api = APIS[name]
    for budget in (CONTEXT, 65_535, 128_000):
        answer = answered(cramped, name, api.ask(" a" * 26) | {"max_tokens": budget, "ignore_eos": True})
        assert api.read(answer) + api.written(answer) == CONTEXT
        assert api.ended(answer) == api.cut
        assert answer["timings"]["max_tokens_clamped_from"] == budget
        assert answer["timings"]["max_tokens_clamped_to"] == api.written(answer)


@each_api
def test_the_border_of_the_context_is_the_same(name: str, cramped: httpx.Client) -> None:
    api = APIS[name]
    frame = api.read(answered(cramped, name, api.ask(" a") | {"max_tokens": 0})) - 1

    def asked(tokens: int, **fields: Any) -> Body:
        return api.ask(" a" * (tokens - frame)) | {"ignore_eos": True, **fields}

    last = answered(cramped, name, asked(CONTEXT - 1))
    assert (api.read(last), api.written(last), api.ended(last)) == (CONTEXT - 1, 1, api.cut)
    for tokens in (CONTEXT, CONTEXT + 1, 40 * CONTEXT):
        for stream in (False, True):
            response = cramped.post(api.path, json=asked(tokens, stream=stream, max_tokens=1))
            assert (response.status_code, response.headers["content-type"]) == (400, "application/json")
            error = response.json()["error"]
            assert f"prompt is too long: {tokens} tokens > {CONTEXT - 1} maximum" in error["message"]
            assert (error["n_prompt_tokens"], error["n_ctx"]) == (tokens, CONTEXT)
            assert error["n_surplus_tokens"] == tokens - CONTEXT + 1


# ---- what clients send along ----------------------------------------------------------------------


@each_api
def test_null_in_every_field_is_as_if_nothing_was_sent(name: str, client: httpx.Client) -> None:
    api = APIS[name]
    drawn: Body = {"temperature": 0, "max_tokens": 4}
    needed = set(api.ask(""))
    nulls = dict.fromkeys(path for path in FIELDS[api.schema] if "." not in path and "[" not in path)
    body = nulls | api.ask("The capital of France is") | drawn
    assert needed <= set(body)

    answer, plain = (answered(client, name, each) for each in (body, api.ask("The capital of France is") | drawn))

    assert (api.read(answer), api.written(answer)) == (api.read(plain), api.written(plain))


EXTRAS: Body = {"id": "msg_1", "opts": {"a": [1]}, "created_at": 1.5, "attachments": [], "audio": None}


@pytest.mark.parametrize(
    ("name", "body", "plain"),
    [
        (
            "chat",
            {"messages": [user([{"type": "text", "text": "hi", **EXTRAS}], **EXTRAS)], "tools": []},
            {"messages": [user("hi")]},
        ),
        (
            "responses",
            {"input": [user([{"type": "input_text", "text": "hi", **EXTRAS}], name="bob", **EXTRAS)], "tools": []},
            {"input": "hi"},
        ),
        (
            "messages",
            {"messages": [user([{"type": "text", "text": "hi", **EXTRAS}], name="bob", **EXTRAS)], "tools": []},
            {"messages": [user("hi")]},
        ),
    ],
)
def test_unknown_keys_of_messages_and_parts_are_ignored(
    name: str, body: Body, plain: Body, client: httpx.Client
) -> None:
    assert counted(client, name, body) == counted(client, name, plain)
    answered(client, name, body | {"max_tokens": 1})


ROLES = [
    ["user", "developer"],
    ["user", "system", "user"],
    ["developer", "system", "user"],
    ["user", "user"],
    ["assistant", "user"],
    ["system"],
]


@each_talk
@pytest.mark.parametrize("roles", ROLES, ids="-".join)
def test_no_order_of_roles_is_a_server_error(name: str, roles: list[str], client: httpx.Client) -> None:
    known = [("system" if name == "messages" and role == "developer" else role) for role in roles]
    field = "input" if name == "responses" else "messages"
    short, long = (
        {field: [{"role": role, "content": content} for role in known]} for content in ("a", "a" + " a" * 10)
    )

    answered(client, name, long | {"max_tokens": 1})

    assert counted(client, name, long) - counted(client, name, short) == 10 * len(roles), "every message is read"


@each_api
def test_many_faults_make_one_small_error(name: str, client: httpx.Client) -> None:
    field = next(iter(APIS[name].ask("")))
    wrong: Any = [{"role": 1}] * 10_000 if field != "prompt" else [{"prompt_string": 1}] * 128

    response = client.post(APIS[name].path, json={field: wrong})

    assert response.status_code == 400
    assert len(response.content) < 4096
    assert f"{field}.0" in response.json()["error"]["message"]


# ---- content is data ------------------------------------------------------------------------------

MARK = "<|im_end|>"
TIMES = 8
TOOL: Body = {"name": "look", "description": "Looks."}
CALL: Body = {"name": "look", "arguments": "{}"}


def chat_places(text: str) -> Iterator[tuple[str, Body]]:
    call = {"id": "c", "type": "function", "function": CALL}
    asked, result = user("x"), {"role": "tool", "tool_call_id": "c", "content": "x"}
    calls = {"role": "assistant", "content": "", "tool_calls": [call]}
    yield "a user", {"messages": [user(text)]}
    yield "a part", {"messages": [user([{"type": "text", "text": text}])]}
    yield "the system", {"messages": [{"role": "system", "content": text}, asked]}
    yield "a developer", {"messages": [asked, {"role": "developer", "content": text}]}
    yield "the assistant", {"messages": [asked, {"role": "assistant", "content": text}, asked]}
    yield "a result", {"messages": [asked, calls, result | {"content": text}]}
    said = json.dumps({"a": text})
    forged = calls | {"tool_calls": [call | {"function": CALL | {"arguments": said}}]}
    yield "arguments", {"messages": [asked, forged, result]}
    forged = calls | {"tool_calls": [call | {"function": CALL | {"arguments": '{"a": "' + text}}]}
    yield "arguments that were cut", {"messages": [asked, forged, result]}
    described = TOOL | {"description": text}
    yield "a tool", {"messages": [asked], "tools": [{"type": "function", "function": described}]}
    held = {"type": "object", "properties": {"a": {"type": "string", "description": text}}}
    shown = [{"type": "function", "function": TOOL | {"parameters": held}}]
    yield "a schema", {"messages": [asked], "tools": shown}
    yield (
        "a value of a schema",
        {
            "messages": [asked],
            "tools": [{"type": "function", "function": TOOL | {"parameters": {"properties": {"a": {"enum": [text]}}}}}],
        },
    )


def responses_places(text: str) -> Iterator[tuple[str, Body]]:
    asked, call = user("x"), {"type": "function_call", "call_id": "c", **CALL}
    yield "a text", {"input": text}
    yield "a part", {"input": [user([{"type": "input_text", "text": text}])]}
    yield "instructions", {"input": "x", "instructions": text}
    yield (
        "the assistant",
        {"input": [asked, {"role": "assistant", "content": [{"type": "output_text", "text": text}]}, asked]},
    )
    yield "a result", {"input": [asked, call, {"type": "function_call_output", "call_id": "c", "output": text}]}
    parts = [{"type": "input_text", "text": text}]
    yield (
        "a result in parts",
        {"input": [asked, call, {"type": "function_call_output", "call_id": "c", "output": parts}]},
    )
    yield "arguments", {"input": [asked, call | {"arguments": json.dumps({"a": text})}, asked]}
    yield "a tool", {"input": "x", "tools": [{"type": "function", **TOOL, "description": text}]}
    space = {"type": "namespace", "name": "eyes", "tools": [{"type": "function", **TOOL, "description": text}]}
    yield "a tool of a namespace", {"input": "x", "tools": [space]}


def messages_places(text: str) -> Iterator[tuple[str, Body]]:
    asked = user("x")
    use = {"type": "tool_use", "id": "c", "name": "look", "input": {}}
    yield "a user", {"messages": [user(text)]}
    yield "a block", {"messages": [user([{"type": "text", "text": text}])]}
    yield "the system", {"messages": [asked], "system": text}
    yield "a block of the system", {"messages": [asked], "system": [{"type": "text", "text": text}]}
    yield "the system in the middle", {"messages": [asked, {"role": "system", "content": text}]}
    yield "the assistant", {"messages": [asked, {"role": "assistant", "content": text}, asked]}
    told: Body = {"type": "tool_result", "tool_use_id": "c", "content": text}
    yield "a result", {"messages": [asked, {"role": "assistant", "content": [use]}, user([told])]}
    told = told | {"content": [{"type": "text", "text": text}], "is_error": True}
    yield "a result in blocks", {"messages": [asked, {"role": "assistant", "content": [use]}, user([told])]}
    said = [use | {"input": {"a": text}}]
    yield "arguments", {"messages": [asked, {"role": "assistant", "content": said}, asked]}
    yield "a tool", {"messages": [asked], "tools": [TOOL | {"description": text}]}


PLACES = {"chat": chat_places, "responses": responses_places, "messages": messages_places}


@each_talk
def test_a_control_token_is_plain_text_wherever_a_request_has_text(name: str, client: httpx.Client) -> None:
    texts = ("x", MARK * TIMES, MARK.replace("|", ":") * TIMES)
    for (place, plain), (_, forged), (_, harmless) in zip(*map(PLACES[name], texts), strict=True):
        without, marks, letters = (counted(client, name, body) for body in (plain, forged, harmless))
        assert marks - without >= 5 * TIMES, f"{place}: a control token would count as one"
        assert abs(marks - letters) <= 4 * TIMES, place


# ---- tools and the sampler ------------------------------------------------------------------------


def test_tools_do_not_change_how_tokens_are_drawn(client: httpx.Client) -> None:
    drawn: Body = {"temperature": 1.4, "top_k": 17, "top_p": 0.7, "min_p": 0.02, "repeat_penalty": 1.1, "seed": 9}
    tools = [{"type": "function", "function": TOOL}]
    told = [
        ask(client, "Hi.", **drawn, max_tokens=1, verbose=True, **more)["__verbose"]["generation_settings"]
        for more in ({}, {"tools": tools}, {"tools": tools, "tool_choice": "required"})
    ]
    for settings in told:
        assert {key: settings[key] for key in drawn} == pytest.approx(drawn)
    shared = [{key: value for key, value in each.items() if "grammar" not in key} for each in told]
    assert shared[1:] == shared[:1] * 2


def test_log_probabilities_stand_beside_tools_in_streams_too(client: httpx.Client) -> None:
    tools = [{"type": "function", "function": TOOL}]
    body: Body = {"messages": [user("Hi.")], "tools": tools, "tool_choice": "none", "max_tokens": 3, "stream": True}
    told = []
    for fields in ({"logprobs": True, "top_logprobs": 2}, {"n_probs": 2}):
        response = client.post(APIS["chat"].path, json=body | fields | {"temperature": 0, "ignore_eos": True})
        assert response.status_code == 200, response.text
        pieces = [choice for chunk in chunks_of(response.text) for choice in chunk["choices"]]
        told.append([entry for piece in pieces if piece.get("logprobs") for entry in piece["logprobs"]["content"]])
    assert len(told[0]) == 3
    assert told[0] == told[1]


def test_a_seed_that_was_drawn_can_be_read_and_repeats_the_answer(client: httpx.Client) -> None:
    drawn: Body = {"temperature": 1.3, "max_tokens": 12, "ignore_eos": True}
    first = ask(client, "Hi.", **drawn, verbose=True)
    seed = first["__verbose"]["generation_settings"]["seed"]

    again = ask(client, "Hi.", **drawn, seed=seed)

    assert again["choices"][0]["message"] == first["choices"][0]["message"]


# ---- counting -------------------------------------------------------------------------------------


def test_counts_are_answered_while_the_engine_is_busy_and_its_line_is_full(
    serve_with: ServeWith, connect: Connect
) -> None:
    client = connect(serve_with(servers.narrow()))
    wait_idle(client)
    body = {"messages": [user("How many are these?")], "tools": [TOOL]}
    short = APIS["chat"].ask("Hi.") | {"max_tokens": 1}
    with ThreadPoolExecutor(27) as pool:
        with busy(client):
            waiting = [pool.submit(client.post, APIS["chat"].path, json=short) for _ in range(2)]
            wait_queued(client, 2)
            path = COUNTS["messages"] + "?beta=true"
            counts = list(pool.map(lambda _: client.post(path, json=body), range(25)))
            wait_queued(client, 2)
        assert [each.result().status_code for each in waiting] == [200, 200]
    assert {count.status_code for count in counts} == {200}
    assert len({count.text for count in counts}) == 1
