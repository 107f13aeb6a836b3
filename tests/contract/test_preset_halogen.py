"""The promises of halogen's document on text routes, one by one, under its preset. What differs from the defaults
is in test_presets; tools, reasoning and forms of an answer have tests of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from tests.contract.conftest import Connect, ServeWith
from tests.contract.test_presets import settings_of
from tests.support.chat import ask, refused, text_of, user
from tests.support.judge import chunks_of, events_of
from tests.support.live import embedded
from tests.support.wire import CHAT, chat_body

COMPLETIONS = "/v1/completions"
MESSAGES = "/v1/messages"
RESPONSES = "/v1/responses"
HANDLES = "/halogen/handles"
HI = [user("Hi.")]

SAID: dict[str, dict[str, Any]] = {
    CHAT: {"messages": HI, "max_tokens": 4},
    COMPLETIONS: {"prompt": "Hi.", "max_tokens": 4},
    RESPONSES: {"input": "Hi.", "max_output_tokens": 16},
    MESSAGES: {"messages": HI, "max_tokens": 4},
}
TIMED = {"prompt_n", "predicted_n", "cache_n", "prompt_per_second", "predicted_per_second"}


@pytest.fixture(scope="module")
def halogen(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client of a server with halogen's settings."""
    return connect(serve_with(settings_of("halogen")))


# ---- conventions --------------------------------------------------------------------------------


def test_an_error_says_why_with_a_real_status(halogen: httpx.Client) -> None:
    error = refused(halogen, temperature=-1)

    assert error["type"] == "invalid_request_error"
    assert "temperature" in error["message"]


def test_the_one_model_is_listed_and_its_name_not_enforced(halogen: httpx.Client) -> None:
    assert [model["id"] for model in halogen.get("/v1/models").json()["data"]] == ["smollm2-135m"]
    assert ask(halogen, "Hi.", max_tokens=1, model="halogen-qwen3.8-flash-next")["model"] == "smollm2-135m"


@pytest.mark.parametrize("header", [{"Authorization": "Bearer a-key"}, {"x-api-key": "a-key"}])
def test_with_a_key_everything_but_health_is_shut(
    serve_with: ServeWith, connect: Connect, header: dict[str, str]
) -> None:
    client = connect(serve_with(settings_of("halogen") | {"auth": {"api_keys": ["a-key"]}}))

    assert client.get("/health").status_code == 200
    for path in ("/v1/models", "/metrics", "/cache", "/slots", "/nowhere"):
        assert client.get(path).status_code == 401
    assert client.get("/cache", headers=header).status_code == 200
    assert client.post(CHAT, json=SAID[CHAT], headers=header).status_code == 200


@pytest.mark.parametrize("path", SAID)
def test_every_generation_route_streams(halogen: httpx.Client, path: str) -> None:
    answer = halogen.post(path, json={**SAID[path], "stream": True})

    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/event-stream")
    assert len(events_of(answer.text)) > 2


@pytest.mark.parametrize("path", SAID)
def test_every_response_is_timed_in_llama_servers_shape(halogen: httpx.Client, path: str) -> None:
    timings = halogen.post(path, json=SAID[path]).json()["timings"]

    assert set(timings) >= TIMED
    assert timings["predicted_n"] >= 1


def test_a_stream_is_timed_at_its_end(halogen: httpx.Client) -> None:
    chunks = chunks_of(halogen.post(CHAT, json={**SAID[CHAT], "stream": True}).text)

    assert set(chunks[-1]["timings"]) >= TIMED


