"""What it costs that an engine lives in a process of its own, beside the same engine on a thread of the server."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Any

import httpx

from bench.engine import CONTEXT_TOKENS, ENVIRONMENT, THREADS, decode, prefill
from bench.measure import Series, chat, said, streamed, words
from bench.report import table, write
from bench.servers import Running, server, troth

SLOTS = 16
STREAMS = (1, 4, 16)
PROMPT_TOKENS = (512, 2048)
LAG_TOKENS = 64
CACHED_TOKENS = 1024
ISOLATIONS = ("process", "thread")  # the last one is what the other is compared with


def run(*, rounds: int) -> None:
    """Decode, prefill, the event loop's answers beside streams, and a cached prompt; written to
    bench/results/isolation.md."""
    chance = random.Random(1)
    measures: list[tuple[Series, Callable[[Running], float]]] = [
        *((Series(f"decode, {streams} streams"), partial(decode, streams, chance)) for streams in STREAMS),
        *((Series(f"prefill, {tokens} tokens"), partial(prefill, tokens, chance)) for tokens in PROMPT_TOKENS),
        (Series("decode with logprobs, 1 stream"), partial(_with_logprobs, chance)),
        (Series(f"GET /ping beside {SLOTS} streams, 99th percentile", "ms"), partial(_lag, chance)),
        (Series(f"first token behind {CACHED_TOKENS} cached tokens", "ms"), partial(_cached, chance)),
        (Series("counting the tokens of 20 words", "ms"), partial(_counting, chance)),
    ]
    with ExitStack() as stack:
        running = [stack.enter_context(_server(isolation)) for isolation in ISOLATIONS]
        for each in running:
            decode(1, chance, each)
        for number in range(rounds):
            for series, measure in measures:
                for each in running if number % 2 == 0 else running[::-1]:
                    series.add(each.name, measure(each))
    write(
        "isolation",
        "An engine in a process of its own, beside one on a thread of the server",
        f"SmolLM2-135M-Instruct Q4_1, {THREADS} threads, {SLOTS} slots of {CONTEXT_TOKENS} tokens, determinism strict, "
        f"{rounds} interleaved rounds, medians, in brackets the median of their ratios. Tokens per second: higher "
        "is better; milliseconds: lower is. Speculation is off.",
        table(["measure", *ISOLATIONS], [series.row(ISOLATIONS) for series, _ in measures]),
    )


def _server(isolation: str) -> Any:
    options = {"slots": SLOTS, "context_tokens": CONTEXT_TOKENS, "threads": THREADS, "draft_tokens_max": 0}
    sets = [f"--set=models.0.options.{key}={value}" for key, value in options.items()]
    command, port = troth(*sets, f"--set=models.0.isolation={isolation}", "--set=log.level=warning")
    return server(isolation, command, port, env=ENVIRONMENT)


def _story(chance: random.Random, **fields: Any) -> dict[str, Any]:
    text = "Tell me a story. " + words(chance, 4)
    return {"messages": said(text), "temperature": 0, "ignore_eos": True, **fields}


def _with_logprobs(chance: random.Random, running: Running) -> float:
    body = _story(chance, max_tokens=96, logprobs=True, top_logprobs=5)
    answer = httpx.post(running.url + "/v1/chat/completions", json=body, timeout=600).raise_for_status().json()
    rate: float = answer["timings"]["predicted_per_second"]
    return rate


def _lag(chance: random.Random, running: Running) -> float:
    """How long the event loop takes to answer while all slots speak."""

    async def ask(over: asyncio.Event) -> list[float]:
        seconds: list[float] = []
        async with httpx.AsyncClient(base_url=running.url, timeout=60) as client:
            while not over.is_set():
                started = time.perf_counter()
                (await client.get("/ping")).raise_for_status()
                seconds.append(time.perf_counter() - started)
                await asyncio.sleep(0.01)
        return sorted(seconds)

    async def both() -> list[float]:
        over = asyncio.Event()
        asking = asyncio.create_task(ask(over))
        await streamed(running, [_story(chance, max_tokens=LAG_TOKENS, stream=True) for _ in range(SLOTS)])
        over.set()
        return await asking

    seconds = asyncio.run(both())
    return 1e3 * seconds[int(0.99 * len(seconds))]


def _cached(chance: random.Random, running: Running) -> float:
    """Milliseconds from a request to its answer of one token, when all but the last words are cached."""
    text = words(chance, CACHED_TOKENS - 30)

    async def twice() -> float:
        async with httpx.AsyncClient(base_url=running.url, timeout=600) as client:
            body = {"messages": said(text), "max_tokens": 1, "temperature": 0}
            await chat(client, body)
            started = time.perf_counter()
            answer = await chat(client, body)
            assert answer["timings"]["cache_n"] > CACHED_TOKENS / 2, "the prompt was not in the cache"
            return 1e3 * (time.perf_counter() - started)

    return asyncio.run(twice())


def _counting(chance: random.Random, running: Running) -> float:
    body = {"content": words(chance, 20)}
    with httpx.Client(base_url=running.url) as client:
        seconds = []
        for _ in range(50):
            started = time.perf_counter()
            client.post("/tokenize", json=body).raise_for_status()
            seconds.append(time.perf_counter() - started)
    return 1e3 * sorted(seconds)[len(seconds) // 2]
