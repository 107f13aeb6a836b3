"""The OpenAI SDK, unchanged, against the live server; it validates every answer with its own types."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from openai import AsyncOpenAI, OpenAI
from openai.types.chat import ChatCompletion, ChatCompletionMessageParam

from tests.support.live import LiveServer
from tests.support.sdk import HELLO, MODEL, joined, sdk, text_of, timings_of
from tests.support.wire import Gauges


@pytest.fixture(scope="module")
def api(server: LiveServer) -> Iterator[OpenAI]:
    """The SDK at the usual server."""
    with sdk(server.url) as api:
        yield api


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
    asked: dict[str, Any] = {"model": MODEL, "messages": HELLO, "temperature": 0, "max_tokens": 60, "stop": ["!", "."]}
    with api.chat.completions.stream(**asked) as stream:
        kinds = {event.type for event in stream}
        final = stream.get_final_completion()
    assert {"chunk", "content.delta", "content.done"} <= kinds
    assert final.choices[0].message.content == text_of(api.chat.completions.create(**asked))


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
