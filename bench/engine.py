"""The engine against llama-server: the same file, the same threads, the same requests, in turns."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx

from bench.measure import CHAT, Series, peer_command, said, streamed, words
from bench.report import table, write
from bench.servers import Running, free_port, server, troth
from tests.conftest import fetch_embedded_model

THREADS = 2
SLOTS = 16
CONTEXT_TOKENS = 4096
DECODE_TOKENS = 96
STREAMS = (1, 4, 8, 16)
PROMPT_TOKENS = (512, 2048)
# Both programs get it: without a bound, spinning workers starve each other on shared cores.
ENVIRONMENT = {"GOMP_SPINCOUNT": "1000"}


def run(llama_server: Path, *, rounds: int) -> None:
    """Decode at several numbers of streams and prefill at two lengths, written to bench/results/engine.md."""
    model = fetch_embedded_model()
    chance = random.Random(1)
    measures: list[tuple[Series, Callable[[Running], float]]] = []
    for streams in STREAMS:
        measures.append((Series(f"decode, {streams} streams"), partial(decode, streams, chance)))
    for tokens in PROMPT_TOKENS:
        measures.append((Series(f"prefill, {tokens} tokens"), partial(prefill, tokens, chance)))
    with ExitStack() as stack:
        running = [stack.enter_context(each) for each in servers(llama_server, model, SLOTS)]
        names = [each.name for each in running]
        for each in running:
            decode(1, chance, each)
        for number in range(rounds):
            for series, measure in measures:
                order = running if number % 2 == 0 else running[::-1]
                for each in order:
                    series.add(each.name, measure(each))
    write(
        "engine",
        "Engine: tokens per second, beside llama-server",
        f"SmolLM2-135M-Instruct Q4_1, {THREADS} threads, {SLOTS} slots of {CONTEXT_TOKENS} tokens, {rounds} "
        "interleaved rounds, medians; in brackets the median of the rounds' ratios. "
        f"Decode: {DECODE_TOKENS} tokens per stream at temperature 0, counted at the client between the moment when "
        "the last stream has begun and the moment when the first has ended. Prefill: `timings`. Speculation is off on "
        "both sides.",
        table(["measure", *names], [series.row(names) for series, _ in measures]),
    )


def servers(
    llama_server: Path, model: Path, slots: int, context_tokens: int = CONTEXT_TOKENS, **options: Any
) -> Iterator[AbstractContextManager[Running]]:
    """Troth with strict and with fast determinism, and llama-server with its defaults."""
    options = {"draft_tokens_max": 0, **options}
    for determinism in ("strict", "fast"):
        settings = {
            "slots": slots,
            "context_tokens": context_tokens,
            "threads": THREADS,
            "determinism": determinism,
            **options,
        }
        sets = [f"--set=models.0.options.{key}={value}" for key, value in settings.items()]
        command, port = troth(*sets, "--set=log.level=warning", "--set=limits.choices_max=32")
        yield server(f"troth {determinism}", command, port, env=ENVIRONMENT)
    port = free_port()
    command = peer_command(llama_server, model, port, threads=THREADS, slots=slots, context_tokens=context_tokens)
    yield server("llama-server", command, port, env=ENVIRONMENT)


def decode(streams: int, chance: random.Random, running: Running) -> float:
    """Tokens per second over all streams, while all of them speak: reading their prompts is not in it."""
    bodies = [
        {
            "messages": said("Tell me a story. " + words(chance, 4)),
            "max_tokens": DECODE_TOKENS,
            "temperature": 0,
            "ignore_eos": True,
            "stream": True,
        }
        for _ in range(streams)
    ]
    arrivals = asyncio.run(streamed(running, bodies))
    start, end = max(times[0] for times in arrivals), min(times[-1] for times in arrivals)
    return sum(start < at <= end for times in arrivals for at in times) / (end - start)


def prefill(tokens: int, chance: random.Random, running: Running) -> float:
    """Prompt tokens per second of a prompt that no cache has seen."""
    body = {"messages": said(words(chance, tokens - 30)), "max_tokens": 1, "temperature": 0}
    answer = httpx.post(running.url + CHAT, json=body, timeout=600).raise_for_status().json()
    assert answer["timings"]["cache_n"] < 64, "the prompt was in the cache"
    rate: float = answer["timings"]["prompt_per_second"]
    return rate
