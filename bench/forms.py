"""What it costs to hold an answer to a form: a token of a held answer beside a token of a free one, and compiling."""

from __future__ import annotations

import statistics
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import httpx

from bench.measure import CHAT, STEP_PARTS, step_seconds
from bench.report import table, write
from bench.servers import Running, server, troth
from tests.conftest import fetch_embedded_model
from troth.domain import Tool, ToolRules
from troth.engines.llama_cpp import LlamaCpp, LlamaCppOptions
from troth.formats.registry import FORMATS, GENERIC
from troth.prompt.grammar import Shape, compiled

TEMPLATE, COMPLETION = "/apply-template", "/completion"
TOKENS = 96
STREAMS = (1, 8)
RATIO_MAX = 1.05
TOOLS = 30
COMPILE_MS_MAX = 200
LIST: dict[str, Any] = {"type": "array", "items": {"type": "string", "maxLength": 40}, "minItems": 1000}
ASKED: dict[str, Any] = {"messages": [{"role": "user", "content": "Name many animals."}], "max_tokens": TOKENS}
TOLD: dict[str, Any] = {
    "ignore_eos": True,
    "tools": [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}],
}
TOLD_FREELY = "free, told of tools"
WAYS: dict[str, dict[str, Any]] = {
    "free": {"ignore_eos": True},
    "JSON schema": {"json_schema": LIST},
    TOLD_FREELY: TOLD,
    "tools that may be called": TOLD,
}
# What each is compared with. Every token is dearer behind a longer prompt, and tools make it longer: so the answer to
# the very prompt that tells of them is written once more, as a text that goes on freely.
FREE = {"free": "free", "JSON schema": "free"}
SAMPLINGS: dict[str, dict[str, Any]] = {"greedy": {"temperature": 0}, "sampled": {"temperature": 0.8, "seed": 3}}


def run(*, rounds: int) -> None:
    """Medians of interleaved rounds, written to bench/results/forms.md."""
    command, port = troth(
        "--set=log.level=warning",
        "--set=models.0.options.draft_tokens_max=0",
        "--set=models.0.options.slots=8",
        "--set=models.0.options.context_tokens=1024",
    )
    with server("troth", command, port) as running, httpx.Client(base_url=running.url, timeout=600) as client:
        costs = _costs(running, client, rounds)
    first, again = _compile()
    rows = []
    for (streams, sampling, way), found in costs.items():
        free = costs[streams, sampling, FREE.get(way, TOLD_FREELY)]
        ratio = statistics.median(one.seconds / other.seconds for one, other in zip(found, free, strict=True))
        added = statistics.median(one.outside - other.outside for one, other in zip(found, free, strict=True))
        ms = statistics.median(each.seconds for each in found) * 1e3
        outside = statistics.median(each.outside for each in found) * 1e3
        share = 1 + added / statistics.median(each.seconds for each in free)
        rows.append([str(streams), sampling, way, f"{ms:.2f}", f"{ratio:.3f}x", f"{outside:.2f}", f"{share:.3f}x"])
    head = ["streams", "tokens are", "answer", "ms a token", "÷ free", "of which outside decode, ms", "÷ free, by that"]
    write(
        "forms",
        "Forms: held answers beside free ones",
        f"SmolLM2-135M-Instruct Q4_1, answers of {TOKENS} tokens, without drafts, {rounds} rounds in turn, medians. "
        "A ratio is to the free answer to the same prompt. The last column takes what a form adds outside `decode`, on "
        "the engine's own clock, which other loads of the machine disturb little: a form does nothing inside. The "
        f"target is at most {RATIO_MAX}x of that.",
        table(head, rows),
        f"Compiling {TOOLS} tools with five arguments each: {first:.1f} ms, {again:.2f} ms when the grammar is known "
        f"(target: {COMPILE_MS_MAX} ms).",
    )


@dataclass(frozen=True, slots=True)
class Cost:
    """One measurement."""

    seconds: float  # of a token
    outside: float  # seconds of a step that are not decoding; in each step every stream has a token


def _costs(running: Running, client: httpx.Client, rounds: int) -> dict[tuple[int, str, str], list[Cost]]:
    """By streams, sampling and way; who begins changes from round to round."""
    found: dict[tuple[int, str, str], list[Cost]] = {}
    for number in range(rounds + 1):
        for streams in STREAMS:
            for sampling, drawn in SAMPLINGS.items():
                ways = list(WAYS)
                for way in ways[number % len(ways) :] + ways[: number % len(ways)]:
                    cost = _cost(running, client, streams, way, ASKED | drawn | WAYS[way])
                    if number:  # the first round warms caches
                        found.setdefault((streams, sampling, way), []).append(cost)
    return dict(sorted(found.items(), key=lambda item: (item[0][0], item[0][1], list(WAYS).index(item[0][2]))))


def _cost(running: Running, client: httpx.Client, streams: int, way: str, body: dict[str, Any]) -> Cost:
    path = CHAT
    if way == TOLD_FREELY:
        prompt = client.post(TEMPLATE, json=body).raise_for_status().json()["prompt"]
        told = {"messages", "tools", "max_tokens"}
        body = {key: value for key, value in body.items() if key not in told} | {"prompt": prompt, "n_predict": TOKENS}
        path = COMPLETION

    def ask(_: int) -> float:
        timings = client.post(path, json=body).raise_for_status().json()["timings"]
        if timings["predicted_n"] != TOKENS:
            raise RuntimeError(f"an answer had {timings['predicted_n']} tokens")
        return float(timings["predicted_ms"]) / TOKENS / 1e3

    before = step_seconds(running)
    with ThreadPoolExecutor(streams) as pool:
        seconds = statistics.mean(pool.map(ask, range(streams)))
    after = step_seconds(running)
    outside = sum(after[part] - before[part] for part in STEP_PARTS if part != "decode")
    return Cost(seconds, outside / TOKENS)


def _compile() -> tuple[float, float]:
    """Milliseconds of compiling many tools, the first time and the second."""
    schema = {
        "type": "object",
        "properties": {f"argument_{k}": {"type": "string", "maxLength": 524288, "pattern": "^[a-z]"} for k in range(5)},
        "required": ["argument_0"],
    }
    tools = tuple(Tool(name=f"tool_{number}", parameters=schema) for number in range(TOOLS))
    shape = Shape(rules=ToolRules(tools=tools), calls=FORMATS[GENERIC])
    options = LlamaCppOptions(context_tokens=256, slots=1, determinism="fast")
    decoder = LlamaCpp(fetch_embedded_model(), options).load(lambda fraction: None)
    took = []
    for _ in range(2):
        started = time.perf_counter()
        compiled(shape, decoder.vocabulary, decoder.grammars)
        took.append((time.perf_counter() - started) * 1e3)
    decoder.close()
    return took[0], took[1]
