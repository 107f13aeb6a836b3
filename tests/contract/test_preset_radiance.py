"""The promises of Radiance's document on text routes, one by one, under its preset. What differs from the defaults
is in test_presets; tools, reasoning and forms of an answer have tests of their own."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.contract.test_presets import settings_of
from tests.support.chat import ask, refused, text_of, user
from tests.support.judge import chunks_of, events_of
from tests.support.wire import CHAT, chat_body
from troth.cli import main

COMPLETIONS = "/v1/completions"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
HI = [user("Hi.")]
STOP_TOKEN = "<|im_end|>"

SAID: dict[str, dict[str, Any]] = {
    CHAT: {"messages": HI, "max_tokens": 1},
    COMPLETIONS: {"prompt": "Hi.", "max_tokens": 1},
    MESSAGES: {"messages": HI, "max_tokens": 1},
    RESPONSES: {"input": "Hi.", "max_output_tokens": 16},
    "/completion": {"prompt": "Hi.", "n_predict": 1},
}


@pytest.fixture(scope="module")
def radiance(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with Radiance's settings."""
    return connect(serve_with(settings_of("radiance")))


def posted(client: httpx.Client, path: str, **body: Any) -> Any:
    """The answer, which is a 200."""
    answer = client.post(path, json=body)
    assert answer.status_code == 200, answer.text
    return answer.json()


# ---- endpoints ----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", SAID)
def test_the_model_is_accepted_and_not_enforced(radiance: httpx.Client, path: str) -> None:
    answer = posted(radiance, path, **SAID[path], model="some-model-of-a-client")

    assert answer["model"] == "smollm2-135m"


@pytest.mark.parametrize(
    ("short", "path", "body"),
    [
        ("/chat/completions", CHAT, SAID[CHAT]),
        ("/chat/completions/input_tokens", "/v1/chat/completions/input_tokens", {"messages": HI}),
        ("/responses", RESPONSES, SAID[RESPONSES]),
    ],
)
def test_a_shorthand_answers_as_its_route(radiance: httpx.Client, short: str, path: str, body: dict[str, Any]) -> None:
    assert sorted(posted(radiance, short, **body)) == sorted(posted(radiance, path, **body))


def test_completions_without_v1_are_llama_servers(radiance: httpx.Client) -> None:
    answer = posted(radiance, "/completions", prompt="Hi.", n_predict=1)

    assert {"content", "stop_type", "timings"} <= set(answer)


def test_a_model_is_told_of_with_its_length_root_and_capabilities(radiance: httpx.Client) -> None:
    listed = radiance.get("/v1/models").json()["data"][0]

    assert listed["max_model_len"] == 512
    assert listed["root"]
    assert listed["capabilities"]["chat"] is True
    assert radiance.get(f"/v1/models/{listed['id']}").json() == listed
    assert radiance.get("/models").json()["data"][0] == listed
    assert radiance.get(f"/models/{listed['id']}").json() == listed


@pytest.mark.parametrize(
    ("method", "path"), [("GET", "/health"), ("GET", "/v1/health"), ("GET", "/ping"), ("POST", "/ping")]
)
def test_the_signs_of_life_are_ok(radiance: httpx.Client, method: str, path: str) -> None:
    assert radiance.request(method, path).json()["status"] == "ok"


@pytest.mark.parametrize(
    ("path", "keys"),
    [
        ("/load", {"server_load", "queue_cap", "running", "waiting"}),
        ("/version", {"version", "engine"}),
        ("/props", {"total_slots", "default_generation_settings", "chat_template", "modalities"}),
        ("/server_info", {"server", "request_defaults", "capabilities", "endpoints", "engine"}),
        ("/sessions", {"enabled", "sessions"}),
        ("/get_tokenizer_info", {"tokenizer_class", "vocab_size", "model_max_length", "chat_template"}),
    ],
)
def test_the_server_tells_of_itself(radiance: httpx.Client, path: str, keys: set[str]) -> None:
    assert keys <= set(radiance.get(path).json())