def test_at_temperature_0_the_answer_is_the_same_cached_or_not_alone_or_batched(
    serve_with: ServeWith, connect: Connect
) -> None:
    model = embedded(context_tokens=512, slots=4)
    client = connect(serve_with(settings_of("halogen") | {"models": [model]}))
    assert client.get("/health").json()["determinism"]["promised"] is True
    story = "Tell me a story about a lighthouse and its keeper, who counts the ships. " * 4

    alone = text_of(ask(client, story, max_tokens=24))
    cached = ask(client, story, max_tokens=24)
    with ThreadPoolExecutor() as pool:
        others = [pool.submit(ask, client, f"Count from {number}.", max_tokens=24) for number in range(3)]
        beside = text_of(ask(client, story, max_tokens=24))
        assert all(other.result() for other in others)

    assert cached["usage"]["prompt_tokens_details"]["cached_tokens"] > 0
    assert text_of(cached) == alone == beside


# ---- generation routes -----------------------------------------------------------------------------


def test_every_role_of_text_is_read(halogen: httpx.Client) -> None:
    roles = ("system", "developer", "user", "assistant", "user")
    body = {"messages": [{"role": role, "content": f"I am the {role}."} for role in roles], "max_tokens": 1}

    assert halogen.post(CHAT, json=body).status_code == 200


@pytest.mark.parametrize("top", [1, 5, 20])
def test_one_token_is_scored(halogen: httpx.Client, top: int) -> None:
    whole = ask(halogen, "Yes or no?", max_tokens=1, logprobs=True, top_logprobs=top)

    scored = whole["choices"][0]["logprobs"]["content"]
    assert len(scored) == 1
    assert len(scored[0]["top_logprobs"]) == top
    assert scored[0]["logprob"] <= 0


def test_a_completion_is_of_the_raw_prompt_markers_included(halogen: httpx.Client) -> None:
    shown = halogen.post("/apply-template", json={"messages": HI}).json()["prompt"]
    body = {"prompt": shown, "max_tokens": 8}

    raw = halogen.post(COMPLETIONS, json=body).json()

    assert raw["choices"][0]["text"] == text_of(ask(halogen, "Hi.", max_tokens=8))
    assert raw["usage"]["prompt_tokens"] == ask(halogen, "Hi.", max_tokens=0)["usage"]["prompt_tokens"]


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
def test_progress_is_told_while_the_prompt_is_read(halogen: httpx.Client, path: str) -> None:
    text = f"{path} and a long text about rivers. " * 30
    said = {"messages": [user(text)]} if path == CHAT else {"prompt": text}
    body = {**said, "max_tokens": 1, "stream": True, "return_progress": True}

    progress = [
        each["prompt_progress"] for each in chunks_of(halogen.post(path, json=body).text) if "prompt_progress" in each
    ]

    assert progress[0]["processed"] == progress[0]["cache"]
    assert progress[-1]["processed"] == progress[-1]["total"]


def test_there_is_no_store_of_responses(halogen: httpx.Client) -> None:
    answer = halogen.post(RESPONSES, json={**SAID[RESPONSES], "previous_response_id": "resp_1"})

    assert (answer.status_code, answer.json()["error"]["param"]) == (400, "previous_response_id")


def test_messages_are_read_with_anthropics_header_and_system_blocks(halogen: httpx.Client) -> None:
    body = {**SAID[MESSAGES], "system": [{"type": "text", "text": "Be brief."}]}

    answer = halogen.post(MESSAGES, json=body, headers={"anthropic-version": "2023-06-01"}).json()

    assert (answer["type"], answer["role"]) == ("message", "assistant")
    count = halogen.post(f"{MESSAGES}/count_tokens", json={key: body[key] for key in ("messages", "system")}).json()
    usage = answer["usage"]
    read = usage["input_tokens"] + usage["cache_read_input_tokens"] + usage["cache_creation_input_tokens"]
    assert count["input_tokens"] == read


# ---- server state routes ---------------------------------------------------------------------------


