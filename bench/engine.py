"""The engine against llama-server: the same file, the same threads, the same requests, in turns."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

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
WORDS = ("river", "stone", "lamp", "green", "seven", "market", "cloud", "paper", "north", "music", "chair", "sun")


@dataclass
class Series:
    """The rounds of one measure, in tokens per second, by server."""

    name: str
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, server_name: str, value: float) -> None:
        """One more round."""
        self.rounds.setdefault(server_name, []).append(value)

    def row(self, names: list[str]) -> list[str]:
        """Medians, each with its ratio to the peer's, which is the last name."""
        peer = statistics.median(self.rounds[names[-1]])
        cells = []
        for name in names:
            median = statistics.median(self.rounds[name])
            cells.append(f"{median:.1f} ({median / peer:.2f}x)" if name != names[-1] else f"{median:.1f}")
        return [self.name, *cells]


def run(llama_server: Path, *, rounds: int) -> None:
    """Decode at several numbers of streams and prefill at two lengths, written to bench/results/engine.md."""
    model = fetch_embedded_model()
    with ExitStack() as stack:
        running = [stack.enter_context(each) for each in _servers(llama_server, model)]
        names = [each.name for each in running]
        chance = random.Random(1)
        measures: list[tuple[Series, Callable[[Running], float]]] = []
        for streams in STREAMS:
            measures.append(
                (Series(f"decode, {streams} streams"), lambda each, n=streams: asyncio.run(_decode(each, n, chance)))
            )
        for tokens in PROMPT_TOKENS:
            measures.append((Series(f"prefill, {tokens} tokens"), lambda each, n=tokens: _prefill(each, n, chance)))
        for each in running:
            asyncio.run(_decode(each, 1, chance))
        for _ in range(rounds):
            for series, measure in measures:
                for each in running:
                    series.add(each.name, measure(each))
    write(
        "engine",
        "Engine: tokens per second, beside llama-server",
        f"SmolLM2-135M-Instruct Q4_1, {THREADS} threads, {SLOTS} slots, {rounds} interleaved rounds, medians. "
        f"Decode: {DECODE_TOKENS} tokens per stream, all streams together, by wall clock. Prefill: `timings`.",
        table(["measure", *names], [series.row(names) for series, _ in measures]),
    )


def _servers(llama_server: Path, model: Path) -> Iterator[Any]:
    options = {
        "slots": SLOTS,
        "context_tokens": CONTEXT_TOKENS,
        "threads": THREADS,
    }
    sets = [f"--set=models.0.options.{key}={value}" for key, value in options.items()]
    command, port = troth(*sets, "--set=log.level=warning")
    yield server("troth", command, port, env=ENVIRONMENT)
    port = free_port()
    peer = [
        str(llama_server), "-m", str(model), "--port", str(port), "-t", str(THREADS), "-np", str(SLOTS),
        "-c", str(SLOTS * CONTEXT_TOKENS), "--no-webui", "-lv", "1",
    ]  # fmt: skip
    yield server("llama-server", peer, port, env=ENVIRONMENT)


async def _decode(running: Running, streams: int, chance: random.Random) -> float:
    """Tokens per second over all streams, from the first token of the last stream on none is left out."""
    body = {
        "messages": [{"role": "user", "content": "Tell me a story. " + _words(chance, 4)}],
        "max_tokens": DECODE_TOKENS,
        "temperature": 0,
        "ignore_eos": True,
        "stream": False,
    }
    async with httpx.AsyncClient(base_url=running.url, timeout=600) as client:
        started = time.perf_counter()
        answers = await asyncio.gather(*(client.post("/v1/chat/completions", json=body) for _ in range(streams)))
        seconds = time.perf_counter() - started
    timings = [answer.raise_for_status().json()["timings"] for answer in answers]
    if streams == 1:
        rate: float = timings[0]["predicted_per_second"]
        return rate
    return sum(each["predicted_n"] for each in timings) / seconds


def _prefill(running: Running, tokens: int, chance: random.Random) -> float:
    """Prompt tokens per second of a prompt that no cache has seen."""
    body = {
        "messages": [{"role": "user", "content": _words(chance, tokens - 30)}],
        "max_tokens": 1,
        "temperature": 0,
    }
    timings = (
        httpx.post(f"{running.url}/v1/chat/completions", json=body, timeout=600).raise_for_status().json()["timings"]
    )
    assert timings["cache_n"] < 64, "the prompt was in the cache"
    rate: float = timings["prompt_per_second"]
    return rate


def _words(chance: random.Random, count: int) -> str:
    """Words of one token each."""
    return " ".join(chance.choice(WORDS) for _ in range(count))
