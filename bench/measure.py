"""What the engine benchmarks share: prompts that no cache has seen, chat calls, and series of rounds."""

from __future__ import annotations

import asyncio
import json
import random
import re
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from bench.servers import Running

CHAT = "/v1/chat/completions"
WORDS = ("river", "stone", "lamp", "green", "seven", "market", "cloud", "paper", "north", "music", "chair", "sun")


STEP_PARTS = ("draft", "build", "decode", "sample", "emit")


def step_seconds(running: Running) -> dict[str, float]:
    """What the engine's steps have taken so far, by part, on the engine's own clock."""
    text = httpx.get(running.url + "/metrics").text
    found = dict(re.findall(r'troth:engine_step_seconds_total\{[^}]*part="(\w+)"[^}]*\} (\S+)', text))
    return {part: float(found[part]) for part in STEP_PARTS}


def words(chance: random.Random, count: int) -> str:
    """Words of one token each."""
    return " ".join(chance.choice(WORDS) for _ in range(count))


def said(*turns: str) -> list[dict[str, str]]:
    """Messages: a system text first if there are two or more, then user and assistant in turn."""
    roles = ["user"] if len(turns) == 1 else ["system", *["user", "assistant"] * len(turns)]
    return [{"role": role, "content": text} for role, text in zip(roles, turns, strict=False)]


@dataclass
class Series:
    """The rounds of one measure by server; `higher` says which way is better."""

    name: str
    unit: str = "tok/s"
    rounds: dict[str, list[float]] = field(default_factory=dict)

    def add(self, server_name: str, value: float) -> None:
        """One more round."""
        self.rounds.setdefault(server_name, []).append(value)

    def median(self, server_name: str) -> float:
        """The middle round."""
        return statistics.median(self.rounds[server_name])

    def row(self, names: Sequence[str]) -> list[str]:
        """Medians, each with its ratio to the peer's, which is the last name."""
        cells = [f"{self.name} ({self.unit})"]
        for name in names:
            ratios = [mine / peer for mine, peer in zip(self.rounds[name], self.rounds[names[-1]], strict=True)]
            cells.append(
                f"{self.median(name):.1f}" + (f" ({statistics.median(ratios):.2f}x)" if name != names[-1] else "")
            )
        return cells


async def chat(client: httpx.AsyncClient, body: dict[str, Any]) -> dict[str, Any]:
    """The answer to a whole chat request."""
    answer: dict[str, Any] = (await client.post(CHAT, json=body)).raise_for_status().json()
    return answer


async def together(running: Running, bodies: Sequence[dict[str, Any]], *, at_once: int) -> tuple[float, list[Any]]:
    """All requests, `at_once` of them in flight; the seconds it took and the answers in order."""
    gate = asyncio.Semaphore(at_once)

    async def one(body: dict[str, Any]) -> dict[str, Any]:
        async with gate:
            return await chat(client, body)

    async with httpx.AsyncClient(base_url=running.url, timeout=900) as client:
        started = time.perf_counter()
        answers = await asyncio.gather(*(one(body) for body in bodies))
        return time.perf_counter() - started, answers


async def streamed(running: Running, bodies: Sequence[dict[str, Any]]) -> list[list[float]]:
    """All streams at once: for each the moments at which its chunks came, on raw sockets to cost little."""
    return await asyncio.gather(*(_arrivals(running, json.dumps(body).encode()) for body in bodies))


async def _arrivals(running: Running, body: bytes) -> list[float]:
    url = httpx.URL(running.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = f"POST {CHAT} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nConnection: close\r\n"
    writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
    moments: list[float] = []
    while data := await reader.read(65536):
        moments += [time.perf_counter()] * data.count(b'"delta"')
    writer.close()
    return moments


def peer_command(binary: Path, model: Path, port: int, *, threads: int, slots: int, context_tokens: int) -> list[str]:
    """llama-server with its defaults and the same sizes."""
    return [
        str(binary), "-m", str(model), "--port", str(port), "-t", str(threads), "-np", str(slots),
        "-c", str(slots * context_tokens), "--no-webui", "-lv", "1",
    ]  # fmt: skip