def test_health_is_the_build_s_own_account(halogen: httpx.Client) -> None:
    account = halogen.get("/health").json()

    assert {"api", "engine"} <= set(account["version"])
    assert {"messages", "temperature", "stream"} <= set(account["supported"])
    assert {"max_tokens", "max_completion_tokens", "max_output_tokens"} <= set(account["token_budget_aliases"])
    assert account["max_tokens_over_cap"] == "400"
    assert "max_tokens_default" in account
    assert len(account["chat_template"]["sha256"]) == 64
    assert (account["queued"], account["longest_wait_s"]) == (0, 0)
    assert account["thinking_answer_room"] == 0
    assert (account["indexer_budget"], account["request_records"]) == (None, None)


def test_health_lists_every_token_that_ends_a_reply(halogen: httpx.Client) -> None:
    end = halogen.post("/tokenize", json={"content": "<|im_end|>"}).json()["tokens"]

    assert set(end) <= set(halogen.get("/health").json()["stop_ids"])


def test_the_cache_reports_in_full(halogen: httpx.Client) -> None:
    report = halogen.get("/cache").json()

    assert {"hit_rate", "token_hit_rate", "pool"} <= set(report)
    assert set(report["pool"]) >= {
        *("positions", "used", "usage_ratio", "busy_regions", "held_regions", "room_clamped", "moved"),
        *("dropped", "waiting_for_room", "waiting_s", "relocated", "cold_resorts"),
    }


def test_metrics_have_llama_servers_names(halogen: httpx.Client) -> None:
    scrape = halogen.get("/metrics").text

    assert "llamacpp:prompt_tokens_total" in scrape
    assert "llamacpp:requests_processing" in scrape


def test_props_have_llama_servers_shape(halogen: httpx.Client) -> None:
    props = halogen.get("/props").json()

    assert props["total_slots"] == 2
    assert props["default_generation_settings"]["n_ctx"] == 512
    assert "n_predict" in props["default_generation_settings"]["params"]
    assert props["chat_template"]
    assert props["modalities"]["vision"] is False
    assert props["build_info"]


def test_every_slot_has_an_entry(halogen: httpx.Client) -> None:
    slots = halogen.get("/slots").json()

    assert [(slot["id"], slot["n_ctx"]) for slot in slots] == [(0, 512), (1, 512)]


def test_tokens_go_there_and_back(halogen: httpx.Client) -> None:
    body = {"content": "A river <|im_end|>", "add_special": False, "parse_special": True, "with_pieces": True}

    pieces = halogen.post("/tokenize", json=body).json()["tokens"]

    assert pieces[-1]["piece"] == "<|im_end|>"
    back = halogen.post("/detokenize", json={"tokens": [piece["id"] for piece in pieces]}).json()
    assert back["content"] == "A river <|im_end|>"


def test_a_keep_name_is_listed_and_released(halogen: httpx.Client) -> None:
    ask(halogen, "Remember the river. " * 20, max_tokens=1, handle="my-talk")

    assert "my-talk" in [each["name"] for each in halogen.get(HANDLES).json()["data"]]
    assert halogen.delete(f"{HANDLES}/my-talk").status_code == 200
    assert halogen.delete(f"{HANDLES}/my-talk").status_code == 404


# ---- status codes ----------------------------------------------------------------------------------


def test_a_prompt_at_exactly_the_context_is_refused(halogen: httpx.Client) -> None:
    empty = ask(halogen, "word", max_tokens=0)["usage"]["prompt_tokens"]

    error = refused(halogen, chat_body("word" + " word" * (512 - empty)))

    assert (error["code"], error["n_prompt_tokens"]) == ("context_length_exceeded", 512)
    assert halogen.post(CHAT, json=chat_body("word" + " word" * (511 - empty), max_tokens=1)).status_code == 200


def test_an_unknown_route_is_404(halogen: httpx.Client) -> None:
    assert halogen.get("/halogen/nothing").status_code == 404


def test_health_answers_after_every_refusal(halogen: httpx.Client) -> None:
    for body in (b"{", b"[]", b"\xff"):
        assert halogen.post(CHAT, content=body).status_code == 400

    assert halogen.get("/health").status_code == 200
