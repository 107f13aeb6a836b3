"""A model of another server, which is a second Troth with the real model: every dialect, judged by the document."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import quick
from tests.support.chat import user
from tests.support.judge import LATER, chunks_of
from tests.support.live import LiveServer, config, wait_until

CHAT, COMPLETIONS, RESPONSES, MESSAGES = (
    "/v1/chat/completions",
    "/v1/completions",
    "/v1/responses",
    "/v1/messages",
)
HELLO = [user("Say hello in one short sentence.")]
COLD = {"temperature": 0, "max_tokens": 12}
ADD = {
    "name": "add",
    "parameters": {
        "type": "object",
        "properties": {"a": {"type": "integer", "minimum": 0, "maximum": 9}},
        "required": ["a"],
        "additionalProperties": False,
    },
}


def behind(*servers: LiveServer, **sections: Any) -> dict[str, Any]:
    """The configuration of a Troth before these."""
    options = {"server": "llama_server", "urls": [f"{each.url}/v1" for each in servers], "idle_seconds": 30}
    model = {"id": "near", "aliases": ["agent"], "engine": "upstream", "options": options | sections.pop("options", {})}
    return {"models": [model], **sections}


@pytest.fixture(scope="module")
def far(client: httpx.Client) -> httpx.Client:
    """A client of the server that computes."""
    return client


@pytest.fixture(scope="module")
def near(server: LiveServer, serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of the server in front of it."""
    return connect(serve_with(behind(server)))


def posted(client: httpx.Client, path: str, **body: Any) -> dict[str, Any]:
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json()
    return found


# ---- dialects ---------------------------------------------------------------------------------------


def test_a_chat_answer_is_that_of_the_other_server(near: httpx.Client, far: httpx.Client) -> None:
    mine, other = (posted(each, CHAT, messages=HELLO, **COLD) for each in (near, far))

    assert mine["choices"] == other["choices"]
    assert mine["usage"]["prompt_tokens"] == other["usage"]["prompt_tokens"]
    assert mine["model"] == "near"


def test_a_stream_says_what_the_whole_answer_says(near: httpx.Client) -> None:
    whole = posted(near, CHAT, messages=HELLO, **COLD)
    options = {"stream": True, "stream_options": {"include_usage": True}}

    text = near.post(CHAT, json={"messages": HELLO, **COLD, **options}).text

    *said, counted = chunks_of(text)
    told = "".join(choice["delta"].get("content") or "" for chunk in said for choice in chunk["choices"])
    assert told == whole["choices"][0]["message"]["content"]
    assert counted["usage"]["completion_tokens"] == whole["usage"]["completion_tokens"]
    assert text.endswith("data: [DONE]\n\n")


def test_messages_responses_and_texts_are_answered(near: httpx.Client, far: httpx.Client) -> None:
    said = posted(near, CHAT, messages=HELLO, **COLD)["choices"][0]["message"]["content"]

    message = posted(near, MESSAGES, messages=HELLO, **COLD)
    response = posted(near, RESPONSES, input=HELLO, temperature=0, max_output_tokens=12)
    texts = [posted(each, COMPLETIONS, prompt="Once upon a time", **COLD)["choices"] for each in (near, far)]
    natives = [posted(each, "/completion", prompt="Once upon a time", **COLD)["content"] for each in (near, far)]

    assert message["content"][0]["text"] == response["output"][0]["content"][0]["text"] == said
    assert texts[0] == texts[1]
    assert natives[0] == natives[1]


@pytest.mark.parametrize(
    ("path", "body"),
    [(MESSAGES, {"messages": HELLO, "max_tokens": 5}), (RESPONSES, {"input": "Hello", "max_output_tokens": 5}),
     (COMPLETIONS, {"prompt": "Once", "max_tokens": 5}), ("/completion", {"prompt": "Once", "n_predict": 5})],
)  # fmt: skip
def test_every_dialect_streams(near: httpx.Client, path: str, body: dict[str, Any]) -> None:
    answer = near.post(path, json={**body, "stream": True})

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert '"predicted_n":5' in answer.text


def test_choices_come_with_seeds_of_their_own(near: httpx.Client) -> None:
    asked = {"messages": HELLO, "max_tokens": 8, "temperature": 1.5, "seed": 4}
    several = posted(near, CHAT, n=2, **asked)["choices"]
    alone = posted(near, CHAT, **{**asked, "seed": 5})["choices"][0]

    assert [choice["index"] for choice in several] == [0, 1]
    assert several[1]["message"] == alone["message"]


def test_log_probabilities_are_those_of_the_other_server(near: httpx.Client, far: httpx.Client) -> None:
    asked = {"messages": HELLO, "temperature": 0, "max_tokens": 3, "logprobs": True, "top_logprobs": 2}
    mine, other = (posted(each, CHAT, **asked)["choices"][0]["logprobs"]["content"] for each in (near, far))

    assert [entry["token"] for entry in mine] == [entry["token"] for entry in other]
    assert [len(entry["top_logprobs"]) for entry in mine] == [2, 2, 2]


def test_a_form_is_held(near: httpx.Client) -> None:
    schema: dict[str, Any] = {"type": "object", "properties": {"ok": {"type": "boolean"}}, "required": ["ok"]}
    schema["additionalProperties"] = False
    form = {"type": "json_schema", "json_schema": {"name": "x", "schema": schema}}

    answer = posted(near, CHAT, messages=HELLO, max_tokens=40, response_format=form)

    assert set(json.loads(answer["choices"][0]["message"]["content"])) == {"ok"}


