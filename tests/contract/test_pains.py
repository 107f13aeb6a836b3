"""What users of other servers suffered from, and what happens here."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.chat import ask, prompt_tokens, refused, text_of, user
from tests.support.judge import chunks_of
from tests.support.live import LiveServer, wait_until
from tests.support.wire import CHAT, Gauges, Wire, chat_body

CONTEXT = 64


@pytest.fixture(scope="module")
def cramped(serve_with: ServeWith) -> LiveServer:
    """A server with a context of 64 tokens and one slot."""
    return serve_with(servers.cramped())


@pytest.fixture(scope="module")
def cramped_client(cramped: LiveServer, connect: Connect) -> httpx.Client:
    """A client of the server with the small context."""
    return connect(cramped)


# ---- fields that vanish ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["max_tokens", "max_completion_tokens", "max_output_tokens", "n_predict"])
def test_every_name_of_the_budget_binds(client: httpx.Client, name: str) -> None:
    fields: dict[str, Any] = {name: 3, "ignore_eos": True}
    whole = ask(client, **fields)
    assert whole["usage"]["completion_tokens"] == 3
    assert whole["choices"][0]["finish_reason"] == "length"


def test_two_budget_names_with_one_value_are_fine_and_with_two_are_not(client: httpx.Client) -> None:
    assert ask(client, max_tokens=2, max_completion_tokens=2)["usage"]["completion_tokens"] == 2
    assert refused(client, max_tokens=5, max_completion_tokens=6)["code"] == "conflicting_values"


@pytest.mark.parametrize("stream", [False, True])
def test_as_many_choices_come_back_as_were_asked_for(client: httpx.Client, stream: bool) -> None:
    answer = client.post(CHAT, json=chat_body("Hi.", n=3, max_tokens=2, stream=stream))
    parts = chunks_of(answer.text) if stream else [answer.json()]
    assert {choice["index"] for part in parts for choice in part["choices"]} == {0, 1, 2}


def test_a_bias_is_applied_and_not_only_accepted(client: httpx.Client) -> None:
    greedy = ask(client, temperature=0, max_tokens=1, logprobs=True)
    token = greedy["choices"][0]["logprobs"]["content"][0]["id"]
    assert text_of(ask(client, temperature=0, max_tokens=1, logit_bias={str(token): -100})) != text_of(greedy)
    assert text_of(ask(client, temperature=0, max_tokens=1, logit_bias=[[token, False]])) != text_of(greedy)
    assert text_of(ask(client, temperature=0, max_tokens=1, logit_bias={})) == text_of(greedy)


def test_logprobs_are_in_streams_too(client: httpx.Client) -> None:
    body = chat_body("Hi.", stream=True, logprobs=True, top_logprobs=1, max_tokens=3, ignore_eos=True)
    parts = [choice for chunk in chunks_of(client.post(CHAT, json=body).text) for choice in chunk["choices"]]
    entries = [entry for part in parts if part.get("logprobs") for entry in part["logprobs"]["content"]]
    assert len(entries) == 3
    assert all(len(entry["top_logprobs"]) == 1 for entry in entries)


def test_a_seed_and_a_stop_string_are_not_dropped(client: httpx.Client) -> None:
    drawn: dict[str, Any] = {"temperature": 1.8, "max_tokens": 16, "ignore_eos": True}
    assert text_of(ask(client, seed=5, **drawn)) == text_of(ask(client, seed=5, **drawn))
    assert text_of(ask(client, seed=5, **drawn)) != text_of(ask(client, seed=6, **drawn))
    stopped = ask(client, stop=["a", "e", "i", "o", "u"], max_tokens=60)
    assert stopped["choices"][0]["finish_reason"] == "stop"
    assert not set(text_of(stopped)) & set("aeiou")


@pytest.mark.parametrize(
    "fields",
    [
        {"verbosity": "low", "prediction": {"type": "content", "content": "x"}},
        {"id_slot": 77},
        {"id_slot": -1, "cache_prompt": False, "n_keep": 5},
        {"user": "", "metadata": {}, "store": True, "service_tier": "flex"},
        {"tools": [], "tool_choice": None},
        {"tools": [], "tool_choice": "auto", "parallel_tool_calls": False},
        {"functions": [], "function_call": "none"},
        {"n": 1, "stream": False, "store": False, "tools": [], "logprobs": False, "stop": []},
        {"enable_thinking": False},
        {"chat_template_kwargs": {"enable_thinking": False}},
        {"reasoning_effort": "none", "thinking": {"type": "disabled"}},
        {"response_format": {"type": "text"}, "modalities": ["text"]},
        {"stop": None, "user": None, "seed": None, "logit_bias": None, "response_format": None, "max_tokens": None},
        {"top_logprobs": 0, "logprobs": None, "stream_options": None},
        {"best_of": 1, "suffix": "", "echo": False, "lora": []},
        {"a_field_of_tomorrow": {"deep": [1, 2, 3]}, "another": "x" * 5000},
    ],
    ids=lambda fields: "+".join(fields),
)
def test_what_clients_always_send_is_accepted(client: httpx.Client, fields: dict[str, Any]) -> None:
    ask(client, "Hi.", **({"max_completion_tokens": 1} | fields))


def test_names_and_unknown_keys_in_messages_are_legal(client: httpx.Client) -> None:
    message = user("hi", name="bob", id="msg_1", opts={"a": 1}, created_at=1.5, attachments=[])
    earlier = {"role": "assistant", "content": "hello", "id": "x", "tool_calls": None, "refusal": None, "audio": None}
    answer = client.post(CHAT, json={"messages": [user("hey"), earlier, message], "max_tokens": 1})
    assert answer.status_code == 200, answer.text


def test_an_unused_field_for_tools_does_not_change_the_sampler(client: httpx.Client) -> None:
    drawn: dict[str, Any] = {"temperature": 1.5, "seed": 9, "max_tokens": 12}
    assert text_of(ask(client, **drawn, tools=[], tool_choice="none")) == text_of(ask(client, **drawn))


# ---- limits and the context -----------------------------------------------------------------------


def test_the_border_of_the_context_is_exact(cramped_client: httpx.Client) -> None:
    frame = prompt_tokens(cramped_client, user(" a"))
    assert prompt_tokens(cramped_client, user(" a" * 11)) == frame + 10, "one more word is one more token"

    def post(tokens: int, **fields: Any) -> httpx.Response:
        body = {"messages": [user(" a" * (tokens - frame + 1))], "ignore_eos": True, **fields}
        return cramped_client.post(CHAT, json=body)

    last = post(CONTEXT - 1).json()
    assert last["usage"]["prompt_tokens"] == CONTEXT - 1
    assert last["usage"]["completion_tokens"] == 1
    assert last["choices"][0]["finish_reason"] == "length"
    for tokens in (CONTEXT, CONTEXT + 1, CONTEXT + 700):
        for stream in (False, True):
            answer = post(tokens, stream=stream, max_tokens=1)
            assert answer.status_code == 400
            assert answer.headers["content-type"] == "application/json"
            error = answer.json()["error"]
            assert error["code"] == "context_length_exceeded"
            assert error["n_prompt_tokens"] == tokens
            assert error["n_ctx"] == CONTEXT
            assert error["n_surplus_tokens"] == tokens - CONTEXT + 1
            assert f"prompt is too long: {tokens} tokens > {CONTEXT - 1} maximum" in error["message"]


@pytest.mark.parametrize("asked", [CONTEXT - 1, CONTEXT, CONTEXT + 1, 32768, 2147483647])
def test_a_budget_larger_than_what_is_left_is_cut_and_never_the_prompt(
    cramped_client: httpx.Client, asked: int
) -> None:
    text = "word " * 10
    tokens = prompt_tokens(cramped_client, user(text))
    whole = ask(cramped_client, text, max_tokens=asked, ignore_eos=True)
    assert whole["usage"]["prompt_tokens"] == tokens
    assert whole["usage"]["completion_tokens"] == CONTEXT - tokens
    assert whole["choices"][0]["finish_reason"] == "length"
    assert whole["timings"]["max_tokens_clamped_from"] == asked
    assert whole["timings"]["max_tokens_clamped_to"] == CONTEXT - tokens


def test_a_budget_that_is_left_is_not_reported_as_cut(cramped_client: httpx.Client) -> None:
    room = CONTEXT - prompt_tokens(cramped_client, user("Hi."))
    timings = ask(cramped_client, "Hi.", max_tokens=room, ignore_eos=True)["timings"]
    assert timings["predicted_n"] == room
    assert "max_tokens_clamped_from" not in timings


def test_no_message_of_a_long_history_is_dropped(cramped_client: httpx.Client) -> None:
    history = [message for _ in range(20) for message in (user("one two"), {"role": "assistant", "content": "three"})]
    error = refused(cramped_client, {"messages": [*history, user("four")]})
    assert error["code"] == "context_length_exceeded"


def test_the_context_is_the_one_that_was_configured(cramped_client: httpx.Client) -> None:
    assert cramped_client.get("/health").json()["models"][0]["context_tokens"] == CONTEXT
    assert cramped_client.get("/v1/models").json()["data"][0]["max_model_len"] == CONTEXT
    assert cramped_client.get("/props").json()["default_generation_settings"]["n_ctx"] == CONTEXT


# ---- several at once ------------------------------------------------------------------------------


def test_two_streams_at_once_neither_stop_nor_mix(client: httpx.Client) -> None:
    def visit(text: str) -> tuple[str, ...]:
        body = chat_body(text, stream=True, temperature=0, max_tokens=20, ignore_eos=True)
        chunks = chunks_of(client.post(CHAT, json=body).text)
        assert len({chunk["id"] for chunk in chunks}) == 1
        return tuple(choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"])

    texts = ["Count to ten.", "Name three colours."]
    alone = ["".join(visit(text)) for text in texts]
    with ThreadPoolExecutor(2) as pool:
        together = ["".join(parts) for parts in pool.map(visit, texts)]
    assert together == alone


def test_a_burst_is_answered_or_told_to_wait(serve_with: ServeWith, connect: Connect) -> None:
    client = connect(serve_with(servers.narrow()), limits=httpx.Limits(max_connections=None))

    def visit(number: int) -> int:
        answer = client.post(CHAT, json=chat_body("Hi.", max_tokens=1))
        assert answer.status_code == 200 or int(answer.headers["retry-after"]) > 0
        return answer.status_code

    with ThreadPoolExecutor(60) as pool:
        codes = list(pool.map(visit, range(60)))
    assert set(codes) == {200, 429}
    assert codes.count(200) >= 2, "two may wait"
    assert visit(0) == 200


def test_a_refused_request_does_not_disturb_its_neighbours(client: httpx.Client) -> None:
    bad: list[dict[str, Any]] = [{"best_of": 3}, {"logit_bias": {"999999": 1}}, {"messages": "x"}, {"temperature": -1}]

    def visit(number: int) -> int:
        fields = bad[number // 2 % len(bad)] if number % 2 else {}
        return client.post(CHAT, json=chat_body("Hi.", max_tokens=3) | fields).status_code

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(visit, range(16))) == [200, 400] * 8


def test_health_says_how_long_the_oldest_request_waits(cramped: LiveServer, cramped_client: httpx.Client) -> None:
    gauges = Gauges(cramped_client)
    story = chat_body("Go on.", ignore_eos=True, stream=True, n=8)
    with Wire(cramped.url) as running, Wire(cramped.url) as waiting:
        running.ask(story)
        running.read_until(b"data:")
        waiting.ask(story)
        gauges.wait_queued(1)
        health = wait_until(
            lambda: (now := cramped_client.get("/health").json())["longest_wait_s"] > 0 and now, "a wait is reported"
        )
        assert health["status"] == "ok"
        assert health["queued"] == 1
        assert health["in_flight"] >= 1
    gauges.wait_idle()


def test_health_and_metrics_answer_while_a_long_prompt_is_read(server: LiveServer, client: httpx.Client) -> None:
    gauges = Gauges(client)
    gauges.wait_idle()
    spoken = gauges.spoken
    with Wire(server.url) as wire:
        wire.ask(chat_body("word " * 900, max_tokens=1))
        gauges.wait_running(1)
        answers = [client.get(path) for path in ("/health", "/v1/health", "/ping", "/metrics", "/v1/models") * 3]
        assert gauges.spoken == spoken, "the prompt is still being read"
        assert {answer.status_code for answer in answers} == {200}
        assert max(answer.elapsed.total_seconds() for answer in answers) < 1.0
    gauges.wait_idle()


# ---- what dashboards and proxies read -------------------------------------------------------------

NAMES = [
    *("prompt_tokens_total", "prompt_seconds_total", "tokens_predicted_total", "tokens_predicted_seconds_total"),
    *("n_decode_total", "n_busy_slots_per_decode", "prompt_tokens_seconds", "predicted_tokens_seconds"),
    *("requests_processing", "requests_deferred"),
]
LABELLED = ["num_requests_running", "num_requests_waiting", "kv_cache_usage_perc", "prompt_tokens_total"]
LABELLED += ["generation_tokens_total", "time_to_first_token_seconds_count", "e2e_request_latency_seconds_sum"]


def test_the_metrics_have_the_names_that_dashboards_know(client: httpx.Client) -> None:
    ask(client, max_tokens=1)
    metrics = Gauges(client).read()
    assert {f"llamacpp:{name}" for name in NAMES} <= metrics.keys()
    for name in LABELLED:
        assert f'vllm:{name}{{engine="0",model_name="smollm2-135m"}}' in metrics


def test_counters_grow_by_what_happened_and_by_no_more(client: httpx.Client) -> None:
    gauges = Gauges(client)
    gauges.wait_idle()
    before = gauges.read()
    usage = [ask(client, max_tokens=4, ignore_eos=True)["usage"] for _ in range(3)]
    after = gauges.read()

    def grown(name: str) -> float:
        return after[name] - before[name]

    assert grown("llamacpp:tokens_predicted_total") == 12
    labels = '{engine="0",model_name="smollm2-135m"}'
    assert grown(f"vllm:generation_tokens_total{labels}") == 12
    assert grown(f"vllm:prompt_tokens_total{labels}") == sum(each["prompt_tokens"] for each in usage)
    computed = grown("llamacpp:prompt_tokens_total") + grown("llamacpp:prompt_tokens_cached_total")
    assert computed == sum(each["prompt_tokens"] for each in usage)
    shrunk = [name for name, value in before.items() if name.endswith("_total") and after[name] < value]
    assert shrunk == []


def test_a_stream_says_what_it_cost(client: httpx.Client) -> None:
    plain = chunks_of(client.post(CHAT, json=chat_body("Hi.", stream=True, max_tokens=3, ignore_eos=True)).text)
    assert plain[-1]["timings"]["predicted_n"] == 3
    counted = chat_body("Hi.", stream=True, max_tokens=3, ignore_eos=True, stream_options={"include_usage": True})
    last = chunks_of(client.post(CHAT, json=counted).text)[-1]
    assert last["usage"]["completion_tokens"] == 3
    assert last["choices"] == []
    assert last["timings"]["prompt_n"] + last["timings"]["cache_n"] == last["usage"]["prompt_tokens"]


def test_editors_that_search_the_bytes_of_an_answer_find_its_text(client: httpx.Client) -> None:
    whole = client.post(CHAT, json=chat_body("Hi.", max_tokens=2)).content
    assert b'"content":"' in whole
    stream = client.post(CHAT, json=chat_body("Hi.", max_tokens=2, stream=True)).content
    assert b'"delta":{"content":"' in stream
