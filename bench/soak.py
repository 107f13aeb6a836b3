"""Mixed load for a while: nothing fails, memory stays flat, /health stays quick, Python stays out of the way."""

from __future__ import annotations

import asyncio
import random
import statistics
import time
from typing import Any

import httpx

from bench.engine import DECODE_TOKENS, ENVIRONMENT, SLOTS, THREADS
from bench.measure import CHAT, STEP_PARTS, said, step_seconds, words
from bench.report import table, write
from bench.servers import Running, server, troth

REQUESTS = 2000
WARM_REQUESTS = 400
AT_ONCE = 12
PROBE_GAP_SECONDS = 0.02
STREAMS = 16


def run(*, requests: int = REQUESTS) -> None:
    """Errors, memory and latencies, written to bench/results/soak.md."""
    settings = {"slots": SLOTS, "context_tokens": 1024, "threads": THREADS, "prefix_cache_bytes": 100_000_000}
    sets = [f"--set=models.0.options.{key}={value}" for key, value in settings.items()]
    command, port = troth(*sets, "--set=log.level=warning")
    with server("troth", command, port, env=ENVIRONMENT) as running:
        shares = _step_shares(running)
        probes = asyncio.run(_health_beside_streams(running))
        statuses, before, after = asyncio.run(_mixed(running, requests))
        idle = httpx.get(running.url + "/health").json()["in_flight"]
    rows = [
        ["requests of mixed sizes, some cut off by their client", str(requests)],
        ["answers by status", ", ".join(f"{status}: {count}" for status, count in sorted(statuses.items()))],
        [f"memory after {WARM_REQUESTS} and after all requests", f"{before / 1e6:.0f} MB, {after / 1e6:.0f} MB"],
        ["growth", f"{(after / before - 1) * 100:+.1f} %"],
        ["in flight afterwards", str(idle)],
        [f"/health beside {STREAMS} streams, p50", f"{statistics.median(probes) * 1e3:.1f} ms"],
        [f"/health beside {STREAMS} streams, p99", f"{statistics.quantiles(probes, n=100)[98] * 1e3:.1f} ms"],
        [f"time of a step outside decode, {STREAMS} streams", f"{(1 - shares['decode']) * 100:.1f} %"],
        [
            "of which draft, build, sample, emit",
            ", ".join(f"{shares[part] * 100:.1f} %" for part in STEP_PARTS if part != "decode"),
        ],
    ]
    write("soak", "Soak: mixed load on one server", table(["measure", "value"], rows))


def _bodies(count: int, chance: random.Random, **fields: Any) -> list[dict[str, Any]]:
    return [{"messages": said("Tell a story. " + words(chance, 6)), "temperature": 0, **fields} for _ in range(count)]


def _step_shares(running: Running) -> dict[str, float]:
    """Shares of the steps' time while STREAMS answers are written."""

    async def load() -> None:
        async with httpx.AsyncClient(base_url=running.url, timeout=600) as client:
            bodies = _bodies(STREAMS, random.Random(1), max_tokens=DECODE_TOKENS, ignore_eos=True)
            await asyncio.gather(*(client.post(CHAT, json=body) for body in bodies))

    before = step_seconds(running)
    asyncio.run(load())
    spent = {part: seconds - before[part] for part, seconds in step_seconds(running).items()}
    return {part: seconds / sum(spent.values()) for part, seconds in spent.items()}


async def _health_beside_streams(running: Running) -> list[float]:
    """Seconds of /health while STREAMS streams run."""
    seconds: list[float] = []
    async with httpx.AsyncClient(base_url=running.url, timeout=600) as client:

        async def stream(body: dict[str, Any]) -> None:
            async with client.stream("POST", CHAT, json=body) as answer:
                async for _ in answer.aiter_bytes():
                    continue

        bodies = _bodies(STREAMS, random.Random(2), max_tokens=DECODE_TOKENS, ignore_eos=True, stream=True)
        load = asyncio.gather(*(stream(body) for body in bodies))
        while not load.done():
            started = time.perf_counter()
            (await client.get("/health")).raise_for_status()
            seconds.append(time.perf_counter() - started)
            await asyncio.sleep(PROBE_GAP_SECONDS)
        await load
    return seconds


async def _mixed(running: Running, count: int) -> tuple[dict[int, int], int, int]:
    """Answers by status (0: the client left early), and resident bytes after the warm-up and at the end."""
    chance, statuses, gate = random.Random(3), dict[int, int](), asyncio.Semaphore(AT_ONCE)
    async with httpx.AsyncClient(base_url=running.url, timeout=600) as client:

        async def one() -> None:
            body = {
                "messages": said(words(chance, chance.choice([2, 10, 40, 200]))),
                "max_tokens": chance.choice([1, 4, 16]),
                "temperature": chance.choice([0, 0.8]),
                "n": chance.choice([1, 1, 1, 2]),
                "stream": False,
            }
            patience = 0.05 if chance.random() < 0.05 else 600
            async with gate:
                try:
                    status = (await client.post(CHAT, json=body, timeout=patience)).status_code
                except httpx.TimeoutException:
                    status = 0
            statuses[status] = statuses.get(status, 0) + 1

        await asyncio.gather(*(one() for _ in range(WARM_REQUESTS)))
        before = running.resident_bytes()
        await asyncio.gather(*(one() for _ in range(count - WARM_REQUESTS)))
    return statuses, before, running.resident_bytes()