def test_a_demanded_call_is_made(near: httpx.Client) -> None:
    asked = {"tools": [{"type": "function", "function": ADD}], "tool_choice": "required"}

    answer = posted(near, CHAT, messages=HELLO, max_tokens=80, **asked)

    (call,) = answer["choices"][0]["message"]["tool_calls"][:1]
    assert call["function"]["name"] == "add"
    assert set(json.loads(call["function"]["arguments"])) == {"a"}


def test_a_stop_text_is_told_on_messages(near: httpx.Client) -> None:
    said = posted(near, CHAT, messages=HELLO, **COLD)["choices"][0]["message"]["content"]
    word = said.split()[1]

    answer = posted(near, MESSAGES, messages=HELLO, stop_sequences=[word], **COLD)

    assert (answer["stop_reason"], answer["stop_sequence"]) == ("stop_sequence", word)


def test_progress_is_told(near: httpx.Client) -> None:
    text = near.post(CHAT, json={"messages": HELLO, "max_tokens": 2, "stream": True, "return_progress": True}).text

    assert chunks_of(text)[0]["prompt_progress"]["total"] > 0


def test_tokens_are_counted_over_there(near: httpx.Client, far: httpx.Client) -> None:
    prompt = posted(near, CHAT, messages=HELLO, **COLD)["usage"]["prompt_tokens"]

    assert posted(near, "/v1/messages/count_tokens", messages=HELLO)["input_tokens"] == prompt
    assert posted(near, "/v1/responses/input_tokens", input=HELLO)["input_tokens"] == prompt
    for path, body in (("/apply-template", {"messages": HELLO}), ("/tokenize", {"content": "Hello there"})):
        assert posted(near, path, **body) == posted(far, path, **body)
    assert posted(near, "/detokenize", tokens=[19556])["content"] == "Hello"


# ---- refusals ---------------------------------------------------------------------------------------


def test_what_the_other_server_would_drop_is_refused_by_name(near: httpx.Client) -> None:
    answer = near.post(CHAT, json={"messages": HELLO, "handle": "mine"})

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["param"], error["code"], error["details"]["engine"]) == ("handle", "unsupported_value", "upstream")
    table = near.get("/health").json()["contract"][f"POST {CHAT}"]["near"]
    assert "handle" in table["guarded"]
    assert "top_k" in table["honoured"]


def test_a_prompt_that_is_too_long_is_refused_with_counts(near: httpx.Client) -> None:
    answer = near.post(CHAT, json={"messages": [user("word " * 1500)]})

    assert answer.status_code == 400
    error = answer.json()["error"]
    assert (error["code"], error["n_ctx"]) == ("context_length_exceeded", 1024)


@pytest.mark.parametrize("path", ["/slots", "/cache", "/sessions", "/get_tokenizer_info"])
def test_what_the_other_server_keeps_to_itself_is_not_there(near: httpx.Client, path: str) -> None:
    assert near.get(path).status_code == 501


@pytest.mark.parametrize(
    "path", ["/health", "/v1/models", "/v1/models/agent", "/props", "/server_info", "/ping", "/load"]
)
def test_the_status_routes_tell_of_it(near: httpx.Client, server: LiveServer, path: str) -> None:
    answer = near.get(path)

    assert answer.status_code == 200
    assert server.url not in answer.text


# ---- replicas and silences --------------------------------------------------------------------------


@pytest.fixture
def spare(tmp_path: Path) -> Iterator[LiveServer]:
    """A server of its own, to be stopped and killed."""
    (tmp_path / "spare").mkdir()
    server = LiveServer(config([quick(context_tokens=512, slots=1)]), tmp_path / "spare")
    try:
        server.wait_ready()
        yield server
    finally:
        server.kill()


@pytest.fixture
def front(tmp_path: Path) -> Iterator[Any]:
    """`front(settings)`: a server of its own."""
    started: list[LiveServer] = []

    def start(settings: dict[str, Any]) -> LiveServer:
        started.append(LiveServer(settings, tmp_path))
        started[-1].wait_ready()
        return started[-1]

    yield start
    for server in started:
        server.kill()


def test_a_replica_that_was_killed_is_not_missed_and_a_stopped_one_is_cut(
    server: LiveServer, spare: LiveServer, front: Any, connect: Connect
) -> None:
    options = {"idle_seconds": 4.0, "health_seconds": 60.0}
    client = connect(front(behind(spare, server, options=options, errors={"envelope": "hal0"})))
    story = {"messages": HELLO, "max_tokens": 300, "ignore_eos": True, "stream": True}

    with client.stream("POST", CHAT, json=story, extensions=LATER) as answer:
        lines = answer.iter_lines()
        next(lines)
        spare.process.send_signal(signal.SIGSTOP)
        rest = [line for line in lines if line]
    stall = json.loads(rest[-2].removeprefix("data: "))

    assert rest[-1] == "data: [DONE]"
    assert (stall["id"], stall["choices"][0]["finish_reason"]) == ("hal0-stall-guard", "length")
    assert (stall["x_hal0_stall"]["reason"], stall["x_hal0_stall"]["upstream"]) == ("idle", "near/0")

    spare.kill()
    for _ in range(3):
        assert posted(client, CHAT, messages=HELLO, max_tokens=2)["usage"]["completion_tokens"] == 2
    replicas = client.get("/health").json()["models"][0]["details"]["replicas"]
    assert [each["up"] for each in replicas] == [False, True]


def test_a_client_that_hangs_up_frees_the_other_server_at_once(near: httpx.Client, far: httpx.Client) -> None:
    story = {"messages": HELLO, "max_tokens": 900, "ignore_eos": True, "stream": True}
    with near.stream("POST", CHAT, json=story, extensions=LATER) as answer:
        lines = answer.iter_lines()  # held on to: losing it would close the stream
        next(lines)
        assert far.get("/load").json()["running"] == 1

    wait_until(lambda: far.get("/load").json()["running"] == 0, "the other server is idle", 10)
