"""The OpenAI SDK, unchanged, against the live server; it validates every answer with its own types."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import openai
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionChunk, ChatCompletionMessageParam

from tests.contract.conftest import Connect, ServeWith
from tests.support.live import LiveServer, config, embedded
from tests.support.wire import Gauges, Wire, chat_body

MODEL = "smollm2-135m"
HELLO: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Say hello to the harbour."}]
KEY = "sk-for-the-sdk"


def sdk(url: str, **options: Any) -> OpenAI:
    """A client that never repeats a request and refuses answers that its types do not describe."""
    chosen = {"api_key": "unused", "max_retries": 0, "timeout": 60.0} | options
    return OpenAI(base_url=f"{url}/v1", _strict_response_validation=True, **chosen)


@pytest.fixture(scope="module")
def api(server: LiveServer) -> Iterator[OpenAI]:
    """The SDK at the usual server."""
    with sdk(server.url) as api:
        yield api


@pytest.fixture(scope="module")
def narrow(serve_with: ServeWith) -> LiveServer:
    """A server with one slot, and no more than one request waiting."""
    return serve_with(config(models=[embedded(slots=1)], limits={"queue_max": 1}))


def text_of(completion: ChatCompletion, choice: int = 0) -> str:
    text = completion.choices[choice].message.content
    assert text is not None
    return text


def timings_of(answer: ChatCompletion | ChatCompletionChunk) -> dict[str, Any]:
    assert answer.model_extra is not None
    timings: dict[str, Any] = answer.model_extra["timings"]
    return timings


def joined(chunks: list[ChatCompletionChunk], choice: int = 0) -> str:
    spoken = [part for chunk in chunks for part in chunk.choices if part.index == choice]
    return "".join(part.delta.content or "" for part in spoken)


def body_of(error: openai.APIError) -> dict[str, Any]:
    assert isinstance(error.body, dict)
    return error.body


# ---- answers --------------------------------------------------------------------------------------


def test_a_plain_call_is_answered(api: OpenAI) -> None:
    completion = api.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=8)
    assert completion.object == "chat.completion"
    assert completion.model == MODEL
    assert completion.choices[0].message.role == "assistant"
    assert text_of(completion)
    assert completion.choices[0].finish_reason == "length"
    assert completion.usage is not None
    assert completion.usage.completion_tokens == 8
    assert completion.usage.total_tokens == completion.usage.prompt_tokens + 8
    assert timings_of(completion)["predicted_n"] == 8


def test_an_answer_that_ends_by_itself_says_stop(api: OpenAI) -> None:
    yes: list[ChatCompletionMessageParam] = [{"role": "user", "content": "Hi"}]
    completion = api.chat.completions.create(model=MODEL, messages=yes, temperature=0)
    assert completion.choices[0].finish_reason == "stop"


def test_a_stream_says_what_the_whole_answer_says(api: OpenAI) -> None:
    whole = api.chat.completions.create(model=MODEL, messages=HELLO, temperature=0, max_tokens=12)
    with api.chat.completions.create(model=MODEL, messages=HELLO, temperature=0, max_tokens=12, stream=True) as stream:
        chunks = list(stream)
    assert joined(chunks) == text_of(whole)
    assert len(chunks) > 6, "it came in pieces"
    assert chunks[0].choices[0].delta.role == "assistant"
    assert [part.finish_reason for chunk in chunks for part in chunk.choices if part.finish_reason] == ["length"]
    assert len({chunk.id for chunk in chunks}) == 1
    assert timings_of(chunks[-1])["predicted_n"] == 12


def test_a_stream_ends_with_the_token_counts_when_asked(api: OpenAI) -> None:
    with api.chat.completions.create(
        model=MODEL, messages=HELLO, max_tokens=3, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)
    assert chunks[-1].choices == []
    assert chunks[-1].usage is not None
    assert chunks[-1].usage.completion_tokens == 3
    assert all(chunk.usage is None for chunk in chunks[:-1])


def test_the_streaming_helper_gathers_the_same_answer(api: OpenAI) -> None:
    with api.chat.completions.stream(model=MODEL, messages=HELLO, temperature=0, max_tokens=6) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds
    whole = api.chat.completions.create(model=MODEL, messages=HELLO, temperature=0, max_tokens=6)
    assert final.choices[0].message.content == text_of(whole)


def test_several_choices_differ_and_are_counted(api: OpenAI) -> None:
    completion = api.chat.completions.create(model=MODEL, messages=HELLO, n=3, temperature=1.5, max_tokens=12)
    assert [choice.index for choice in completion.choices] == [0, 1, 2]
    assert len({text_of(completion, index) for index in range(3)}) > 1
    assert completion.usage is not None
    assert completion.usage.completion_tokens <= 36


def test_several_choices_are_streamed_beside_each_other(api: OpenAI) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": HELLO, "n": 3, "seed": 11, "max_tokens": 6}
    whole = api.chat.completions.create(**asked)
    with api.chat.completions.create(**asked, stream=True) as stream:
        chunks = list(stream)
    assert [joined(chunks, index) for index in range(3)] == [text_of(whole, index) for index in range(3)]


@pytest.mark.parametrize("as_list", [False, True])
def test_a_stop_string_ends_the_answer_and_is_not_in_it(api: OpenAI, as_list: bool) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": HELLO, "temperature": 0, "max_tokens": 20}
    full = text_of(api.chat.completions.create(**asked))
    mark = full[len(full) // 2 :][:4]
    completion = api.chat.completions.create(**asked, stop=[mark, "never said"] if as_list else mark)
    assert text_of(completion) == full[: full.index(mark)]
    assert completion.choices[0].finish_reason == "stop"
    with api.chat.completions.create(**asked, stop=mark, stream=True) as stream:
        assert joined(list(stream)) == full[: full.index(mark)]


def test_logprobs_come_with_their_alternatives_whole_and_streamed(api: OpenAI) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": HELLO, "temperature": 0, "max_tokens": 4}
    asked |= {"logprobs": True, "top_logprobs": 3}
    whole = api.chat.completions.create(**asked).choices[0]
    assert whole.logprobs is not None
    entries = whole.logprobs.content
    assert entries is not None
    assert len(entries) == 4
    for entry in entries:
        assert len(entry.top_logprobs) == 3
        assert entry.logprob <= 0
        assert entry.top_logprobs[0].logprob == entry.logprob, "greedy takes the likeliest"
        assert entry.bytes == list(entry.token.encode())
    assert "".join(entry.token for entry in entries) == whole.message.content
    with api.chat.completions.create(**asked, stream=True) as stream:
        parts = [part for chunk in stream for part in chunk.choices]
    streamed = [entry for part in parts if part.logprobs for entry in part.logprobs.content or ()]
    assert [entry.token for entry in streamed] == [entry.token for entry in entries]
    assert [round(entry.logprob, 3) for entry in streamed] == [round(entry.logprob, 3) for entry in entries]


def test_logprobs_alone_have_no_alternatives(api: OpenAI) -> None:
    choice = api.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=2, logprobs=True).choices[0]
    assert choice.logprobs is not None
    assert [entry.top_logprobs for entry in choice.logprobs.content or ()] == [[], []]


def test_a_seed_repeats_an_answer_and_another_seed_does_not(api: OpenAI) -> None:
    def said(seed: int) -> str:
        return text_of(
            api.chat.completions.create(model=MODEL, messages=HELLO, seed=seed, temperature=1.5, max_tokens=24)
        )

    assert said(7) == said(7)
    assert said(7) != said(8)


def test_a_budget_over_the_context_is_cut_served_and_reported(api: OpenAI) -> None:
    completion = api.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=65535, stop=["o", "e", "a"])
    assert completion.usage is not None
    timings = timings_of(completion)
    assert timings["max_tokens_clamped_from"] == 65535
    assert timings["max_tokens_clamped_to"] == 1024 - completion.usage.prompt_tokens


# ---- fields beside OpenAI's -----------------------------------------------------------------------


def test_sampling_fields_of_other_servers_pass_through_the_extra_body(api: OpenAI) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": HELLO, "max_tokens": 12, "seed": 3}
    greedy = text_of(api.chat.completions.create(**asked, temperature=0))
    assert text_of(api.chat.completions.create(**asked, temperature=2, extra_body={"min_p": 1})) == greedy
    assert text_of(api.chat.completions.create(**asked, temperature=2, extra_body={"top_k": 1})) == greedy
    penalised = api.chat.completions.create(**asked, temperature=0, extra_body={"repetition_penalty": 5})
    assert text_of(penalised) != greedy


def test_a_biased_token_is_never_or_always_said(api: OpenAI) -> None:
    asked: dict[str, Any] = {"model": MODEL, "messages": HELLO, "temperature": 0, "max_tokens": 3}
    first = api.chat.completions.create(**asked, logprobs=True).choices[0].logprobs
    assert first is not None
    assert first.content is not None
    assert first.content[0].model_extra is not None
    token, text = first.content[0].model_extra["id"], first.content[0].token
    banned = text_of(api.chat.completions.create(**asked, logit_bias={str(token): -100}))
    assert not banned.startswith(text)
    forced = text_of(api.chat.completions.create(**asked, logit_bias={str(token): 100}))
    assert forced == text * 3


def test_bookkeeping_fields_are_accepted(api: OpenAI) -> None:
    completion = api.chat.completions.create(
        model=MODEL,
        messages=HELLO,
        max_tokens=1,
        metadata={"job": "1"},
        user="someone",
        store=False,
        service_tier="auto",
        safety_identifier="x",
        prompt_cache_key="y",
        parallel_tool_calls=True,
        verbosity="low",
        prediction={"type": "content", "content": "Hello"},
        tools=[],
        tool_choice="auto",
        response_format={"type": "text"},
        reasoning_effort="none",
        modalities=["text"],
        stop=None,
    )
    assert text_of(completion)


# ---- raw and streamed responses -------------------------------------------------------------------


def test_a_raw_response_has_headers_and_the_parsed_answer(api: OpenAI) -> None:
    raw = api.chat.completions.with_raw_response.create(
        model=MODEL, messages=HELLO, max_tokens=2, extra_headers={"X-Request-Id": "my-own-id"}
    )
    assert raw.status_code == 200
    assert raw.request_id == "my-own-id"
    completion = raw.parse()
    assert isinstance(completion, ChatCompletion)
    assert text_of(completion)


def test_a_streaming_response_is_read_line_by_line(api: OpenAI) -> None:
    with api.chat.completions.with_streaming_response.create(
        model=MODEL, messages=HELLO, max_tokens=3, stream=True
    ) as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = [line for line in response.iter_lines() if line]
    assert lines[-1] == "data: [DONE]"
    assert all(line.startswith("data: ") for line in lines)


def test_the_async_client_streams_several_answers_at_once(server: LiveServer) -> None:
    async def visit(api: AsyncOpenAI, seed: int) -> str:
        stream = await api.chat.completions.create(
            model=MODEL, messages=HELLO, max_tokens=8, seed=seed, temperature=0, stream=True
        )
        async with stream:
            return joined([chunk async for chunk in stream])

    async def all_at_once() -> list[str]:
        async with AsyncOpenAI(
            base_url=f"{server.url}/v1", api_key="unused", max_retries=0, _strict_response_validation=True
        ) as api:
            whole = await api.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=8, temperature=0)
            return [text_of(whole), *await asyncio.gather(*(visit(api, seed) for seed in range(3)))]

    said = asyncio.run(all_at_once())
    assert len(set(said)) == 1


def test_a_stream_that_is_closed_early_frees_its_slot(api: OpenAI, client: httpx.Client) -> None:
    gauges = Gauges(client)
    with api.chat.completions.create(
        model=MODEL, messages=HELLO, stream=True, extra_body={"ignore_eos": True}
    ) as stream:
        next(iter(stream))
    gauges.wait_idle(5.0)


# ---- errors ---------------------------------------------------------------------------------------


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


def test_tools_are_refused_by_name(api: OpenAI) -> None:
    with pytest.raises(openai.BadRequestError) as caught:
        api.chat.completions.create(
            model=MODEL, messages=HELLO, tools=[{"type": "function", "function": {"name": "f"}}]
        )
    assert caught.value.param == "tools"
    assert "[]" in caught.value.message


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
    url = serve_with(config(auth={"api_keys": [KEY]})).url
    with sdk(url, api_key="wrong") as api, pytest.raises(openai.AuthenticationError) as caught:
        api.chat.completions.create(model=MODEL, messages=HELLO)
    assert caught.value.code == "invalid_api_key"
    with sdk(url, api_key=KEY) as api:
        assert text_of(api.chat.completions.create(model=MODEL, messages=HELLO, max_tokens=2))


def test_an_unknown_model_is_served_by_the_default_or_not_found(api: OpenAI, serve_with: ServeWith) -> None:
    served = api.chat.completions.create(model="gpt-nonesuch", messages=HELLO, max_tokens=1)
    assert served.model == MODEL
    url = serve_with(config(routing={"unknown_model": "refuse"})).url
    with sdk(url) as strict, pytest.raises(openai.NotFoundError) as caught:
        strict.chat.completions.create(model="gpt-nonesuch", messages=HELLO)
    assert caught.value.code == "model_not_found"
    assert caught.value.param == "model"
    assert MODEL in caught.value.message


def test_models_are_listed_and_retrieved(api: OpenAI) -> None:
    assert [model.id for model in api.models.list()] == [MODEL]
    assert api.models.retrieve(MODEL).owned_by == "troth"
    with pytest.raises(openai.NotFoundError) as caught:
        api.models.retrieve("org/nonesuch")
    assert caught.value.code == "model_not_found"


@pytest.mark.parametrize("stream", [False, True])
def test_a_full_queue_is_a_rate_limit_error_with_a_time_to_wait(
    narrow: LiveServer, connect: Connect, stream: bool
) -> None:
    gauges = Gauges(connect(narrow))
    gauges.wait_idle()
    story = chat_body("Tell me a story.", ignore_eos=True, stream=True)
    with sdk(narrow.url) as api, Wire(narrow.url) as running, Wire(narrow.url) as waiting:
        running.ask(story)
        gauges.wait_running(1)
        waiting.ask(story)
        gauges.wait_queued(1)
        with pytest.raises(openai.RateLimitError) as caught:
            api.chat.completions.create(model=MODEL, messages=HELLO, stream=stream)
    assert caught.value.code == "queue_full"
    assert int(caught.value.response.headers["retry-after"]) >= 1
    gauges.wait_idle()


def test_a_client_that_retries_gets_through_a_full_queue(narrow: LiveServer, connect: Connect) -> None:
    gauges = Gauges(connect(narrow))
    gauges.wait_idle()
    refused = gauges.read()["troth:queue_full_total"]
    story = chat_body("Tell me a story.", ignore_eos=True, stream=True)
    with (
        sdk(narrow.url, max_retries=5) as api,
        ThreadPoolExecutor(1) as pool,
        Wire(narrow.url) as running,
        Wire(narrow.url) as waiting,
    ):
        running.ask(story)
        gauges.wait_running(1)
        waiting.ask(story)
        gauges.wait_queued(1)
        answer = pool.submit(api.chat.completions.create, model=MODEL, messages=HELLO, max_tokens=2)
        gauges.wait_more("troth:queue_full_total", refused)
        running.hang_up()
        waiting.hang_up()
        assert text_of(answer.result(timeout=30))


def test_a_fault_after_the_stream_began_is_an_api_error(serve_with: ServeWith, connect: Connect) -> None:
    patient = serve_with(
        config(
            models=[embedded(slots=1)], limits={"queue_seconds_max": 1.0}, stream={"keepalive_seconds": 0.2}
        )
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
