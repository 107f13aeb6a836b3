"""The preset for hal0 makes the server keep the promises of hal0's document on text routes, one by one."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx
import pytest
import yaml
from openai import OpenAI

from tests.contract.conftest import Connect, ServeWith
from tests.contract.servers import quick
from tests.support.chat import ask, prompt_tokens, text_of, user
from tests.support.judge import chunks_of, events_of
from tests.support.live import LiveServer, busy, wait_idle, wait_queued
from tests.support.wire import CHAT, chat_body
from troth.cli import main

PRESET = Path(__file__).parents[2] / "config" / "hal0.yaml"
COMPLETIONS = "/v1/completions"
MODELS = "/v1/models"
KEY = "a-key"
FILTER = "X-hal0-Model-Filter"

SLOT_NAMES = ["agent", "agent-hermes", "hal0/agent", "hal0/chat"]
MODEL = {**quick(context_tokens=512, slots=1), "aliases": SLOT_NAMES}
BRIEF, KIND = ({"role": "system", "content": text} for text in ("Be brief.", "Be kind."))


def settings(**sections: Any) -> dict[str, Any]:
    """The preset with one slot, of the names that hal0 gives it."""
    preset: dict[str, Any] = yaml.safe_load(PRESET.read_text("utf-8"))
    for name, section in sections.items():
        preset[name] = preset.get(name, {}) | section
    return preset | {"models": [MODEL]}


@pytest.fixture(scope="module")
def server(serve_with: ServeWith) -> LiveServer:
    """A server with hal0's settings, small bodies and a short queue."""
    return serve_with(settings(server={"body_bytes_max": 8192}, limits={"queue_max": 1}))


@pytest.fixture(scope="module")
def hal0(server: LiveServer, connect: Connect) -> httpx.Client:
    """A client of that server."""
    return connect(server)


@pytest.fixture(scope="module")
def stranger(serve_with: ServeWith, connect: Connect) -> httpx.Client:
    """A client without a key of a server that asks for one."""
    return connect(serve_with(settings(auth={"api_keys": [KEY]})))


