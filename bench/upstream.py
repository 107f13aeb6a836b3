"""What it costs to stand in front of another server: the same llama-server asked directly, and through Troth."""

from __future__ import annotations

import asyncio
import json
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
import yaml

from bench.dialects import CHAT, MESSAGES, loop_seconds, median_ratio
from bench.engine import ENVIRONMENT
from bench.measure import peer_command
from bench.report import table, write
from bench.servers import Running, free_port, server, troth
from tests.conftest import fetch_embedded_model

STREAMS, TOKENS, CONTEXT_TOKENS = 16, 64, 512
THREADS = 1  # the other core is that of Troth and of the load
FIRSTS = 40  # first tokens of one round, in turn
RATIO_MIN, ADDED_MS_MAX = 0.9, 1.0
TALK = [{"role": "user", "content": "Tell me a long story about a lighthouse."}]
SAME = {"temperature": 0, "stream": True}


def run(llama_server: Path, *, rounds: int) -> None:
    """Medians of interleaved rounds, written to bench/results/upstream.md."""
    port, model = free_port(), fetch_embedded_model()
    peer = peer_command(llama_server, model, port, threads=THREADS, slots=STREAMS, context_tokens=CONTEXT_TOKENS)
    with server("direct", peer, port, env=ENVIRONMENT) as direct, tempfile.TemporaryDirectory() as folder:
        options = {"server": "llama_server", "urls": [direct.url]}
        file = Path(folder) / "troth.yaml"
        file.write_text(yaml.safe_dump({"models": [{"id": "far", "engine": "upstream", "options": options}]}))
        command, own_port = troth("--config", str(file), "--set=log.level=warning")
        with server("through", command, own_port) as through:
            rates, loop_us = asyncio.run(_rates(direct, through, rounds))
            firsts = asyncio.run(_firsts(direct, through, rounds))
    _report(rates, loop_us, firsts, rounds)


async def _rates(direct: Running, through: Running, rounds: int) -> tuple[dict[str, list[float]], list[float]]:
    """Tokens a second by way, and the microseconds of Troth's event loop for a token."""
    rates: dict[str, list[float]] = {}
    loop_us = []
    ways = {"direct": (direct, CHAT), "through, chat": (through, CHAT), "through, Messages": (through, MESSAGES)}
    for running, path in ways.values():
        await _streamed(running, path, 4)
    for number in range(rounds):
        names = list(ways) if number % 2 == 0 else list(ways)[::-1]
        for name in names:
            running, path = ways[name]
            before = loop_seconds(through)
            rates.setdefault(name, []).append(STREAMS * TOKENS / await _streamed(running, path, TOKENS))
            if name == "through, chat":
                loop_us.append((loop_seconds(through) - before) / (STREAMS * TOKENS) * 1e6)
    return rates, loop_us


async def _streamed(running: Running, path: str, tokens: int) -> float:
    """Seconds until all streams have ended."""
    limits = httpx.Limits(max_connections=STREAMS)
    body = {"messages": TALK, "max_tokens": tokens, "ignore_eos": True, **SAME}
    async with httpx.AsyncClient(base_url=running.url, timeout=600, limits=limits, trust_env=False) as client:

        async def one() -> None:
            read = b""
            async with client.stream("POST", path, json=body) as answer:
                answer.raise_for_status()
                async for piece in answer.aiter_raw():
                    read = piece
            if b"[DONE]" not in read and b"message_stop" not in read:
                raise RuntimeError(f"a stream did not end: {read[-300:]!r}")

        started = time.perf_counter()
        await asyncio.gather(*(one() for _ in range(STREAMS)))
        return time.perf_counter() - started


async def _firsts(direct: Running, through: Running, rounds: int) -> dict[str, list[float]]:
    """Milliseconds to the first token of an answer whose prompt is cached, one request at a time, in turn."""
    found: dict[str, list[float]] = {}
    body = {"messages": TALK, "max_tokens": 1, **SAME}
    async with (
        httpx.AsyncClient(base_url=direct.url, timeout=600, trust_env=False) as one,
        httpx.AsyncClient(base_url=through.url, timeout=600, trust_env=False) as other,
    ):
        for _ in range(rounds * FIRSTS):
            for name, client in (("direct", one), ("through", other)):
                found.setdefault(name, []).append(await _first(client, body))
    return found


async def _first(client: httpx.AsyncClient, body: dict[str, Any]) -> float:
    started, first = time.perf_counter(), 0.0
    async with client.stream("POST", CHAT, content=json.dumps(body)) as answer:
        async for _ in answer.aiter_raw():
            first = first or time.perf_counter()
    return (first - started) * 1e3


def _report(rates: dict[str, list[float]], loop_us: list[float], firsts: dict[str, list[float]], rounds: int) -> None:
    ratios = {name: median_ratio(found, rates["direct"]) for name, found in rates.items()}
    added = statistics.median(a - b for a, b in zip(firsts["through"], firsts["direct"], strict=True))
    rows = [[name, f"{statistics.median(found):.0f}", f"{ratios[name]:.3f}x"] for name, found in rates.items()]
    ratio = min(ratio for name, ratio in ratios.items() if name != "direct")
    write(
        "upstream",
        "In front of another server",
        f"The same llama-server (SmolLM2-135M-Instruct Q4_1, {THREADS} thread, {STREAMS} slots) asked directly and "
        f"through Troth, {rounds} interleaved rounds, medians; a ratio is the median of the rounds' ratios.",
        f"{STREAMS} streams of {TOKENS} tokens at once:",
        table(["way", "tokens/s", "÷ direct"], rows),
        f"Troth's event loop takes {statistics.median(loop_us):.0f} µs of processor time for a token of chat "
        f"(least {min(loop_us):.0f}).",
        f"The first token of an answer whose prompt is cached, {rounds * FIRSTS} requests in turn:",
        table(["way", "ms"], [[name, f"{statistics.median(found):.2f}"] for name, found in firsts.items()]),
        f"Added to the first token: {added:.2f} ms (median of the differences).",
        "Target:\n\n"
        f"- tokens a second: {'met' if ratio >= RATIO_MIN else 'MISSED'} ({ratio:.3f}x, at least {RATIO_MIN})\n"
        f"- added to the first token: {'met' if added <= ADDED_MS_MAX else 'MISSED'} "
        f"({added:.2f} ms, at most {ADDED_MS_MAX})",
    )