def test_the_prompt_is_shown_and_counted(radiance: httpx.Client) -> None:
    shown = posted(radiance, "/apply-template", messages=HI)["prompt"]
    count = posted(radiance, "/v1/chat/completions/input_tokens", messages=HI)["input_tokens"]

    assert shown.endswith("<|im_start|>assistant\n")
    assert posted(radiance, "/tokenize", prompt=shown)["count"] == count
    assert ask(radiance, "Hi.", max_tokens=0)["usage"]["prompt_tokens"] == count


@pytest.mark.parametrize("by", ["label", "query"])
def test_a_stored_conversation_is_forgotten_by_its_label_or_id(radiance: httpx.Client, by: str) -> None:
    ask(radiance, f"Remember the {by}. " * 40, max_tokens=1, session_id=f"talk-{by}")
    session = next(each for each in radiance.get("/sessions").json()["sessions"] if each["label"] == f"talk-{by}")
    path = f"/sessions/talk-{by}" if by == "label" else f"/sessions?id={session['id']}"

    assert radiance.delete(path).json()["deleted"] >= 1
    assert radiance.delete(path).status_code == 404


def test_every_cached_prefix_is_dropped(radiance: httpx.Client) -> None:
    text = "A long text about rivers. " * 30
    ask(radiance, text, max_tokens=1)

    assert radiance.post("/reset_prefix_cache").json()["entries_dropped"] >= 1
    assert ask(radiance, text, max_tokens=1)["usage"]["prompt_tokens_details"]["cached_tokens"] == 0


def test_a_path_that_nothing_serves_is_a_json_404(radiance: httpx.Client) -> None:
    answer = radiance.get("/v1/nothing")

    assert (answer.status_code, answer.json()["error"]["code"]) == (404, "not_found")


# ---- texts and tokens ----------------------------------------------------------------------------


def test_control_tokens_of_a_text_are_read_as_tokens(radiance: httpx.Client) -> None:
    assert posted(radiance, "/tokenize", prompt=STOP_TOKEN)["count"] == 1
    answer = posted(radiance, COMPLETIONS, prompt=f"Hi{STOP_TOKEN}", max_tokens=0)
    assert answer["usage"]["prompt_tokens"] == 2


def test_both_shapes_of_tokenising_are_answered_and_reversed(radiance: httpx.Client) -> None:
    vllm = posted(radiance, "/tokenize", prompt="A river.", return_token_strs=True)
    llama = posted(radiance, "/tokenize", content="A river.", with_pieces=True)

    assert [piece["id"] for piece in llama["tokens"]] == vllm["tokens"]
    assert vllm["max_model_len"] == 512
    back = posted(radiance, "/detokenize", tokens=vllm["tokens"])
    assert (back["prompt"], back["content"]) == ("A river.", "A river.")


def test_a_conversation_is_tokenised_as_it_would_be_asked(radiance: httpx.Client) -> None:
    assert (
        posted(radiance, "/tokenize", messages=HI)["count"]
        == ask(radiance, "Hi.", max_tokens=0)["usage"]["prompt_tokens"]
    )


def test_a_completion_takes_a_text_or_ids_and_echoes_it(radiance: httpx.Client) -> None:
    ids = posted(radiance, "/tokenize", prompt="A river")["tokens"]

    for prompt in ("A river", ids):
        text = posted(radiance, COMPLETIONS, prompt=prompt, max_tokens=1, echo=True)["choices"][0]["text"]
        assert text.startswith("A river")


def test_up_to_twenty_alternatives_are_told(radiance: httpx.Client) -> None:
    chosen = ask(radiance, "Hi.", max_tokens=1, logprobs=True, top_logprobs=20)["choices"][0]["logprobs"]["content"][0]

    assert len(chosen["top_logprobs"]) == 20
    assert refused(radiance, logprobs=True, top_logprobs=21)["param"] == "top_logprobs"
    raw = posted(radiance, COMPLETIONS, prompt="Hi.", max_tokens=1, logprobs=20, temperature=0, ignore_eos=True)
    assert len(raw["choices"][0]["logprobs"]["tokens"]) == 1


def test_echo_does_not_go_with_logprobs(radiance: httpx.Client) -> None:
    answer = radiance.post(COMPLETIONS, json={"prompt": "Hi.", "echo": True, "logprobs": 1})

    assert answer.status_code == 400


# ---- streaming ----------------------------------------------------------------------------------