def assert_enveloped(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """An error in hal0's envelope, which has three keys; returns its details."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    body = answer.json()
    assert list(body) == ["error"]
    assert sorted(body["error"]) == ["code", "details", "message"]
    assert body["error"]["code"] == code
    assert body["error"]["message"]
    details: dict[str, Any] = body["error"]["details"]
    return details


def listed(answer: httpx.Response) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [model["id"] for model in answer.json()["data"]]


def test_the_preset_has_no_fault(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["check", str(PRESET)]) == 0
    assert "no faults" in capsys.readouterr().out


# ---- who may ask --------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [MODELS, f"{MODELS}/agent", "/models", "/models/agent"])
def test_the_models_are_told_before_a_client_has_credentials(stranger: httpx.Client, path: str) -> None:
    assert stranger.get(path).status_code == 200


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS, "/completion", "/tokenize"])
def test_everything_else_needs_a_key_once_there_is_one(stranger: httpx.Client, path: str) -> None:
    assert_enveloped(stranger.post(path, json={}), 401, "auth.required")


def test_a_key_opens_the_rest(stranger: httpx.Client) -> None:
    answer = stranger.post(CHAT, json=chat_body("Hi.", max_tokens=1), headers={"Authorization": f"Bearer {KEY}"})

    assert answer.status_code == 200


def test_without_a_configured_key_the_surface_is_open(hal0: httpx.Client) -> None:
    assert ask(hal0, "Hi.", max_tokens=1)["object"] == "chat.completion"


# ---- GET /v1/models ------------------------------------------------------------------------------


def test_the_catalogue_lists_text_models(hal0: httpx.Client) -> None:
    assert listed(hal0.get(MODELS)) == ["smollm2-135m"]


@pytest.mark.parametrize("value", ["true", "1", "false"])
def test_show_all_is_a_switch(hal0: httpx.Client, value: str) -> None:
    assert listed(hal0.get(MODELS, params={"show_all": value})) == ["smollm2-135m"]


@pytest.mark.parametrize(("owner", "models"), [("troth", ["smollm2-135m"]), ("somebody", [])])
def test_the_catalogue_is_scoped_by_owner_in_the_query_or_a_header(
    hal0: httpx.Client, owner: str, models: list[str]
) -> None:
    assert listed(hal0.get(MODELS, params={"owned_by": owner})) == models
    assert listed(hal0.get(MODELS, headers={FILTER: owner})) == models


def test_the_query_beats_the_header(hal0: httpx.Client) -> None:
    answer = hal0.get(MODELS, params={"owned_by": "troth"}, headers={FILTER: "somebody"})

    assert listed(answer) == ["smollm2-135m"]


def test_a_model_is_found_by_its_id_whatever_the_filter(hal0: httpx.Client) -> None:
    answer = hal0.get(f"{MODELS}/smollm2-135m", params={"owned_by": "somebody"}, headers={FILTER: "somebody"})

    assert (answer.status_code, answer.json()["id"]) == (200, "smollm2-135m")


def test_a_virtual_name_is_found_and_not_listed(hal0: httpx.Client) -> None:
    assert hal0.get(f"{MODELS}/hal0/agent").json()["id"] == "smollm2-135m"
    assert "hal0/agent" not in listed(hal0.get(MODELS, params={"show_all": "true"}))


def test_a_model_that_is_not_there_has_no_route(hal0: httpx.Client) -> None:
    assert assert_enveloped(hal0.get(f"{MODELS}/gpt-9"), 404, "dispatch.no_route") == {"param": "model"}


# ---- which model answers -------------------------------------------------------------------------


def test_a_request_without_a_model_gets_the_default(hal0: httpx.Client) -> None:
    assert ask(hal0, "Hi.", max_tokens=1)["model"] == "smollm2-135m"
    assert hal0.post(COMPLETIONS, json={"prompt": "Hi.", "max_tokens": 1}).json()["model"] == "smollm2-135m"


@pytest.mark.parametrize("name", ["smollm2-135m", *SLOT_NAMES])
def test_a_slot_is_asked_by_its_names_and_answers_with_its_model(hal0: httpx.Client, name: str) -> None:
    assert ask(hal0, "Hi.", max_tokens=1, model=name)["model"] == "smollm2-135m"


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
@pytest.mark.parametrize("streamed", [False, True])
def test_a_model_that_nothing_serves_has_no_route(hal0: httpx.Client, path: str, streamed: bool) -> None:
    body = {"messages": [user("Hi.")]} if path == CHAT else {"prompt": "Hi."}

    details = assert_enveloped(
        hal0.post(path, json={**body, "model": "gpt-9", "stream": streamed}), 404, "dispatch.no_route"
    )

    assert details["param"] == "model"


# ---- POST /v1/chat/completions -------------------------------------------------------------------


def test_omni_false_asks_for_nothing(hal0: httpx.Client) -> None:
    assert text_of(ask(hal0, "Hi.", max_tokens=1, temperature=0)) == text_of(
        ask(hal0, "Hi.", max_tokens=1, temperature=0, omni=False)
    )


def test_omni_of_a_model_that_is_alone_is_a_plain_answer(hal0: httpx.Client) -> None:
    plain, looped = (ask(hal0, "Hi.", max_tokens=4, temperature=0, omni=omni) for omni in (False, True))

    assert text_of(looped) == text_of(plain)
    assert looped["hal0"] == {"omni": {"caller_slot": "smollm2-135m", "rounds": 1, "tool_results": []}}


def test_several_system_messages_become_one_and_come_first(hal0: httpx.Client) -> None:
    one = {"role": "system", "content": "Be brief.\n\nBe kind."}

    assert rendered(hal0, user("Hi."), BRIEF, KIND) == rendered(hal0, one, user("Hi."))
    assert prompt_tokens(hal0, BRIEF, user("Hi."), KIND) == prompt_tokens(hal0, one, user("Hi."))


def rendered(client: httpx.Client, *messages: dict[str, Any]) -> str:
    """What the model reads of a conversation."""
    answer = client.post("/apply-template", json={"messages": list(messages)})
    prompt: str = answer.json()["prompt"]
    return prompt


def test_what_standard_bodies_say_beside_it_is_done(hal0: httpx.Client) -> None:
    whole = ask(hal0, "Count to ten.", max_tokens=4, n=2, seed=1, temperature=0.5, top_p=0.9, stop=["nine"], user="me")

    assert [choice["index"] for choice in whole["choices"]] == [0, 1]
    assert whole["usage"]["completion_tokens"] <= 8


def test_a_field_that_nobody_knows_is_no_reason_to_refuse(hal0: httpx.Client) -> None:
    assert ask(hal0, "Hi.", max_tokens=1, a_field_of_somebody=True)["choices"]


# ---- POST /v1/completions ------------------------------------------------------------------------


def test_a_completion_is_of_the_text_as_it_is(hal0: httpx.Client) -> None:
    answer = hal0.post(COMPLETIONS, json={"prompt": "One, two, three,", "max_tokens": 3, "temperature": 0})

    assert (answer.status_code, answer.json()["object"]) == (200, "text_completion")
    assert answer.json()["choices"][0]["text"]


# ---- streaming -----------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [CHAT, COMPLETIONS])
def test_a_stream_is_of_events_and_ends_with_done(hal0: httpx.Client, path: str) -> None:
    body = {"messages": [user("Hi.")]} if path == CHAT else {"prompt": "Hi."}

    answer = hal0.post(path, json={**body, "max_tokens": 4, "stream": True})

    assert answer.headers["content-type"].startswith("text/event-stream")
    assert answer.headers["cache-control"].startswith("no-")
    assert answer.headers["x-accel-buffering"] == "no"
    assert events_of(answer.text)[-1] == "[DONE]"
    assert chunks_of(answer.text)[-1]["choices"][0]["finish_reason"] in ("stop", "length")


def test_a_stream_says_what_the_whole_answer_says(hal0: httpx.Client) -> None:
    body = chat_body("Tell me of the sea.", max_tokens=8, temperature=0)

    chunks = chunks_of(hal0.post(CHAT, json=body | {"stream": True}).text)

    parts = [choice["delta"].get("content") or "" for chunk in chunks for choice in chunk["choices"]]
    assert "".join(parts) == text_of(hal0.post(CHAT, json=body).json())


def test_openais_sdk_streams_from_a_slot(server: LiveServer) -> None:
    with OpenAI(base_url=f"{server.url}/v1", api_key="none", max_retries=0) as sdk:
        stream = sdk.chat.completions.create(
            model="agent", messages=[{"role": "user", "content": "Hi."}], max_tokens=4, stream=True
        )
        assert {chunk.model for chunk in stream} == {"smollm2-135m"}


# ---- the envelope --------------------------------------------------------------------------------

REFUSED: dict[str, tuple[bytes, str, dict[str, Any]]] = {
    "no JSON": (b"{", "request.invalid_json", {}),
    "nothing": (b"", "request.invalid_json", {}),
    "no object": (b"[1]", "request.not_an_object", {}),
    "a field missing": (b"{}", "validation.invalid", {"param": "messages"}),
    "a bad value": (
        json.dumps(chat_body("Hi.", temperature=-1)).encode(),
        "validation.invalid",
        {"param": "temperature"},
    ),
    "two names, two values": (
        json.dumps(chat_body("Hi.", max_tokens=1, max_completion_tokens=2)).encode(),
        "request.conflicting_fields",
        {"param": "max_completion_tokens"},
    ),
    "a limit passed": (
        json.dumps(chat_body("Hi.", n=9)).encode(),
        "validation.invalid",
        {"param": "n", "limit": 8},
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_request_is_enveloped(hal0: httpx.Client, name: str) -> None:
    body, code, details = REFUSED[name]

    assert assert_enveloped(hal0.post(CHAT, content=body), 400, code) == details


def test_a_prompt_that_does_not_fit_is_enveloped_with_its_counts(hal0: httpx.Client) -> None:
    answer = hal0.post(CHAT, json=chat_body("word " * 600))

    details = assert_enveloped(answer, 400, "request.context_length_exceeded")
    assert details["n_ctx"] == 512
    assert details["n_surplus_tokens"] == details["n_prompt_tokens"] - 511


@pytest.mark.parametrize("path", ["/v1/nothing", "/v1/images/edits", "/v1/assistants", "/v1/files", "/v1/batches"])
def test_what_is_not_there_is_enveloped(hal0: httpx.Client, path: str) -> None:
    assert_enveloped(hal0.post(path, json={}), 404, "resource.not_found")


def test_another_method_is_enveloped(hal0: httpx.Client) -> None:
    answer = hal0.delete(CHAT)

    assert_enveloped(answer, 405, "system.http_405")
    assert "POST" in answer.headers["allow"]


def test_a_body_that_is_too_large_is_enveloped(hal0: httpx.Client) -> None:
    assert_enveloped(hal0.post(CHAT, json=chat_body("x" * 9000)), 413, "system.http_413")


def test_a_body_of_another_kind_is_enveloped(hal0: httpx.Client) -> None:
    answer = hal0.post(CHAT, content=b"<a/>", headers={"Content-Type": "application/xml"})

    assert_enveloped(answer, 415, "system.http_415")


def test_a_full_queue_is_enveloped_with_when_to_come_back(hal0: httpx.Client) -> None:
    wait_idle(hal0)
    with ThreadPoolExecutor() as pool:
        with busy(hal0):
            waiting = pool.submit(hal0.post, CHAT, json=chat_body("Hi.", max_tokens=1))
            wait_queued(hal0, 1)
            answer = hal0.post(CHAT, json=chat_body("Hi.", max_tokens=1))
        assert waiting.result().status_code == 200

    details = assert_enveloped(answer, 429, "system.rate_limited")
    assert details == {"retry_after_s": int(answer.headers["retry-after"])}


def test_a_slot_that_loads_is_worth_waiting_for(tmp_path: Path, embedded_model: Path, connect: Connect) -> None:
    server = LiveServer(settings(), tmp_path)
    try:
        answer = connect(server).post(CHAT, json=chat_body("Hi."))
        details = assert_enveloped(answer, 503, "slot.loading")
        assert details["retry_after_s"] == int(answer.headers["retry-after"])
    finally:
        code = server.stop()
    assert code == 0


@pytest.mark.parametrize("path", ["/completion", "/tokenize", "/slots?model=gpt-9"])
def test_llama_servers_own_routes_are_enveloped_too(hal0: httpx.Client, path: str) -> None:
    answer = hal0.get(path) if "?" in path else hal0.post(path, content=b"{")

    code = "dispatch.no_route" if "?" in path else "request.invalid_json"
    assert_enveloped(answer, answer.status_code, code)


def test_anthropics_routes_keep_anthropics_shape(hal0: httpx.Client) -> None:
    error = hal0.post("/v1/messages", content=b"{").json()

    assert (error["type"], error["error"]["type"]) == ("error", "invalid_request_error")


def test_health_tells_of_the_envelope(hal0: httpx.Client) -> None:
    assert hal0.get("/health").json()["error_format"] == "hal0"
