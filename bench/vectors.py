"""Vectors and relevance against llama-server, and batches against none: same files, threads and requests, in turns."""

from __future__ import annotations

import asyncio
import json
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import yaml

from bench.measure import Series, words
from bench.report import table, write
from bench.servers import Running, free_port, server, troth
from tests.support.bert_gguf import write_gguf
from tests.support.vector_models import embedder, fetched, in_gguf, reranker

THREADS = 2
TEXTS, CLIENTS, DOCUMENTS = 256, 32, 100
EMBED, RERANK = "/v1/embeddings", "/v1/rerank"
PEER_SLOTS = 16  # more than llama-server's default of four, which is measured too
ENVIRONMENT = {"GOMP_SPINCOUNT": "1000"}

Measure = Callable[[Running], float]


def run(llama_server: Path, *, rounds: int) -> None:
    """Texts per second in one request and in many, and documents per second, written to bench/results/vectors.md."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        files = {kind: write_gguf(fetched(kind), kind, place / f"{kind}.gguf") for kind in ("embedding", "rerank")}
        chance = random.Random(1)
        one, many, documents = (partial(each, chance) for each in (_one_request, _many_clients, _documents))
        sections = [
            ("vectors, GGUF", _gguf(files["embedding"], "embedding", llama_server, place),
             [("256 texts in one request", one), ("32 clients with a text each", many)]),
            ("relevance, GGUF", _gguf(files["rerank"], "rerank", llama_server, place), [("100 documents", documents)]),
            ("vectors, ONNX in 8 bits", _onnx(embedder, place),
             [("256 texts in one request", one), ("32 clients with a text each", many)]),
            ("relevance, ONNX in 8 bits", _onnx(reranker, place), [("100 documents", documents)]),
        ]  # fmt: skip
        tables = [f"## {title}\n\n{_section(servers, measures, rounds)}" for title, servers, measures in sections]
    write(
        "vectors",
        "Vectors and relevance: texts and documents per second",
        f"bge-small-en-v1.5 and ms-marco-MiniLM-L-12-v2, {THREADS} threads, texts of 6 to 12 words, {rounds} "
        "interleaved rounds, medians; in brackets the median of the rounds' ratios to the last column. `alone` is "
        "Troth with `batch_sequences: 1`, the default for models in 8 bits.",
        "\n\n".join(tables),
    )


def _section(
    servers: Iterator[AbstractContextManager[Running]], measures: Sequence[tuple[str, Measure]], rounds: int
) -> str:
    series = [(Series(title, "1/s"), measure) for title, measure in measures]
    with ExitStack() as stack:
        running = [stack.enter_context(each) for each in servers]
        for each in running:
            series[0][1](each)
        for number in range(rounds):
            for made, measure in series:
                for each in running if number % 2 == 0 else running[::-1]:
                    made.add(each.name, measure(each))
    names = [each.name for each in running]
    return table(["measure", *names], [made.row(names) for made, _ in series])


def _gguf(file: Path, kind: str, llama_server: Path, folder: Path) -> Iterator[AbstractContextManager[Running]]:
    yield _troth("troth", in_gguf(kind, file), folder)
    yield _troth("troth alone", in_gguf(kind, file, batch_sequences=1), folder)
    for slots in (4, PEER_SLOTS):
        port = free_port()
        switch = "--embedding" if kind == "embedding" else "--reranking"
        command = [
            str(llama_server), "-m", str(file), switch, "--port", str(port), "-t", str(THREADS), "-np", str(slots),
            "-c", str(512 * slots), "-b", "2048", "-ub", "2048", "--no-webui", "-lv", "1",
        ]  # fmt: skip
        yield server(f"llama-server, {slots} slots", command, port, env=ENVIRONMENT)


def _onnx(model: Callable[..., dict[str, Any]], folder: Path) -> Iterator[AbstractContextManager[Running]]:
    yield _troth("troth batched", model(batch_sequences=64), folder)
    yield _troth("troth alone", model(batch_sequences=1), folder)


def _troth(name: str, model: dict[str, Any], folder: Path) -> AbstractContextManager[Running]:
    file = folder / f"{model['id']}-{name.replace(' ', '-')}.yaml"
    file.write_text(yaml.safe_dump({"models": [model], "log": {"level": "warning"}}), "utf-8")
    command, port = troth("--config", str(file))
    return server(name, command, port, env=ENVIRONMENT)


def _texts(chance: random.Random, count: int) -> list[str]:
    return [words(chance, chance.randint(6, 12)) for _ in range(count)]


def _one_request(chance: random.Random, running: Running) -> float:
    body = {"input": _texts(chance, TEXTS), "encoding_format": "base64"}
    return TEXTS / _seconds(running, EMBED, body)


def _documents(chance: random.Random, running: Running) -> float:
    body = {"query": words(chance, 6), "documents": [words(chance, 30) for _ in range(DOCUMENTS)]}
    return DOCUMENTS / _seconds(running, RERANK, body)


def _seconds(running: Running, path: str, body: dict[str, Any]) -> float:
    started = time.perf_counter()
    httpx.post(running.url + path, json=body, timeout=600).raise_for_status()
    return time.perf_counter() - started


def _many_clients(chance: random.Random, running: Running) -> float:
    """Each client asks for one text after the other, on a connection of its own."""
    share = TEXTS // CLIENTS
    bodies = [[json.dumps({"input": text, "encoding_format": "base64"}).encode() for text in _texts(chance, share)]
              for _ in range(CLIENTS)]  # fmt: skip

    async def all_clients() -> float:
        started = time.perf_counter()
        await asyncio.gather(*(_client(running, each) for each in bodies))
        return time.perf_counter() - started

    return TEXTS / asyncio.run(all_clients())


async def _client(running: Running, bodies: Sequence[bytes]) -> None:
    url = httpx.URL(running.url)
    reader, writer = await asyncio.open_connection(url.host, url.port)
    head = f"POST {EMBED} HTTP/1.1\r\nHost: bench\r\nContent-Type: application/json\r\nContent-Length: "
    for body in bodies:
        writer.write(f"{head}{len(body)}\r\n\r\n".encode() + body)
        answer = (await reader.readuntil(b"\r\n\r\n")).lower()
        assert answer.startswith(b"http/1.1 200"), answer
        await reader.readexactly(int(answer.partition(b"content-length:")[2].partition(b"\r\n")[0]))
    writer.close()
