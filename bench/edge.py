"""What the edge costs: a chat request that the contract refuses, so that no model runs, beside FastAPI and
bare Starlette with the same pydantic class; and how long /health takes while the engine is busy."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import threading
from collections.abc import Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from pathlib import Path

import httpx

from bench.load import generator, press, probe
from bench.peers import APPS, PATH
from bench.report import table, write
from bench.servers import Running, free_port, server, troth

SECONDS = 1.0  # of one measurement
TURNS = 3  # measurements of a round, which takes a minute and a half
CONNECTIONS = 4
WARM_REQUESTS = 50
SIZES = {"8 KB, 20 messages": (8_000, 20), "200 KB, 150 messages": (200_000, 150)}
PLACES = ("a field of the request", "a field of its last message")  # what the contract refuses
CPU_RATIO_MAX = 1.3  # Troth over bare Starlette and the class
RATE_RATIO_MIN = 1.0  # Troth over FastAPI, requests per second of one core

STREAMS = 4
PROBES = 200
PROBE_GAP_SECONDS = 0.02


@dataclass(frozen=True, slots=True)
class Cost:
    """One measurement: requests per second by the clock, and processor time of the server per request."""

    rate: float
    cpu_seconds: float


def run(*, rounds: int) -> None:
    """Requests per second and processor time per request, written to bench/results/edge.md."""
    costs = _costs(rounds)
    idle, busy = _health()
    write(
        "edge",
        "Edge: a refused chat request, and /health beside a busy engine",
        f"`POST {PATH}`, refused with 400 because it asks for what is guarded, in a field of the request or in one of "
        f"its last message; no model runs. {CONNECTIONS} connections from {generator()}, one worker, uvloop and "
        f"httptools, {rounds * TURNS} interleaved turns of {SECONDS:.0f} s, medians; a ratio is the median of the "
        "turns' ratios. Troth looks at every field and message and writes its log line for every request; the peers "
        "look at one field, know without looking that the last message is at fault, and write nothing. `per core` is "
        "requests per second of processor time, `CPU µs` the processor time of a request, beside it the least of all "
        "turns.",
        _cost_table(costs),
        _verdict(costs),
        f"`GET /health`, {PROBES} requests {PROBE_GAP_SECONDS * 1e3:.0f} ms apart, SmolLM2-135M:",
        table(["engine", "p50", "p99"], [["idle", *_percentiles(idle)], [f"{STREAMS} streams", *_percentiles(busy)]]),
    )


def body(size: int, messages: int, place: str) -> bytes:
    """A conversation of about `size` bytes that asks for what is guarded."""
    text = ("The quick brown fox jumps over the lazy dog. " * (size // 45))[: size // messages - 44]
    turns: list[dict[str, object]] = [
        {"role": ("user", "assistant")[index % 2], "content": text} for index in range(messages)
    ]
    request = {"model": "smollm2-135m", "messages": turns, "temperature": 0.7, "max_tokens": 256, "stream": True}
    if place == PLACES[0]:
        request["best_of"] = 3
    else:
        turns[-1] = {"role": "assistant", "content": text, "prefix": True}
    return json.dumps(request).encode()


def bodies() -> dict[str, bytes]:
    """The bodies that are measured, by what is in them."""
    return {
        f"{name}; {place}": body(size, messages, place) for name, (size, messages) in SIZES.items() for place in PLACES
    }


# ---- the refused request ------------------------------------------------------------------------


def _costs(rounds: int) -> dict[str, dict[str, list[Cost]]]:
    """The measurements of every server, by body; who begins changes from turn to turn."""
    contents = bodies()
    found: dict[str, dict[str, list[Cost]]] = {name: {app: [] for app in APPS} for name in contents}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        running = [stack.enter_context(_start(name)) for name in APPS]
        files = {}
        for number, (name, content) in enumerate(contents.items()):
            files[name] = folder / f"{number}.json"
            files[name].write_bytes(content)
            _check_same_answers(running, content)
        for turn in range(rounds * TURNS):
            first = turn % len(running)
            for name, file in files.items():
                for each in (*running[first:], *running[:first]):
                    found[name][each.name].append(_cost(each, file))
    return found


def _start(name: str) -> AbstractContextManager[Running]:
    port = free_port()
    return server(name, [sys.executable, "-m", "bench.peers", name, str(port)], port, ready="/ping")


def _check_same_answers(running: Sequence[Running], content: bytes) -> None:
    """Every server says the same, so that what is measured is how. Also warms them up."""
    answers = set()
    for each in running:
        with httpx.Client(base_url=each.url, headers={"Content-Type": "application/json"}) as client:
            for _ in range(WARM_REQUESTS):
                answer = client.post(PATH, content=content)
            answers.add((answer.status_code, json.dumps(answer.json(), sort_keys=True)))
    if len(answers) != 1:
        raise RuntimeError(f"the servers do not answer the same: {answers}")


def _cost(running: Running, file: Path) -> Cost:
    before = running.cpu_seconds()
    load = press(running.url + PATH, file, seconds=SECONDS, connections=CONNECTIONS)
    return Cost(load.requests / load.seconds, (running.cpu_seconds() - before) / load.requests)


def _ratio(costs: dict[str, list[Cost]], app: str, peer: str) -> float:
    """Processor time of `app` over that of `peer`: the median of the turns, each compared within itself."""
    return statistics.median(
        ours.cpu_seconds / theirs.cpu_seconds for ours, theirs in zip(costs[app], costs[peer], strict=True)
    )


def _cost_table(costs: dict[str, dict[str, list[Cost]]]) -> str:
    rows = []
    for name, apps in costs.items():
        for app, rounds in apps.items():
            cpu = statistics.median(cost.cpu_seconds for cost in rounds)
            rows.append(
                [
                    name,
                    app,
                    f"{statistics.median(cost.rate for cost in rounds):.0f}",
                    f"{1 / cpu:.0f}",
                    f"{cpu * 1e6:.0f}",
                    f"{min(cost.cpu_seconds for cost in rounds) * 1e6:.0f}",
                    f"{_ratio(apps, app, 'starlette'):.2f}",
                    f"{1 / _ratio(apps, app, 'fastapi'):.2f}",
                ]
            )
    head = ["body", "server", "req/s", "per core", "CPU µs", "least", "CPU ÷ starlette", "per core ÷ fastapi"]
    return table(head, rows)


def _verdict(costs: dict[str, dict[str, list[Cost]]]) -> str:
    lines = []
    for name, apps in costs.items():
        cpu, rate = _ratio(apps, "troth", "starlette"), 1 / _ratio(apps, "troth", "fastapi")
        word = "met" if cpu <= CPU_RATIO_MAX and rate >= RATE_RATIO_MIN else "MISSED"
        lines.append(
            f"- {name}: {word} (CPU {cpu:.2f}x of bare Starlette, at most {CPU_RATIO_MAX}; "
            f"{rate:.2f}x the requests per core of FastAPI, at least {RATE_RATIO_MIN})"
        )
    return "\n".join(["Target:", "", *lines])


# ---- /health beside a busy engine ---------------------------------------------------------------


def _health() -> tuple[list[float], list[float]]:
    """Seconds of /health without and with streams under way, on the real model."""
    command, port = troth("--set=log.level=warning", "--set=models.0.options.determinism=fast")  # starts sooner
    with server("troth", command, port) as running:
        idle = probe(running.url + "/health", count=PROBES, gap_seconds=PROBE_GAP_SECONDS)
        over = threading.Event()
        begun = threading.Barrier(STREAMS + 1)
        streams = [threading.Thread(target=_stream, args=(running.url, begun, over)) for _ in range(STREAMS)]
        for stream in streams:
            stream.start()
        try:
            begun.wait(60)
            busy = probe(running.url + "/health", count=PROBES, gap_seconds=PROBE_GAP_SECONDS)
        finally:
            over.set()
            for stream in streams:
                stream.join()
    return idle, busy


def _stream(url: str, begun: threading.Barrier, over: threading.Event) -> None:
    """One stream after another until `over`; `begun` is passed with the first token."""
    request = {
        "messages": [{"role": "user", "content": "Tell me a story."}],
        "max_tokens": 2000,
        "ignore_eos": True,
        "stream": True,
    }
    is_first = True
    while not over.is_set():
        with httpx.stream("POST", url + PATH, json=request, timeout=600) as answer:
            for line in answer.iter_lines():
                if over.is_set():
                    return
                if is_first and line:
                    is_first = False
                    begun.wait(60)


def _percentiles(seconds: Sequence[float]) -> list[str]:
    ordered = sorted(seconds)
    return [f"{ordered[int(len(ordered) * share)] * 1e3:.1f} ms" for share in (0.50, 0.99)]
