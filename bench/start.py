"""What it costs to start and to sit idle: seconds to the first answer, seconds of `--help`, memory."""

from __future__ import annotations

import statistics
import subprocess
import sys
import time

import httpx

from bench.report import table, write
from bench.servers import free_port, server, troth

MODEL_LOAD = """
import sys, time
from pathlib import Path
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
started = time.perf_counter()
LlamaCpp(Path(sys.argv[1]), LlamaCppOptions()).load(lambda fraction: None)
print(time.perf_counter() - started)
"""
EMPTY_SERVER = """
import sys, uvicorn
from troth.app import build
from troth.config.schema import Config
built = build(Config.model_construct(**{**Config().__dict__, "models": ()}), {})
uvicorn.run(built.asgi(lambda: None), port=int(sys.argv[1]), lifespan="on", log_config=None, access_log=False)
"""


def run(*, rounds: int) -> None:
    """Medians, written to bench/results/start.md."""
    from tests.conftest import fetch_embedded_model

    model = str(fetch_embedded_model())
    first, load, help_seconds = [], [], []
    for _ in range(rounds):
        load.append(float(_output(sys.executable, "-c", MODEL_LOAD, model)))
        first.append(_first_answer())
        started = time.perf_counter()
        _output(sys.executable, "-m", "troth", "--help")
        help_seconds.append(time.perf_counter() - started)
    port = free_port()
    with server("empty", [sys.executable, "-c", EMPTY_SERVER, str(port)], port, ready="/ping") as running:
        for _ in range(20):
            httpx.get(running.url + "/health")
        empty_bytes = running.resident_bytes()
    rows = [
        ["start to first answered request, model cached", f"{statistics.median(first):.2f} s"],
        ["of that, the model's own load", f"{statistics.median(load):.2f} s"],
        ["beyond the load", f"{statistics.median(first) - statistics.median(load):.2f} s"],
        ["`troth --help`", f"{statistics.median(help_seconds):.3f} s"],
        ["idle memory of the server without a model", f"{empty_bytes / 1e6:.0f} MB RSS"],
    ]
    write("start", "Start and idle memory", f"{rounds} rounds, medians.", table(["measure", "value"], rows))


def _first_answer() -> float:
    """Seconds from the start of the process to a chat answer."""
    command, port = troth("--set=log.level=warning")
    body = {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1}
    started = time.perf_counter()
    with server("troth", command, port) as running:
        httpx.post(running.url + "/v1/chat/completions", json=body, timeout=60).raise_for_status()
        return time.perf_counter() - started


def _output(*command: str) -> str:
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