def test_a_stream_ends_with_its_usage_and_done(radiance: httpx.Client) -> None:
    body = chat_body("Count to ten.", max_tokens=3, stream=True, stream_options={"include_usage": True})

    events = events_of(radiance.post(CHAT, json=body).text)

    assert events[-1] == "[DONE]"
    last = json.loads(events[-2])
    assert last["choices"] == []
    assert last["usage"]["completion_tokens"] <= 3


def test_every_chunk_is_timed_when_asked(radiance: httpx.Client) -> None:
    body = chat_body("Count to ten.", max_tokens=3, stream=True, timings_per_token=True)

    chunks = chunks_of(radiance.post(CHAT, json=body).text)

    said = [chunk for chunk in chunks for choice in chunk["choices"] if choice["delta"].get("content")]
    assert said
    assert all("timings" in chunk for chunk in said)


# ---- fields -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "n_predict"])
def test_the_budget_has_three_spellings(radiance: httpx.Client, name: str) -> None:
    assert ask(radiance, "Tell me a story.", ignore_eos=True, **{name: 3})["usage"]["completion_tokens"] == 3


@pytest.mark.parametrize("fields", [{}, {"n_predict": -1}])
def test_without_a_limit_the_context_is_the_limit(radiance: httpx.Client, fields: dict[str, Any]) -> None:
    whole = ask(radiance, "word " * 450, ignore_eos=True, **fields)

    assert whole["usage"]["total_tokens"] == 512
    assert whole["choices"][0]["finish_reason"] == "length"


