"""What goes wrong reaches the OpenAI SDK as the exception of its kind, with the words to mend it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import openai
import pytest
from openai import OpenAI
from openai.types.chat import ChatCompletionMessageParam

from tests.contract import servers
from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer, config, embedded
from tests.support.sdk import HELLO, MODEL, sdk, text_of
from tests.support.wire import Gauges, Wire, chat_body


@pytest.fixture(scope="module")
def api(server: LiveServer) -> Iterator[OpenAI]:
    """The SDK at the usual server."""
    with sdk(server.url) as api:
        yield api


@pytest.fixture(scope="module")
def narrow(serve_with: ServeWith) -> LiveServer:
    """A server with one slot, where two requests may wait."""
    return serve_with(servers.narrow())


def body_of(error: openai.APIError) -> dict[str, Any]:
    assert isinstance(error.body, dict)
    return error.body


@pytest.mark.parametrize("stream", [False, True])
def test_a_prompt_over_the_context_is_a_bad_request_with_the_counts(api: OpenAI, stream: bool) -> None:
    long: list[ChatCompletionMessageParam] = [{"role": "user", "content": "word " * 1100}]
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model=MODEL, messages=long, stream=stream)
    error = caught.value
    assert error.code == "context_length_exceeded"
    assert error.param == "messages"
    body = body_of(error)
    assert body["n_ctx"] == 1024
    assert body["n_prompt_tokens"] > 1100
    assert body["n_surplus_tokens"] == body["n_prompt_tokens"] - 1023


@pytest.mark.parametrize("stream", [False, True])
def test_a_guarded_field_is_a_bad_request_with_its_name_and_what_is_accepted(api: OpenAI, stream: bool) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model=MODEL, messages=HELLO, stream=stream, extra_body={"best_of": 4})
    assert caught.value.param == "best_of"
    assert caught.value.code == "unsupported_value"
    assert "at most 1" in caught.value.message


def test_a_tool_whose_schema_cannot_be_held_is_refused_by_name(api: OpenAI) -> None:
    parameters: dict[str, object] = {"type": "object", "not": {"required": ["a"]}}
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(
            model=MODEL,
            messages=HELLO,
            tools=[{"type": "function", "function": {"name": "f", "parameters": parameters, "strict": True}}],
        )
    assert caught.value.param == "tools.0.function.parameters"
    assert caught.value.code == "unsupported_schema"
    assert "`not`" in caught.value.message


def test_a_wrong_value_is_a_bad_request_with_its_place(api: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model=MODEL, messages=HELLO, temperature=-1)
    assert caught.value.param == "temperature"
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model=MODEL, messages=[{"role": "poet", "content": "x"}])  # type: ignore[list-item, misc]
    assert caught.value.param is not None
    assert caught.value.param.startswith("messages.0")


def test_two_budget_names_with_two_values_are_a_bad_request(api: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=5, max_completion_tokens=6)
    assert caught.value.code == "conflicting_values"


def test_a_wrong_key_is_an_authentication_error(serve_with: ServeWith) -> None:
    settings = servers.locked()
    url = serve_with(settings).url
    with sdk(url, api_key="wrong") as api, pytest.raises(openai.AuthenticationError) as caught:
        api.chat.completions.create(model=MODEL, messages=HELLO)
    assert caught.value.code == "invalid_api_key"
    for key in settings["auth"]["api_keys"]:
        with sdk(url, api_key=key) as api:
            assert text_of(api.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=2))


def test_an_unknown_model_is_served_by_the_only_one(api: OpenAI) -> None:
    assert api.chat.completions.create(model="gpt-nonesuch", messages=HELLO, max_tokens=1).model == MODEL


def test_an_unknown_model_is_not_found_where_names_are_enforced(serve_with: ServeWith) -> None:
    with sdk(serve_with(servers.two_models()).url) as strict:
        names = [model.id for model in strict.models.list()]
        assert [strict.models.retrieve(name).id for name in names] == names
        assert any("/" in name for name in names)
        for name in names:
            assert strict.chat.completions.create(model=name, messages=HELLO, max_tokens=1).model == name
        with pytest.raises(openai.NotFoundError) as caught:
            strict.chat.completions.create(model="gpt-nonesuch", messages=HELLO)
    assert caught.value.code == "model_not_found"
    assert caught.value.param == "model"
    assert all(name in caught.value.message for name in names)


def test_models_are_listed_and_retrieved(api: OpenAI) -> None:
    assert [model.id for model in api.models.list()] == [MODEL]
    assert api.models.retrieve(MODEL).owned_by == "troth"
    with pytest.raises(openai.NotFoundError) as caught:
        api.models.retrieve("org/nonesuch")
    assert caught.value.code == "model_not_found"


@contextmanager
def full_queue(server: LiveServer, gauges: Gauges) -> Iterator[list[Wire]]:
    """One request runs and two wait; the connections that made them."""
    gauges.wait_idle()
    with Wire(server.url) as first, Wire(server.url) as second, Wire(server.url) as third:
        for count, wire in enumerate((first, second, third)):
            wire.ask(chat_body("Tell me a story.", ignore_eos=True, stream=True))
            gauges.wait_running(1)
            gauges.wait_queued(count)
        yield [first, second, third]
    gauges.wait_idle()


@pytest.mark.parametrize("stream", [False, True])
def test_a_full_queue_is_a_rate_limit_error_with_a_time_to_wait(
    narrow: LiveServer, connect: Connect, stream: bool
) -> None:
    with (
        sdk(narrow.url) as api,
        full_queue(narrow, Gauges(connect(narrow))),
        pytest.raises(openai.RateLimitError) as caught,
    ):
        api.chat.completions.create(model=MODEL, messages=HELLO, stream=stream)
    assert caught.value.code == "queue_full"
    assert int(caught.value.response.headers["retry-after"]) >= 1


def test_a_client_that_retries_gets_through_a_full_queue(narrow: LiveServer, connect: Connect) -> None:
    gauges = Gauges(connect(narrow))
    refused = gauges.read()["troth:queue_full_total"]
    with (
        sdk(narrow.url, max_retries=5) as api,
        ThreadPoolExecutor(1) as pool,
        full_queue(narrow, gauges) as wires,
    ):
        answer = pool.submit(api.chat.completions.create, model=MODEL, messages=HELLO, max_tokens=2)
        gauges.wait_more("troth:queue_full_total", refused)
        for wire in wires:
            wire.hang_up()
        assert text_of(answer.result(timeout=30))


def test_a_fault_after_the_stream_began_is_an_api_error(serve_with: ServeWith, connect: Connect) -> None:
    patient = serve_with(
        config(models=[embedded(slots=1)], limits={"queue_seconds_max": 1.0}, stream={"keepalive_seconds": 0.2})
    )
    gauges = Gauges(connect(patient))
    with sdk(patient.url) as api, Wire(patient.url) as running:
        running.ask(chat_body("Tell me a story.", ignore_eos=True, stream=True))
        gauges.wait_running(1)
        stream = api.chat.completions.create(model=MODEL, messages=HELLO, stream=True)
        assert stream.response.status_code == 200
        with stream, pytest.raises(openai.APIError) as caught:
            list(stream)
    assert caught.value.code == "queue_timeout"
    assert not isinstance(caught.value, openai.APIStatusError)
    gauges.wait_idle()