@pytest.mark.parametrize(
    "fields",
    [
        {"temperature": 0.5, "top_p": 0.9, "top_k": 10, "min_p": 0.1, "typical_p": 0.9},
        {"presence_penalty": 0.1, "frequency_penalty": 0.1, "repetition_penalty": 1.1, "repeat_last_n": 32},
        {"repeat_penalty": 1.1},
        {"xtc_probability": 0.1, "xtc_threshold": 0.2},
        {"dry_multiplier": 0.5, "dry_base": 1.5, "dry_allowed_length": 3, "dry_penalty_last_n": 64},
        {"samplers": ["penalties", "dry", "top_k", "top_p", "min_p", "typ_p", "xtc", "temperature"]},
        {"samplers": ["temperature", "penalties", "dry", "top_k", "top_p", "min_p", "typ_p", "xtc"]},
        {"seed": 1, "n": 2, "stop": ["a", "b"], "priority": 1},
        {"stop": "a"},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_a_listed_field_is_served(radiance: httpx.Client, fields: dict[str, Any]) -> None:
    assert ask(radiance, "Hi.", max_tokens=2, **fields)["choices"]


def test_a_seed_that_is_absent_is_not_zero(radiance: httpx.Client) -> None:
    body = {"max_tokens": 24, "temperature": 1.5}
    texts = {text_of(ask(radiance, "Tell me a story.", **body)) for _ in range(4)}

    assert len(texts) > 1


def test_stop_strings_are_bounded(radiance: httpx.Client) -> None:
    assert refused(radiance, stop=["x"] * 65)["param"] == "stop"
    assert refused(radiance, stop="x" * 4097)["param"] == "stop"


def test_a_control_vector_that_is_not_there_is_refused(radiance: httpx.Client) -> None:
    assert refused(radiance, control_vector=True)["param"] == "control_vector"
    assert ask(radiance, "Hi.", max_tokens=0, control_vector=False)["choices"]


@pytest.mark.parametrize(
    "field",
    [
        {"user": "u"},
        {"metadata": {"a": "b"}},
        {"store": True},
        {"service_tier": "flex"},
        {"prompt_cache_key": "k"},
        {"cache_prompt": False},
        {"id_slot": 3},
        {"n_cache_reuse": 256},
        {"backend_sampling": True},
        {"speculative.n_max": 5},
    ],
    ids=lambda field: next(iter(field)),
)
def test_bookkeeping_changes_no_answer(radiance: httpx.Client, field: dict[str, Any]) -> None:
    plain = {"max_tokens": 4, "temperature": 0}

    assert text_of(ask(radiance, "Hi.", **plain, **field)) == text_of(ask(radiance, "Hi.", **plain))


def test_an_unknown_field_is_ignored(radiance: httpx.Client) -> None:
    assert ask(radiance, "Hi.", max_tokens=0, an_extension_of_a_client=1)["choices"]


def test_a_prompt_that_does_not_fit_is_refused_with_its_counts(radiance: httpx.Client) -> None:
    error = refused(radiance, chat_body("word " * 600))

    assert error["code"] == "context_length_exceeded"
    assert error["n_ctx"] == 512
    assert str(error["n_prompt_tokens"] - 511) in error["message"]


# ---- Messages and Responses -----------------------------------------------------------------------


def typed(text: str) -> Iterator[dict[str, Any]]:
    return (event for event in chunks_of(text))


def test_messages_stream_from_start_to_stop(radiance: httpx.Client) -> None:
    events = list(typed(radiance.post(MESSAGES, json={**SAID[MESSAGES], "stream": True}).text))

    names = [event["type"] for event in events if event["type"] != "ping"]
    assert (names[0], names[-2:]) == ("message_start", ["message_delta", "message_stop"])
    assert "content_block_delta" in names


def test_messages_are_counted(radiance: httpx.Client) -> None:
    count = posted(radiance, f"{MESSAGES}/count_tokens", messages=HI)["input_tokens"]

    assert count == ask(radiance, "Hi.", max_tokens=0)["usage"]["prompt_tokens"]


def test_chat_s_limits_hold_for_messages(radiance: httpx.Client) -> None:
    answer = radiance.post(MESSAGES, json={**SAID[MESSAGES], "max_tokens": 1, "messages": [user("word " * 600)]})

    assert answer.status_code == 400
    assert answer.json()["error"]["n_ctx"] == 512


def test_responses_read_instructions_and_messages(radiance: httpx.Client) -> None:
    answer = posted(radiance, RESPONSES, instructions="Be brief.", input=HI, max_output_tokens=16, a_field="x")
    plain = posted(radiance, RESPONSES, input=HI, max_output_tokens=16)

    assert answer["usage"]["input_tokens"] != plain["usage"]["input_tokens"]
    assert posted(radiance, f"{RESPONSES}/input_tokens", input=HI)["input_tokens"] == plain["usage"]["input_tokens"]


def test_a_response_that_is_cut_is_incomplete(radiance: httpx.Client) -> None:
    answer = posted(radiance, RESPONSES, input="Tell me a long story.", max_output_tokens=16)

    assert answer["status"] == "incomplete"
    assert answer["incomplete_details"] == {"reason": "max_output_tokens"}


def test_a_response_s_events_are_numbered_and_placed(radiance: httpx.Client) -> None:
    events = list(typed(radiance.post(RESPONSES, json={**SAID[RESPONSES], "stream": True}).text))

    assert [event["type"] for event in events[:2]] == ["response.created", "response.in_progress"]
    assert [event["sequence_number"] for event in events] == list(range(len(events)))
    deltas = [event for event in events if event["type"] == "response.output_text.delta"]
    assert deltas
    assert {(event["output_index"], event["content_index"]) for event in deltas} == {(0, 0)}


# ---- keys and browsers ---------------------------------------------------------------------------


@pytest.mark.parametrize("header", [{"Authorization": "Bearer a-key"}, {"X-Api-Key": "a-key"}])
def test_a_key_is_asked_on_every_request_but_the_signs_of_life(
    serve_with: ServeWith, connect: Connect, header: dict[str, str]
) -> None:
    client = connect(serve_with(settings_of("radiance") | {"auth": {"api_keys": ["a-key"]}}))

    assert [client.get(path).status_code for path in ("/health", "/v1/health", "/ping")] == [200] * 3
    for path in ("/v1/models", "/metrics", "/props", "/nowhere"):
        assert client.get(path).status_code == 401
    assert client.get("/v1/models", headers=header).status_code == 200


def test_an_empty_key_is_refused_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["serve", "--set", 'auth.api_keys=[""]']) == 1
    assert "auth.api_keys.0" in capsys.readouterr().err


def test_browsers_of_every_origin_are_answered(radiance: httpx.Client) -> None:
    answer = radiance.get("/v1/models", headers={"Origin": "https://page.example"})

    assert answer.headers["access-control-allow-origin"] == "*"
